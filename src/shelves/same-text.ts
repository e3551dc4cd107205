import { createHash } from 'node:crypto'
import { withoutPadding } from '../contracts/facts/cut.ts'
import { normalized as inForm } from '../contracts/facts/normalized.ts'

/** A text in the form in which it is compared with others, whether imported, judged or learnt. */
export interface ComparableText {
  /**
   * The text without what may differ between its copies: case, width, white space, image marks, invisible characters.
   */
  readonly whole: string
  /** What is before, between and after the places where the text was cut; one chunk if it was not cut. */
  readonly chunks: readonly [string, ...string[]]
}

/** The mark that intake and transcripts leave where they cut a text. */
const CUT = /\n?\[cut: \d+ more characters\]\n?/g
const SQUEEZED = /\n?\[squeezed: \d+ characters of padding\]/g
/** Format characters and fillers. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu
/** Marks around an image's description. All closing brackets are dropped: it can't be known which one ends it. */
const IMAGE = /\[image:|\]/g
/** A cut may split a letter: the characters beside it may normalise differently than in the whole text. */
const BESIDE_A_CUT = 4
/** A cut text is recognised only by at least this many characters before the cut: an author may have typed the mark. */
const LEAST_HEAD = 64

export function readingOf(text: string): ComparableText {
  const whole = normalised(text)
  const [head = '', ...rest] = text.split(CUT)
  if (rest.length === 0) return { whole, chunks: [whole] }
  const last = rest.length - 1
  const later = rest.map((part, at) =>
    normalised(part).slice(/^[\s\]]/.test(part) ? 0 : BESIDE_A_CUT, at === last ? undefined : -BESIDE_A_CUT),
  )
  return { whole, chunks: [normalised(head).slice(0, -BESIDE_A_CUT), ...later] }
}

/** The form of a text that is whole: a cut mark in it counts as the author's own. */
export function wholeOf(text: string): ComparableText {
  const whole = normalised(text)
  return { whole, chunks: [whole] }
}

function normalised(text: string): string {
  const plain = inForm(withoutPadding(text.replace(SQUEEZED, ' ')).toWellFormed(), 'NFKC')
    .replace(UNSEEN, '')
    .toLowerCase()
  return plain.replace(IMAGE, ' ').replace(/\s+/gu, ' ').trim()
}

/** Equal for texts that are the same and were not cut. */
export function textKey(text: string): string {
  return createHash('sha256')
    .update(`text ${normalised(text)}`)
    .digest('hex')
    .slice(0, 32)
}

/** Whether two texts are the same, or one is the other after it was cut. */
export function sameText(a: ComparableText, b: ComparableText): boolean {
  return a.whole === b.whole || isCutOf(a, b) || isCutOf(b, a)
}

function isCutOf({ chunks }: ComparableText, { whole }: ComparableText): boolean {
  const [head, ...rest] = chunks
  const tail = rest.pop()
  if (tail === undefined || head.length < LEAST_HEAD || !whole.startsWith(head)) return false
  let at = head.length
  for (const piece of rest) {
    const found = whole.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return whole.length - tail.length >= at && whole.endsWith(tail)
}

/**
 * Near-duplicates have an edit similarity above this: 1 minus the edits (words added, left out or changed) over the words of
 * the longer text. Measure and bound are those of Lee et al., Deduplicating Training Data Makes Language Models Better
 * (2022), section 4.2, with words for their tokens.
 */
const NEAR = 0.8
/** Most words that are compared: counting edits takes time quadratic in them. */
const COMPARED = 2_000

/**
 * Whether one text is the other with a few words changed. If a text was cut, only what is before the cut is compared.
 */
export function nearDuplicates(a: ComparableText, b: ComparableText): boolean {
  const [short, long] = [a, b]
    .map(({ chunks }) => ({ words: wordsOf(chunks[0]), cut: chunks.length > 1 }))
    .sort((one, other) => one.words.length - other.words.length)
  if (short === undefined || long === undefined) return false
  const most = short.cut ? short.words.length : long.words.length
  if (short.words.length <= most * NEAR) return false
  const one = short.words.slice(0, COMPARED)
  const other = long.words.slice(0, Math.min(most, COMPARED))
  const longer = Math.max(one.length, other.length)
  const allowed = Math.ceil(longer * (1 - NEAR) - 1e-9) - 1
  return longer - common(one, other) <= allowed && edits(one, other, allowed) <= allowed
}

/** How many words both texts share, repetitions included: every other word of the longer text needs an edit. */
function common(one: readonly string[], other: readonly string[]): number {
  const left = new Map<string, number>()
  for (const word of one) left.set(word, (left.get(word) ?? 0) + 1)
  let shared = 0
  for (const word of other) {
    const times = left.get(word) ?? 0
    if (times === 0) continue
    shared++
    left.set(word, times - 1)
  }
  return shared
}

/** The Levenshtein distance over words if it is at most `allowed`; otherwise any greater number. */
function edits(one: readonly string[], other: readonly string[], allowed: number): number {
  const beyond = allowed + 1
  let before = other.map((_, at) => Math.min(at + 1, beyond))
  for (const [row, word] of one.entries()) {
    const now = new Array<number>(other.length).fill(beyond)
    const to = Math.min(other.length - 1, row + allowed)
    for (let at = Math.max(0, row - allowed); at <= to; at++) {
      const diagonal = at === 0 ? row : (before[at - 1] ?? beyond)
      const above = before[at] ?? beyond
      const left = at === 0 ? row + 1 : (now[at - 1] ?? beyond)
      now[at] = word === other[at] ? diagonal : Math.min(diagonal, above, left) + 1
    }
    before = now
  }
  return before.at(-1) ?? one.length
}

/** Signs of scripts that leave no space between words: each is a word. */
const SIGN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*/gu
const WORD = /[\p{L}\p{N}\p{M}]+|\p{S}/gu

/** Words and symbols, without punctuation. */
function wordsOf(normal: string): readonly string[] {
  return normal.replace(SIGN, ' $& ').match(WORD) ?? []
}
