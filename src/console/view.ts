import type { PlotOptions } from '@observablehq/plot'
// biome-ignore lint/style/noRestrictedImports: a drawing is markup; its library escapes the texts in it
import { html as hono, raw } from 'hono/html'
import { withoutLongRuns } from '../contracts/facts/normalized.ts'
import { drawn } from '../platform/drawing.ts'

/** Markup whose every outside word is escaped. */
export type SafeMarkup = ReturnType<typeof hono> & { readonly isEscaped: true }

/** What may stand in a template. Nothing else: an object out of a model's answer could pass itself off as markup. */
export type TemplatePart = SafeMarkup | string | number | readonly TemplatePart[]

/** A template whose strings are escaped. Every attribute is written in quotes. */
export function html(literals: TemplateStringsArray, ...parts: readonly TemplatePart[]): SafeMarkup {
  // None of its parts is awaited, so that it is markup and no promise of it.
  return hono(literals, ...parts) as SafeMarkup
}

export const NOTHING: SafeMarkup = html``

/** A drawing as it stands in a page. Its library escapes the texts in it. */
export function drawing(options: PlotOptions): SafeMarkup {
  return html`${raw(drawn(options, { isBare: true })) as SafeMarkup}` // as: of raw markup only that is used which makes it markup
}

/** The markup where there is something to show. */
export function when<Value>(
  value: Value | null | undefined | false,
  show: (value: Value) => TemplatePart,
): TemplatePart {
  return value === null || value === undefined || value === false ? NOTHING : show(value)
}

/** The longest text that is shown in one place, in characters; the rest is said to be left out. */
const MOST_WORDS = 10_000

/**
 * Strangers' words, in their own direction, cut before they are escaped, and with what would be invisible made visible. Their
 * language is given if their message names it.
 */
export function words(
  text: string,
  { most = MOST_WORDS, lang = '' }: { most?: number; lang?: string } = {},
): SafeMarkup {
  return html`<bdi class="words" dir="auto" lang="${languageTag(lang)}">${shown(text, most)}</bdi>`
}

/** The same words as plain text, for an attribute or a title. */
export function shown(text: string, most: number): string {
  const kept = text.length <= most ? text : `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')}…`
  return withoutLongRuns(kept.toWellFormed()).replace(HIDDEN, visible)
}

/** A number of it stands apart: control, format and private characters, and separators of lines; not line ends and tabs. */
const HIDDEN = /[^\P{Cc}\n\t]|[\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu

/** Signs of numbers and verses, that are seen. */
const SEEN = /[\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2]/
const JOINERS = /[\u200C\u200D]/
const JOINED = /[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]/u

function visible(character: string, at: number, text: string): string {
  if (SEEN.test(character)) return character
  const before = [...text.slice(Math.max(0, at - 2), at)].at(-1) ?? ''
  const after = String.fromCodePoint(text.codePointAt(at + character.length) ?? 0x20)
  // Inside a word or an emoji they belong to the script.
  if (JOINERS.test(character) && JOINED.test(before) && JOINED.test(after)) return character
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`
}

function languageTag(lang: string): string {
  return /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}$/.test(lang) ? lang : ''
}

/** A moment, in UTC until the reader's own script puts it into their zone. */
export function moment(at: number | string | null | undefined): SafeMarkup {
  const time = new Date(at ?? Number.NaN)
  if (Number.isNaN(time.getTime())) return html`<span>?</span>`
  const iso = time.toISOString()
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`
}

/** An id as an attribute or a form carries it: parsers of HTML change NUL and CR, and forms change LF. */
export function carriedId(id: string): string {
  return encodeURIComponent(id.toWellFormed())
}

/** The id that a form carries; empty where it carries none that can be read. Pages of earlier versions, still open, have it as it is. */
export function idIn(form: URLSearchParams): string {
  const carried = form.get('carried')
  return carried === null ? (form.get('id') ?? '') : idOf(carried)
}

/** The id that was carried; empty where it can't be read. */
export function idOf(carried: string): string {
  try {
    return decodeURIComponent(carried)
  } catch {
    return ''
  }
}

/** A path with its query; what is empty is left out. */
export function link(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((one): one is [string, string] => one[1] !== undefined && one[1] !== '')
  const search = new URLSearchParams(given).toString()
  return search === '' ? path : `${path}?${search}`
}
