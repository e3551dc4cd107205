import { styleText } from 'node:util'
import stringWidth from 'string-width'
import wrapAnsi from 'wrap-ansi'
import { printableJson } from '../contracts/facts/printable.ts'

/** What a stream can show. */
export interface Look {
  /** Columns of the terminal; infinite where there is none. */
  readonly columns: number
  readonly colours: boolean
}

/** Where nothing is known of the reader: a file, a pipe, a test. */
const PLAIN: Look = { columns: Number.POSITIVE_INFINITY, colours: false }

/** How much a text asks for attention, which its colour shows. */
export type Tone = 'good' | 'warning' | 'bad' | 'faint' | 'strong'
const FORMATS = { good: 'green', warning: 'yellow', bad: 'red', faint: 'dim', strong: 'bold' } as const

/** A text in a tone; a bare string has none. It may come from strangers. */
export type TonedText = string | { readonly text: string; readonly tone: Tone | undefined }

/**
 * Something that is drawn for the stream that it is printed on. Text in it is escaped as everywhere: only what is drawn here
 * drives a terminal. As a string it is as wide as it wants to be, without colours.
 */
export class Drawing {
  readonly #draw: (look: Look) => string

  constructor(draw: (look: Look) => string) {
    this.#draw = draw
  }

  on(look: Look): string {
    return this.#draw(look)
  }

  toString(): string {
    return this.#draw(PLAIN)
  }
}

/** One line of spans. */
export function spans(...parts: readonly TonedText[]): Drawing {
  return new Drawing((look) => parts.map((part) => toned(part, look)).join(''))
}

/** A paragraph: what does not fit into the terminal's width goes on in the next line, below where it began behind its lead. */
export function paragraph(lead: TonedText, ...parts: readonly TonedText[]): Drawing {
  return new Drawing((look) => {
    const margin = stringWidth(printableJson(typeof lead === 'string' ? lead : lead.text))
    const text = parts.map((part) => toned(part, look)).join('')
    const room = Math.max(NARROWEST, look.columns - margin)
    const lines = Number.isFinite(room) ? wrapAnsi(text, room, { hard: true }).split('\n') : [text]
    return `${toned(lead, look)}${lines.join(`\n${' '.repeat(margin)}`)}`
  })
}

/** One line that is cut at the terminal's edge, with a mark. */
export function clipped(...parts: readonly TonedText[]): Drawing {
  return new Drawing((look) => {
    const widths = parts.map((part) => stringWidth(printableJson(typeof part === 'string' ? part : part.text)))
    const all = widths.reduce((sum, width) => sum + width, 0)
    let room = all > look.columns ? look.columns - 1 : look.columns
    const shown = parts.map((part) => {
      const [text, tone] = typeof part === 'string' ? [part, undefined] : [part.text, part.tone]
      const fits = startOf(printableJson(text), room)
      room -= stringWidth(fits)
      return fits === '' ? '' : toned({ text: fits, tone }, look)
    })
    return `${shown.join('')}${all > look.columns ? '…' : ''}`
  })
}

const GRAPHEMES = new Intl.Segmenter()

/** As many whole characters of a text as have room in so many columns. */
function startOf(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text
  let [taken, width] = ['', 0]
  for (const { segment } of GRAPHEMES.segment(text)) {
    width += stringWidth(segment)
    if (width > columns) break
    taken += segment
  }
  return taken
}

/** The same, with so many spaces before each line. */
export function indented(drawing: Drawing, by: number): Drawing {
  const margin = ' '.repeat(by)
  return new Drawing((look) => {
    const drawn = drawing.on({ ...look, columns: look.columns - by })
    return drawn
      .split('\n')
      .map((line) => `${margin}${line}`)
      .join('\n')
  })
}

function toned(span: TonedText, { colours }: Look): string {
  const [text, tone] = typeof span === 'string' ? [span, undefined] : [span.text, span.tone]
  const safe = printableJson(text)
  return tone === undefined || !colours ? safe : styleText(FORMATS[tone], safe, { validateStream: false })
}

/** A cell; its lines stay lines. */
export type TableCell = TonedText

/** The narrowest that a column is made, unless all that it holds is narrower. */
const NARROWEST = 9

/**
 * A table that fits the terminal: its widest columns wrap, and where that is not enough columns are left out, which a line below
 * names: first those of `dispensable`, in that order, then the last ones. The first column always stays.
 */
export function table(
  head: readonly string[],
  rows: readonly (readonly TableCell[])[],
  { dispensable = [] }: { readonly dispensable?: readonly string[] } = {},
): Drawing {
  return new Drawing((look) => {
    const safe = rows.map((row) => head.map((_, at) => linesOf(row[at] ?? '')))
    const natural = head.map((name, at) =>
      Math.max(
        ...[[printableJson(name)], ...safe.map((row) => row[at]?.lines ?? [])].flat().map((line) => stringWidth(line)),
      ),
    )
    const { kept, left } = fitting(head, natural, look.columns, dispensable)
    const widths = widthsOf(
      kept.map((at) => natural[at] ?? 0),
      look.columns,
    )
    const drawRow = (cells: readonly Lines[]) => {
      const wrapped = cells.map(({ lines }, at) => lines.flatMap((line) => wrap(line, widths[at] ?? 1)))
      const height = Math.max(1, ...wrapped.map((lines) => lines.length))
      return Array.from({ length: height }, (_, line) => {
        const drawn = wrapped.map((lines, at) => {
          const text = lines[line] ?? ''
          const padding = ' '.repeat(Math.max(0, (widths[at] ?? 0) - stringWidth(text)))
          return ` ${toned({ text, tone: cells[at]?.tone }, look)}${padding} `
        })
        return `│${drawn.join('│')}│`
      })
    }
    const rule = (begin: string, cross: string, end: string) =>
      `${begin}${widths.map((width) => '─'.repeat(width + 2)).join(cross)}${end}`
    return [
      rule('┌', '┬', '┐'),
      ...drawRow(kept.map((at) => ({ lines: [printableJson(head[at] ?? '')], tone: 'strong' }))),
      rule('├', '┼', '┤'),
      ...safe.flatMap((row) => drawRow(kept.map((at) => row[at] ?? { lines: [''], tone: undefined }))),
      rule('└', '┴', '┘'),
      ...(left.length === 0
        ? []
        : [`Not shown here: ${left.join(', ')} (a wider terminal, a file or --json has them).`]),
    ].join('\n')
  })
}

interface Lines {
  readonly lines: readonly string[]
  readonly tone: Tone | undefined
}

function linesOf(cell: TableCell): Lines {
  const [text, tone] = typeof cell === 'string' ? [cell, undefined] : [cell.text, cell.tone]
  // A tab has no width of its own.
  return { lines: printableJson(text).replaceAll('\t', ' ').split('\n'), tone }
}

/** Between words where that is possible, in them where one is too long. */
function wrap(line: string, width: number): string[] {
  return stringWidth(line) <= width ? [line] : wrapAnsi(line, width, { hard: true }).split('\n')
}

/** What borders and the space beside them take. */
const borders = (columns: number) => 3 * columns + 1

/** Which columns there is room for, by their place, and the names of the others. */
function fitting(head: readonly string[], natural: readonly number[], columns: number, dispensable: readonly string[]) {
  let kept = head.map((_, at) => at)
  const left: string[] = []
  const room = () =>
    columns - borders(kept.length) - kept.reduce((sum, at) => sum + Math.min(NARROWEST, natural[at] ?? 0), 0)
  while (room() < 0 && kept.length > 1) {
    const named = dispensable.find((name) => kept.slice(1).some((at) => head[at] === name))
    const goes = named === undefined ? kept.at(-1) : kept.slice(1).find((at) => head[at] === named)
    kept = kept.filter((at) => at !== goes)
    left.push(head[goes ?? 0] ?? '')
  }
  return { kept, left }
}

/** The widest columns are narrowed until all fit. */
function widthsOf(natural: readonly number[], columns: number): readonly number[] {
  const room = columns - borders(natural.length)
  const total = (cap: number) => natural.reduce((sum, width) => sum + Math.min(width, cap), 0)
  let cap = Math.max(1, ...natural)
  while (total(cap) > room && cap > 1) cap--
  // What is left goes to the columns that were narrowed, one each, from the first.
  let spare = Number.isFinite(room) ? room - total(cap) : 0
  return natural.map((width) => (width > cap && spare-- > 0 ? cap + 1 : Math.min(width, cap)))
}
