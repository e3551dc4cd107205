import { z } from 'zod'

/** What a cut left out: `left` of the `of` characters that a text had. */
export const leftOut = z.object({ left: z.int(), of: z.int() })
export type LeftOut = z.infer<typeof leftOut>

/** The part of a text that is kept. */
export interface Kept {
  readonly text: string
  /** Characters left out that are more than padding. */
  readonly left: number
}

/**
 * A text shortened to at most `most` characters (100 or more): its beginning and its end, since what matters may be at
 * either, with marks that count what is missing. With `place`, from 0 to 1, also a window from the middle, at that
 * fraction of the text: an author who does not know the place can't know which part goes unread.
 *
 * Before anything is left out, padding is squeezed: of a run of more than 16 equal characters, or of white space, the
 * first 16 stay. The numbers in the marks and the remaining text add up to the text's length. No character is split, nor
 * a word whose end is near. Deterministic; a text that is short enough is returned unchanged.
 */
export function cut(text: string, most: number, place?: number): Kept {
  if (text.length <= most) return { text, left: 0 }
  const squeezed = withoutPadding(text.toWellFormed())
  const padding = text.length - squeezed.length
  const squeezeMark = padding === 0 ? '' : `\n[squeezed: ${padding} characters of padding]`
  const bound = Math.max(0, most - squeezeMark.length)
  if (squeezed.length <= bound) return { text: `${squeezed}${squeezeMark}`, left: 0 }

  const longestMark = mark(squeezed.length).length
  const windowed = place !== undefined && bound >= FEWEST_FOR_WINDOW
  const room = Math.max(0, bound - (windowed ? 2 : 1) * longestMark)
  const end = Math.floor(windowed ? room * (2 / 5) : room / 2)
  const head = endBefore(squeezed, end)
  const tail = startAfter(squeezed, squeezed.length - end)
  const parts: (readonly [from: number, to: number])[] = [[0, head]]
  if (windowed) {
    const width = room - 2 * end
    const start = head + Math.floor(place * (tail - head - width))
    parts.push([startAfter(squeezed, start), Math.min(tail, endBefore(squeezed, start + width))])
  }
  parts.push([tail, squeezed.length])

  let shown = ''
  let [at, left] = [0, 0]
  for (const [from, to] of parts) {
    if (from > at) shown += mark(from - at)
    left += from - at
    shown += squeezed.slice(from, to)
    at = to
  }
  return { text: `${shown}${squeezeMark}`, left }
}

/** With less room than this a window would be only a few words. */
const FEWEST_FOR_WINDOW = 1_000

function mark(characters: number): string {
  return `\n[cut: ${characters} more characters]\n`
}

/** The text with long runs of one character shortened to 16. */
export function withoutPadding(text: string): string {
  return text.replace(/(\s{16})\s+/gu, '$1').replace(/((.)\2{15})\2+/gsu, '$1')
}

/** The nearest end of a word at or before `at`, if one is near; never the inside of a character. */
function endBefore(text: string, at: number): number {
  const near = text.slice(Math.max(0, at - LONGEST_WORD), at)
  const space = near.search(/\s\S*$/)
  if (space !== -1 && /\S/.test(text.charAt(at))) return at - near.length + space
  return isInside(text, at) ? at - 1 : at
}

/** The nearest beginning of a word at or after `at`, if one is near; never the inside of a character. */
function startAfter(text: string, at: number): number {
  const space = text.slice(at, at + LONGEST_WORD).search(/\s/)
  if (space !== -1 && /\S/.test(text.charAt(at - 1))) return at + space
  return isInside(text, at) ? at + 1 : at
}

/** Half a word may be another word: `unsafe` must not be cut to `safe`. Longer runs of letters are rarely words. */
const LONGEST_WORD = 40

function isInside(text: string, at: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(0, at - 1), at + 1))
}
