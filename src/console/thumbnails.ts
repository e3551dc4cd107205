import type { CoverChoice } from '../contracts/ports/pictures.ts'
import { covered } from './covers.ts'
import { TEXTS } from './texts.ts'
import { html, link, NOTHING, type SafeMarkup, type TemplatePart } from './view.ts'

/** Most pictures of a post in a list. */
const MOST = 3

/** The pictures of a post in a list: what each is called, and where they are, but for their number. */
export interface ListedPictures {
  readonly titles: readonly string[]
  readonly at: string
}

export function listedPictures(verdict: string, pictures: number): ListedPictures {
  const titles = Array.from({ length: Math.min(pictures, MOST) }, (_, nth) => TEXTS.pictures.title(nth + 1, pictures))
  return { titles, at: link('/picture', { id: verdict }) }
}

/**
 * The pictures of a post in a list, small. Each is covered, unless the person covers nothing: a list does not know which of them
 * models were shown. What loads by itself comes soon or not at all (`soon`).
 */
export function thumbnails({ titles, at }: ListedPictures, choice: CoverChoice): TemplatePart {
  if (titles.length === 0) return NOTHING
  return html`<div class="thumbs" data-away="${TEXTS.pictures.notInList}"${choice.hover ? html` data-hover="yes"` : NOTHING}>${titles.map((title, nth) => thumbnail(`${at}&n=${nth}`, title, choice))}</div>`
}

function thumbnail(at: string, title: string, choice: CoverChoice): SafeMarkup {
  const image = (src: string) => html`<img class="seen" loading="lazy" src="${src}" alt="${title}">`
  if (choice.covered === 'none') return html`<div>${image(`${at}&soon=yes`)}</div>`
  const cover =
    choice.cover === 'blank'
      ? NOTHING
      : html`<span class="cover ${choice.cover}"><img loading="lazy" src="${at}&soon=yes&part=cover" alt=""></span>`
  return covered(title, image(at), { instead: cover })
}
