import { setImmediate as nextTurnOfLoop, setTimeout as sleep } from 'node:timers/promises'
import { fairSlots } from '../contracts/facts/slots.ts'
import type { Medium } from '../contracts/facts/thread.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { CoverChoice, ReviewPictures } from '../contracts/ports/pictures.ts'
import type { RecordReader } from '../contracts/ports/record.ts'
import type { ReviewQueue } from '../contracts/ports/review.ts'
import { shareOf } from '../platform/who-asks.ts'
import { type CaseFile, caseFile, placeIn } from './case-file.ts'
import { breakNotice, covered, coverOf, coversOf, harmOf, uncoveredAt, uncoveredPart } from './covers.ts'
import type { ProtocolGuides } from './kinds.ts'
import type { Page, PageAnswer, PageCall } from './page.ts'
import { describedAs, isChanged, isUnseen, mediaOf, type PictureState, type SubjectPictures } from './pictures.ts'
import type { SeenPosts } from './seen-by.ts'
import type { Session } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { claimCard } from './thread.ts'
import { html, link, NOTHING, type SafeMarkup, shown, type TemplatePart, when, words } from './view.ts'

export interface PostViewParts {
  readonly record: Pick<RecordReader, 'verdict' | 'subject' | 'transcript'>
  readonly kinds: ProtocolGuides
  readonly pictures: SubjectPictures
  readonly people: Pick<ReviewPictures, 'coversOf' | 'noteUncovered' | 'minutesUncovered' | 'notesOf' | 'addNote'>
  /** Learns what people were shown of posts. */
  readonly seenPosts: SeenPosts
  readonly clock: Clock
  /** After how long within the last hour with what may harm a break is offered, in ms. */
  readonly breakAfter: number
}

/** How a post is shown. */
interface PostShown {
  /** A second opinion is given: nothing may tell what was decided. */
  readonly isBlind?: boolean
  /** It is an item of the queue. */
  readonly isItem?: boolean
  /** What stands below its pictures, if it has any. */
  readonly below?: TemplatePart
}

/** A post or reply as this person chose to see it: what may harm is covered. Empty where the case has none. */
export async function postCard(
  file: CaseFile,
  session: Session,
  { isBlind = false, isItem = false, below = NOTHING }: PostShown,
  parts: PostViewParts,
): Promise<TemplatePart> {
  const { kinds, pictures, people, seenPosts, clock, breakAfter } = parts
  if (file.thread === null) return NOTHING
  const choice = await coversOf(people, session.by)
  const states = await pictures.states(file)
  const why = coverOf(file, { kinds, choice, isBlind })
  if (why === null) seenPosts.note(session.by, file.row.subject, 'words')
  const of = { id: file.row.verdict.id, all: states.length, choice, why }
  const isMarked =
    isItem &&
    states.some(({ kept, why: cannot, ...state }) => (kept !== null || cannot !== null) && isUnseen({ ...state, kept }))
  const card = claimCard(file.thread, {
    cover: why,
    uncovered: uncoveredAt(file.row.verdict.id),
    pictures: html`${states.map((state, nth) => figure(state, nth, of))}${isMarked ? html`<p class="notice">${TEXTS.pictures.undecidable}</p>` : NOTHING}${states.length === 0 ? NOTHING : below}`,
  })
  const pause = isItem ? await breakNotice(session.by, { people, clock, breakAfter }) : NOTHING
  return html`${pause}<div class="post"${choice.hover ? html` data-hover="yes"` : NOTHING}>${card}</div>`
}

/** The same in a saved file: pictures stand in it as far as they are kept, each covered. */
export async function savedCard(file: CaseFile, { pictures }: Pick<PostViewParts, 'pictures'>): Promise<TemplatePart> {
  if (file.thread === null) return NOTHING
  const states = await pictures.states(file)
  const kept = await Promise.all(states.map((state, nth) => (state.kept === null ? null : pictures.picture(file, nth))))
  return claimCard(file.thread, {
    pictures: states.map((state, nth) => {
      const title = TEXTS.pictures.title(nth + 1, states.length)
      const own = kept[nth]
      if (own == null || typeof own === 'string') return html`<div class="picture">${caption(state, title)}</div>`
      const data = `data:image/jpeg;base64,${Buffer.from(own.picture).toString('base64')}`
      return html`<div class="picture">${covered(title, html`<img class="seen" src="${data}" alt="${title}">`)}${caption(state, null)}</div>`
    }),
  })
}

function figure(
  state: PictureState,
  nth: number,
  { id, all, choice, why }: { id: string; all: number; choice: CoverChoice; why: string | null },
): SafeMarkup {
  const at = (part: string) => link('/picture', { id, n: String(nth), part })
  const title = TEXTS.pictures.title(nth + 1, all)
  const because =
    why ?? (!state.isShown ? TEXTS.pictures.unseen : choice.covered === 'all' ? TEXTS.pictures.chosen : null)
  const image = html`<img class="seen" loading="lazy" src="${at('')}" alt="${title}: ${shown(describedAs(state.medium), 300)}">`
  const isCovered = because !== null && choice.covered !== 'none'
  const cover =
    choice.cover === 'blank'
      ? NOTHING
      : html`<span class="cover ${choice.cover}"><img src="${at('cover')}" alt=""></span>`
  // What it shows in words is as harmful as the post's own.
  const described =
    why === null ? null : html`<p>${whoSays(state.medium)}${words(describedAs(state.medium), { most: 1_000 })}</p>`
  const body = isCovered
    ? covered(`${title}: ${because}`, html`${image}${described ?? NOTHING}`, { instead: cover })
    : image
  const inWords = described === null ? NOTHING : covered(`${title}: ${because}`, described)
  const news = link('/picture/news', { id, n: String(nth) })
  return html`<figure class="picture" data-news-of="${news}" data-well="${WELL}">${state.why === null ? body : inWords}<figcaption>${caption(state, isCovered && state.why === null ? null : title, described === null)}</figcaption></figure>`
}

/** What a picture says of itself where all is as it should be. */
const WELL = JSON.stringify([TEXTS.pictures.same, TEXTS.pictures.notJudged])

/** What a picture is said to show, unless that is covered, and whether it is what was judged; its title, where that stands nowhere else. */
function caption(state: PictureState, title: string | null, isDescribed = true): SafeMarkup {
  const { kept, judged, medium } = state
  const hashes = TEXTS.pictures
  return html`${when(title, (own) => html`<span class="faint">${own}:</span> `)}${isDescribed ? html`${whoSays(medium)}${words(describedAs(medium), { most: 1_000 })}` : NOTHING}
<span class="state${isUnseen(state) && (kept !== null || state.why !== null) ? ' bad' : ''}" role="status">${saying(state) ?? ''}</span>
${when(kept, ({ sha256 }) => html`<span class="hash faint">${hashes.hash} ${sha256}</span>`)}${when(isChanged(state) || kept === null ? judged : null, (own) => html` <span class="hash faint">${hashes.hash}, ${hashes.judgedHash} ${words(own, { most: 64 })}</span>`)}`
}

/** Whose words describe a picture; nothing where nobody's do. */
function whoSays({ description, alt }: Medium): TemplatePart {
  const who = description !== undefined ? TEXTS.pictures.byModel : alt === undefined ? null : TEXTS.pictures.byAuthor
  return when(who, (says) => html`<span class="faint">${says}</span> `)
}

/** How a picture stands, in words; null while that is not known. */
function saying(state: PictureState): string | null {
  const { pictures } = TEXTS
  if (state.why !== null) return `${pictures.notShown} ${state.why}.`
  if (state.kept === null) return null
  if (!state.isShown) return isChanged(state) ? pictures.notNamed : pictures.notJudged
  return isChanged(state) ? pictures.changed : pictures.same
}

const NO_PICTURE = {
  title: TEXTS.wrong.nothing.title,
  body: html`<p>${TEXTS.wrong.nothing.says}</p>`,
  status: 404,
} as const
const NO_NEWS = { news: null } as const
/** What a picture that no model has seen counts as, where nothing else says that it may harm. */
const UNSEEN = 'unseen'
/** Uncovered again within this time, it is counted once, in ms; most that are remembered. */
const [COUNTED_MS, MOST] = [60_000, 10_000]

/**
 * How long a picture is waited for that a list loads by itself, in ms; it is fetched all the same. A browser has six requests under way
 * at a time, and until then no other page of the console.
 */
const SOON_MS = 3_000

/** Pictures, and how they stand, for the pages that show them. */
export function picturePages(parts: PostViewParts): Page[] {
  const { record, kinds, pictures, people, seenPosts, clock } = parts
  const counted = new Map<string, number>()
  /** A large post takes some 20 ms, and a page of pictures asks for it for each: one is read at a time, and people take turns. */
  const reads = fairSlots({ all: () => 1 })
  /** A page about a post that its address names by a verdict, and one of its pictures; `none`: its answer where this person may see none. */
  const about = (
    path: string,
    none: PageAnswer,
    of: Pick<Page, 'isCostly' | 'isByItself'>,
    answer: (asked: { readonly file: CaseFile; readonly nth: number }, call: PageCall) => Promise<PageAnswer>,
  ): Page => ({
    method: 'GET',
    path,
    right: 'see',
    ...of,
    withoutTurn: 'a page asks for all its pictures at once, for which hosts may take seconds',
    async answer(call) {
      const { query, session, asker, signal } = call
      const file = await reads.run(shareOf(asker), signal, async () => {
        await nextTurnOfLoop()
        return caseFile(query.get('id') ?? '', { record, kinds, session })
      })
      return file === null ? none : answer({ file, nth: placeIn(query, 'n') }, call)
    },
  })
  /** Counts what may harm, once in a while: a picture, or another part. */
  const note = async (file: CaseFile, part: number | ReturnType<typeof uncoveredPart>, by: string): Promise<void> => {
    const harm = harmOf(file, kinds)
    const isUnshown = typeof part === 'number' && (await pictures.state(file, part))?.isShown === false
    if (harm === null && !isUnshown) return
    const { tenant, kind, postId } = file.row.subject
    const at = clock()
    const name = JSON.stringify([by, tenant, kind, postId, part])
    if (at - (counted.get(name) ?? Number.NEGATIVE_INFINITY) < COUNTED_MS) return
    counted.set(name, at)
    for (const oldest of counted.keys()) if (counted.size > MOST) counted.delete(oldest)
    await people.noteUncovered(by, { tenant, label: harm?.label ?? UNSEEN, at })
  }
  return [
    about('/picture', NO_PICTURE, { isCostly: true }, async ({ file, nth }, { query, session }) => {
      const fetched = pictures.picture(file, nth)
      const picture = await (query.has('soon') ? Promise.race([fetched, sleep(SOON_MS, null)]) : fetched)
      if (picture === null || typeof picture === 'string') return NO_PICTURE
      if (query.get('part') === 'cover') return { image: picture.cover, isCover: true }
      seenPosts.note(session.by, file.row.subject, nth)
      await note(file, nth, session.by)
      return { image: picture.picture }
    }),
    about('/uncovered', NO_NEWS, { isCostly: true }, async ({ file }, { query, session }) => {
      const part = uncoveredPart(query)
      if (part === 'words') seenPosts.note(session.by, file.row.subject, part)
      await note(file, part, session.by)
      return { news: null, uncovered: [file.row.verdict.id] }
    }),
    about('/picture/news', NO_NEWS, { isByItself: true }, async ({ file, nth }) => {
      const state = await pictures.state(file, nth)
      return { news: state === null ? null : saying(state) }
    }),
  ]
}

/** Items of the queue whose pictures are fetched ahead. */
const AHEAD = 30

/** Fetches the pictures of what people are about to look at, while they are there. */
export function picturesAhead(
  queue: Pick<ReviewQueue, 'list'>,
  { record, kinds, pictures, clock }: Pick<PostViewParts, 'record' | 'kinds' | 'pictures' | 'clock'>,
): () => Promise<void> {
  const seen = new Set<string>()
  return async () => {
    const { items } = await queue.list({}, AHEAD, clock())
    for (const { verdict } of items) {
      if (seen.has(verdict)) continue
      seen.add(verdict)
      for (const oldest of seen) if (seen.size > MOST) seen.delete(oldest)
      const file = await caseFile(verdict, { record, kinds, session: {} })
      if (file !== null) for (const nth of mediaOf(file).keys()) await pictures.picture(file, nth)
    }
  }
}
