import asciiFolding from 'fold-to-ascii'
import { normalized } from '../contracts/facts/normalized.ts'

/** Raised with every change of {@link gramsOf}: an index is read by the rules that it was written by. */
export const GRAMS_VERSION = 1
/** Raised with every change of {@link folded}: texts that were folded by another version are folded anew. */
export const FOLDING = '2'

/** Marks above and below letters, and the nukta below those of India; others of Indic scripts and Thai are letters to a reader. */
const MARKS =
  /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\ufe20-\ufe2f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u093c\u09bc\u0a3c\u0abc\u0b3c\u0c3c\u0cbc]/g
/** Latin letters that Unicode does not take apart (đ, ø, ł, æ): read by Lucene's table, which search engines use. */
const LATIN = /[^\P{Script=Latin}a-z]/gu
/**
 * Letters that are written for one another, each row by its first: of Arabic by Lucene's filters for Arabic, Persian and Sorani, of
 * Cyrillic by the letter that one with a mark is named after in Unicode.
 */
const ALIKE_LETTERS = [
  ...['اٱ', 'يىیے', 'هةہۃە', 'كک', 'σς'],
  ...['гґғҕӷӻ', 'жҗ', 'зҙ', 'кқҝҟӄ', 'лӆԓԡԯ', 'мӎ', 'нңӈӊԣ', 'оө', 'пҧԥ', 'рҏ', 'сҫ', 'тҭ', 'уүұ', 'хҳӽӿ', 'чҷҹ'],
]
/** The zeros of Arabic, Persian and India's scripts, each before its other digits. */
const ZEROS = [0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66]
const DIGITS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
const ALIKE: ReadonlyMap<string, string> = new Map([
  ...ALIKE_LETTERS.flatMap(([first = '', ...others]) => others.map((other) => [other, first] as const)),
  ...ZEROS.flatMap((zero) => DIGITS.map((digit) => [String.fromCodePoint(zero + digit), String(digit)] as const)),
])
const LIKE = new RegExp(`[${[...ALIKE.keys()].join('')}]`, 'g')
/** Invisible characters, and the stroke that stretches an Arabic word. */
const UNSEEN = /[\p{Cf}\u0640]/gu
/** Apostrophes that are letters to Unicode (ʼ, ʻ) stand between words as ’ does. */
const BETWEEN_WORDS =
  /(?:[^\p{L}\p{N}\p{M}\p{Extended_Pictographic}]|[\u02b9-\u02bf\u02c8\u02ca\u02cb\u02ee\ua78b\ua78c])+/gu
/** Parts a word of Persian in two, as a space does, and joins it to one for who can't type it. */
const NON_JOINER = '\u200c'

/**
 * A text as it is searched: compatible forms, small letters, no vowel signs and accents, letters that are written for one
 * another as one, and one space between words. A word with a non-joiner is in it in its parts, and at the end joined.
 */
export function folded(text: string): string {
  if (!text.includes(NON_JOINER)) return plain(text)
  const joined = text.split(/\s+/).filter((word) => word.includes(NON_JOINER))
  return plain([text.replaceAll(NON_JOINER, ' '), ...new Set(joined)].join(' '))
}

function plain(text: string): string {
  const bare = normalized(text.toWellFormed(), 'NFKD').toLowerCase().replace(UNSEEN, '').replace(MARKS, '')
  // Composed again: Hangul's syllables, and the marks of Kana.
  const whole = normalized(bare, 'NFC')
    .replace(LATIN, (letter) => asciiFolding.foldMaintaining(letter).toLowerCase())
    .replace(LIKE, (letter) => ALIKE.get(letter) ?? letter)
  return whole.replace(BETWEEN_WORDS, ' ').trim()
}

/** Scripts that are written without spaces, or whose words have two characters; and pictures. */
const DENSE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Extended_Pictographic}ー々]/u
const PLAIN = /^[a-z0-9 ]*$/

/**
 * What a folded text is indexed by, each gram once: of {@link DENSE} scripts each character and each pair, of others each three
 * characters, and what is shorter as a whole.
 */
export function gramsOf(text: string): Set<string> {
  const grams = new Set<string>()
  for (const word of text.split(' ')) {
    if (PLAIN.test(word)) plainGrams(word, grams)
    else mixedGrams(word, grams)
  }
  return grams
}

function plainGrams(word: string, grams: Set<string>): void {
  if (word.length > 0 && word.length < 3) grams.add(word)
  for (let at = 0; at + 3 <= word.length; at++) grams.add(word.slice(at, at + 3))
}

/** By runs of one kind of script; `before` and `last` are the characters in front of this one in its run. */
function mixedGrams(word: string, grams: Set<string>): void {
  let [dense, length, before, last] = [false, 0, '', '']
  for (const character of word) {
    const isDense = isOfDense(character)
    if (isDense !== dense) {
      if (!dense && length > 0 && length < 3) grams.add(before + last)
      ;[dense, length, before, last] = [isDense, 0, '', '']
    }
    length++
    if (dense) grams.add(character)
    if (length >= (dense ? 2 : 3)) grams.add(dense ? last + character : before + last + character)
    before = last
    last = character
  }
  if (!dense && length > 0 && length < 3) grams.add(before + last)
}

/** What is known of each character: 0 nothing yet, else whether it is of {@link DENSE}. */
const KINDS = new Uint8Array(0x110000)

function isOfDense(character: string): boolean {
  const code = character.codePointAt(0) ?? 0
  if (KINDS[code] === 0) KINDS[code] = DENSE.test(character) ? 2 : 1
  return KINDS[code] === 2
}

/** The ways to read a query, each in the folded terms that must all be found: a non-joiner is written as a space, or left out. */
export function readingsOf(query: string): string[][] {
  const readings = query.includes(NON_JOINER) ? [' ', ''].map((as) => query.replaceAll(NON_JOINER, as)) : [query]
  return readings.map(termsOf).filter((terms) => terms.length > 0)
}

/** The folded terms of a query: words, and what stands in quotation marks as one. */
function termsOf(query: string): string[] {
  const terms = [...query.matchAll(/["“”„«»]([^"“”„«»]*)["“”„«»]|[^\s"“”„«»]+/g)].map(([all, quoted]) =>
    folded(quoted ?? all),
  )
  return [...new Set(terms.filter((term) => term !== ''))]
}
