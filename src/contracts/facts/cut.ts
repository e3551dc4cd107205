/** What a cut left out: `left` of the `of` characters that a text had. */
export interface TextCut {
  left: number
  of: number
}

/** The part of a text that is kept. */
export interface KeptText {
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
export function cut(text: string, most: number, place?: number): KeptText {
  if (text.length <= most) return { text, left: 0 }
  return cutSqueezed(squeeze(text), most, place)
}

/** A text as a cut of it begins: padding squeezed. */
export interface SqueezedText {
  readonly squeezed: string
  /** Characters of padding that are gone. */
  readonly padding: number
}

export function squeeze(text: string): SqueezedText {
  const squeezed = withoutPadding(text.toWellFormed())
  return { squeezed, padding: text.length - squeezed.length }
}

/** {@link cut}, of a text that is longer than `most` and was squeezed before. */
export function cutSqueezed({ squeezed, padding }: SqueezedText, most: number, place?: number): KeptText {
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

const MOST_EQUAL = 16

/** Whether there may be such a run. Most texts have none, and a plain loop over units finds that twenty times as fast as a pattern. */
function isPadded(text: string): boolean {
  let [white, equal, pairs, before, beforeThat] = [0, 1, 0, -1, -1]
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    white = isWhite(unit) ? white + 1 : 0
    equal = unit === before ? equal + 1 : 1
    // Characters of two units.
    pairs = unit === beforeThat && unit >= 0xd800 && unit <= 0xdfff ? pairs + 1 : 0
    if (white > MOST_EQUAL || equal > MOST_EQUAL || pairs > MOST_EQUAL) return true
    beforeThat = before
    before = unit
  }
  return false
}

/** The text with long runs of white space, then of one character, shortened to 16. */
export function withoutPadding(text: string): string {
  if (!isPadded(text)) return text
  let made = ''
  let [from, white, equal, before] = [0, 0, 0, -1]
  // Padding may be the longest part of a text: it is passed over by units, which a plain loop does at a few ns each.
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at)
    const point = unit >= 0xd800 && unit <= 0xdbff ? (text.codePointAt(at) ?? unit) : unit
    const next = at + (point > 0xffff ? 2 : 1)
    white = isWhite(point) ? white + 1 : 0
    if (white <= MOST_EQUAL) {
      equal = point === before ? equal + 1 : 1
      before = point
    }
    if (white > MOST_EQUAL || equal > MOST_EQUAL) {
      if (at > from) made += text.slice(from, at)
      from = next
    }
    at = next
  }
  return from === 0 ? text : made + text.slice(from)
}

/** What `\s` matches. */
function isWhite(point: number): boolean {
  if (point < 0x80) return point === 0x20 || (point >= 0x09 && point <= 0x0d)
  if (point >= 0x2000 && point <= 0x205f) return point <= 0x200a || OTHER_WHITE.has(point)
  return OTHER_WHITE.has(point)
}

const OTHER_WHITE: ReadonlySet<number> = new Set([0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff])

/** The nearest end of a word at or before `at`, if one is near; never the inside of a character. */
export function endBefore(text: string, at: number): number {
  const near = text.slice(Math.max(0, at - LONGEST_WORD), at)
  const space = near.search(/\s\S*$/)
  if (space !== -1 && /\S/.test(text.charAt(at))) return at - near.length + space
  return isInside(text, at) ? at - 1 : at
}

/** The nearest beginning of a word at or after `at`, if one is near; never the inside of a character. */
export function startAfter(text: string, at: number): number {
  const space = text.slice(at, at + LONGEST_WORD).search(/\s/)
  if (space !== -1 && /\S/.test(text.charAt(at - 1))) return at + space
  return isInside(text, at) ? at + 1 : at
}

/** Half a word may be another word: `unsafe` must not be cut to `safe`. Longer runs of letters are rarely words. */
const LONGEST_WORD = 40

function isInside(text: string, at: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(0, at - 1), at + 1))
}
