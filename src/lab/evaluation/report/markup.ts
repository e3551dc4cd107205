import { printable } from '../../../contracts/facts/printable.ts'

/** Longest text that a page shows, in Unicode characters; of longer ones the beginning. */
const LONGEST = 1_500

/** HTML that stands in a page as it is. */
export class Markup {
  readonly source: string

  constructor(source: string) {
    this.source = source
  }
}

export type MarkupPart = Markup | string | number | readonly MarkupPart[]

/**
 * Markup around texts that may be anybody's. Whatever is put in that is not markup itself is escaped for an element or a quoted
 * attribute, is made one line without control and format characters (bidirectional marks among them), and is cut.
 */
export function html(literals: TemplateStringsArray, ...parts: readonly MarkupPart[]): Markup {
  return new Markup(literals.map((literal, at) => literal + sourceOf(parts[at] ?? '')).join(''))
}

/** A text of a data set or a model. Its direction is its own: nothing around it is reordered. `width` is in Unicode characters. */
export function foreign(text: string, width = LONGEST): Markup {
  return html`<bdi>${printable(text, width)}</bdi>`
}

function sourceOf(part: MarkupPart): string {
  if (part instanceof Markup) return part.source
  if (typeof part === 'object') return part.map(sourceOf).join('')
  const text = String(part)
  const [before, after] = [/^\s/, /\s$/].map((edge) => (edge.test(text) ? ' ' : ''))
  const line = printable(text, LONGEST).replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`)
  return `${before}${line}${after}`
}
