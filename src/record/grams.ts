import { normalized } from '../contracts/facts/normalized.ts'

/** Raised with every change of {@link folded} or {@link gramsOf}: an index is read by the rules that it was written by. */
export const GRAMS_VERSION = 1

/** Marks above and below letters in Latin, Greek, Cyrillic, Hebrew and Arabic; those of Indic scripts and Thai are letters to a reader. */
const MARKS =
  /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]/g
/** Letters that are written for one another. */
const ALIKE: ReadonlyMap<string, string> = new Map([
  ['أ', 'ا'],
  ['إ', 'ا'],
  ['آ', 'ا'],
  ['ٱ', 'ا'],
  ['ى', 'ي'],
  ['ی', 'ي'],
  ['ئ', 'ي'],
  ['ة', 'ه'],
  ['ک', 'ك'],
  ['ؤ', 'و'],
  ['ß', 'ss'],
  ['ς', 'σ'],
  ['ı', 'i'],
])
const LIKE = new RegExp(`[${[...ALIKE.keys()].join('')}]`, 'g')
/** Invisible characters, and the stroke that stretches an Arabic word. */
const UNSEEN = /[\p{Cf}\u0640]/gu
const BETWEEN_WORDS = /[^\p{L}\p{N}\p{M}\p{Extended_Pictographic}]+/gu

/**
 * A text as it is searched: compatible forms, small letters, no vowel signs and accents, letters that are written for one
 * another as one, and one space between words.
 */
export function folded(text: string): string {
  const bare = normalized(text.toWellFormed(), 'NFKD').toLowerCase().replace(UNSEEN, '').replace(MARKS, '')
  // Composed again: Hangul's syllables, and the marks of Kana.
  const whole = normalized(bare, 'NFC').replace(LIKE, (letter) => ALIKE.get(letter) ?? letter)
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

/** The folded terms of a query: words, and what stands in quotation marks as one. All must be found. */
export function termsOf(query: string): string[] {
  const terms = [...query.matchAll(/["“”„«»]([^"“”„«»]*)["“”„«»]|[^\s"“”„«»]+/g)].map(([all, quoted]) =>
    folded(quoted ?? all),
  )
  return [...new Set(terms.filter((term) => term !== ''))]
}
