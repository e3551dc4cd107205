import { withoutEntities } from '../../contracts/facts/entities.ts'
import { normalized } from '../../contracts/facts/normalized.ts'
import { bare, DECORATED_WORDS, MOST_READ, plainly, shortKey, wordsOf } from './words.ts'

/**
 * A text without what hides it from a comparison and not from a reader: HTML's entities and tags, piled
 * accents, Arabic and Hebrew points; in a long text also every accent, hashtags, digits and signs in the place of letters,
 * and where spaces stand. All of it can carry a meaning, so it is for texts that take one side.
 */
export interface DeobfuscatedText {
  /** Texts that share one differ in nothing else: what looks like a random string may be a word written with digits. */
  readonly keys: readonly string[]
  /** Its words, by which misspellings are recognized; empty if it is short. */
  readonly words: readonly string[]
}

/** Of a text that is too long to be read whole so many words count at each end: a link before them must not shift them. */
const END_WORDS = 100

export function deobfuscated(text: string): DeobfuscatedText {
  if (text.length <= MOST_READ) {
    const visible = asShown(text)
    const { words, spelt } = lettersIn(visible)
    if (words.length < DECORATED_WORDS) return { keys: [shortKey(plainly(visible))], words: [] }
    return { keys: [keyOf(words), ...(spelt === words ? [] : [keyOf(spelt)])], words }
  }
  const beginning = lettersIn(asShown(text.slice(0, MOST_READ / 2))).words.slice(0, END_WORDS)
  const end = lettersIn(asShown(text.slice(-MOST_READ / 2))).words.slice(-END_WORDS)
  return { keys: [`${keyOf(beginning)} … ${keyOf(end)}`], words: [...beginning, ...end] }
}

const TAG = /<(\/?[a-z][a-z0-9]{0,20})(?:[\s/][^<>]{0,300})?>/gi
/** Tags between which there is no word. */
const BREAK = /^\/?(?:br|hr|p|div|li|ul|ol|t[dhr]|h[1-6]|blockquote)$/i
/** Accents of the scripts that have no vowel signs of their own; and points that Arabic and Hebrew are written without. */
const ACCENT = String.raw`\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f`
const ACCENTS = new RegExp(`[${ACCENT}]+`, 'g')
/** More than two, as Vietnamese has, are piled. */
const PILED = new RegExp(`[${ACCENT}]{3,}`, 'g')
const POINTS =
  /[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]+/g

/** The text as a reader is shown it, without piles and points. */
function asShown(text: string): string {
  let shown = withoutEntities(text)
  if (shown.includes('<')) shown = shown.replace(TAG, (_whole, name: string) => (BREAK.test(name) ? ' ' : ''))
  return ASCII.test(shown) ? shown : normalized(shown, 'NFKD').replace(PILED, '').replace(POINTS, '')
}

const ASCII = /^[\n\r\t -~]*$/
/** With a letter in it: "#1" is a number. */
const HASHTAG = /(?<![\p{L}\p{N}])#(?=[\p{N}_]{0,30}\p{L})[\p{L}\p{N}\p{M}_]+/gu
const SIGNS = new Map(Object.entries({ '@': 'a', $: 's', '!': 'i' }))
const SIGN = /(?<=\p{L})[@$!](?=[\p{L}\p{N}])|\$(?=\p{L})/gu
const DIGITS = new Map(Object.entries({ 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 7: 't', 8: 'b' }))
const WITHIN = /\p{L}\d+\p{L}/u

/**
 * The words of a text, without accents and hashtags, with letters in the place of what stands for them; `spelt` with those
 * that look like random strings.
 */
function lettersIn(visible: string): { words: readonly string[]; spelt: readonly string[] } {
  const plain = plainly(ASCII.test(visible) ? visible : visible.replace(ACCENTS, ''))
  const signed = /[@$!]/.test(plain) ? plain.replace(SIGN, (sign) => SIGNS.get(sign) ?? sign) : plain
  const text = bare(signed.includes('#') ? signed.replace(HASHTAG, ' ') : signed)
  const words = wordsOf(text)
  if (!/\d/.test(text)) return { words, spelt: words }
  const all = wordsOf(text, { random: 'kept' })
  // Digits by themselves are a number, except among words that are written with digits: "1 s4w".
  const inDigits = all.some((word) => WITHIN.test(word))
  const spell = (word: string) =>
    inDigits || /\p{L}/u.test(word) ? word.replace(/\d/g, (digit) => DIGITS.get(digit) ?? digit) : word
  const without = words.map(spell)
  return { words: without, spelt: all.length === words.length ? without : all.map(spell) }
}

/**
 * Where spaces stand makes no difference, except between numbers, nor how long somebody laughs or cries in Korean, nor
 * which of i and l stands where 1 may stand for both.
 */
function keyOf(words: readonly string[]): string {
  return words
    .join(' ')
    .replace(/(?<!\p{N}) | (?!\p{N})/gu, '')
    .replaceAll('l', 'i')
    .replace(/([\u1100-\u11ff])\1+/g, '$1')
}
