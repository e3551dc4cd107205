import { normalized } from '../../contracts/facts/normalized.ts'

/**
 * From this many words on, decoration (links, emoji that neither agree nor doubt, random strings) makes no difference.
 * A shorter text may be all decoration: 👍 against 👎.
 */
export const DECORATED_WORDS = 6
/**
 * Of a longer text so many characters are read for words, half of them from its beginning and half from its end: a giant
 * thread must not hold up its process. What is between counts as written.
 */
export const MOST_READ = 2_000

/** The words of a text that is too short to have decoration. */
export function shortKey(plain: string): string {
  const short = plain
    .replace(MENTION, ' ')
    .replace(MARKS, '')
    .replace(/(\?)\?+/g, '$1')
    .replace(/\s+/g, ' ')
    .trim()
  return `short ${short === '' ? plain.trim() : short}`
}

/** Without links and mentions. */
export function bare(plain: string): string {
  return /[@/]/.test(plain) ? plain.replace(LINK, ' ').replace(MENTION, ' ') : plain
}

/** Nothing but what a keyboard of English has. */
export const ASCII = /^[\n\r\t -~]*$/
/** Invisible format characters and fillers; control characters except those that separate words. */
export const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}]|[^\P{Cc}\t\n\v\f\r\u0085]/gu
/** Combining accents that no composed letter has. */
const PILED = /[\u0300-\u036f]+/g
const STRETCHED = /(\p{L})\1{2,}/gu
/** A host is looked for from its first label on: from each of them would take quadratic time. */
const LINK = /(?:https?:\/\/|www\.)\S+|(?<![a-z0-9-]|[a-z0-9-]\.)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}\/\S*/g
/** Whom a reply is addressed to. An email address is not a mention. */
export const MENTION = /(?<![\p{L}\p{N}])@[\p{L}\p{N}_][\p{L}\p{N}_.-]*/gu
/** Punctuation that makes no difference in a short text. Brackets and colons are not included: they form emoticons. */
const MARKS = /(?<!\d)[.,]|[.,](?!\d)|[!¡…。、“”„«»‘’"'`*~]/g

/** Normalised: lower case, compatible characters, no invisible ones, stretched letters shortened, look-alikes replaced. */
export function plainly(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase().replace(/([a-z])\1{2,}/g, '$1')
  const lower = normalized(text, 'NFKC').replace(UNSEEN, '').toLowerCase()
  const plain = normalized(lower, 'NFC').replace(PILED, '')
  const seen = /(.)\1\1/.test(plain) ? plain.replace(STRETCHED, '$1') : plain
  return LOOK_ALIKE.test(seen) && /[a-z]/.test(seen) ? seen.replace(BORROWED, latin) : seen
}

const LETTERS = new Map(
  [...'аеорсухкіѕјһԁԛԝѵαορνικυτχ'].map((letter, at) => [letter, 'aeopcyxkisjhdqwvaopvikutx'.charAt(at)]),
)
const LOOK_ALIKE = new RegExp(`[${[...LETTERS.keys()].join('')}]`)
/** A word of Latin letters and look-alikes, or of look-alikes alone, among Latin words. */
const BORROWED = new RegExp(`(?<!\\p{L})[a-z${[...LETTERS.keys()].join('')}]+(?!\\p{L})`, 'gu')

function latin(word: string): string {
  return [...word].map((letter) => LETTERS.get(letter) ?? letter).join('')
}

/** Scripts that have no spaces between words: each of their characters counts as a word. */
const SIGNS = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`
const SPELT = String.raw`[[\p{L}\p{N}\p{M}]--[${SIGNS}]]`
/** Numbers with their sign and their points; words; question marks; symbols, emoji among them. */
const WORD = new RegExp(
  [
    String.raw`[[\p{L}\p{N}\p{S}]&&[${SIGNS}]]\p{M}*`,
    String.raw`\p{L}${SPELT}*`,
    String.raw`[\p{N}--[${SIGNS}]]+(?:[.,:\/][\p{N}--[${SIGNS}]]+)*${SPELT}*`,
    String.raw`(?<![[\p{L}\p{N}]--[${SIGNS}]])-(?=\p{N})`,
    String.raw`[?؟;፧]|\p{S}|%`,
  ].join('|'),
  'gv',
)
const ASCII_WORD = /[a-z][a-z0-9]*|\d+(?:[.,:/]\d+)*[a-z0-9]*|(?<![a-z0-9])-(?=\d)|[?$+<=>^|~%]/g
/** Apostrophes within a word: "don't" is "dont". */
const APOSTROPHE = /(?<=\p{L})['’ʼ`](?=\p{L})/gu
/** The words without decoration, of which random strings are a kind unless they are kept. "??" asks no more than "?", and a row of one emoji counts once. */
export function wordsOf(plain: string, { random = 'dropped' }: { random?: 'dropped' | 'kept' } = {}): string[] {
  const words: string[] = []
  const mayBeRandom = random === 'dropped' && /\d/.test(plain)
  let before = ''
  for (const word of split(plain)) {
    const repeated = word === before && !/^[\p{L}\p{N}]/u.test(word)
    before = word
    if (repeated || isEmoji(word) || (mayBeRandom && word.length >= 6 && RANDOM.test(word))) continue
    words.push(word)
  }
  return words
}

function split(plain: string): readonly string[] {
  if (ASCII.test(plain))
    return (plain.includes("'") ? plain.replace(/(?<=[a-z])'(?=[a-z])/g, '') : plain).match(ASCII_WORD) ?? []
  return plain.replace(APOSTROPHE, '').match(WORD) ?? []
}

const EMOJI = /^[\p{Extended_Pictographic}\p{Emoji_Modifier}]/u
/** Emoji that agree, doubt or mock, and flags: they mean something. */
const ANSWERING = /[👍👎👌🖕👏🙌👊✅☑✔❌❎✖🚫⛔💯🙄🤔🤨🧐🤥🤡😂🤣😆😹🙃😉😏😒😑🤦🤷🧢💩🤮🤢😡🤬⚠❓❔❗]|\p{RI}/u
/** Alternating letters and digits, such as `x7k2p9`: added so that no two copies are equal. */
const RANDOM = /^(?:[a-z]+\d+){3,}[a-z]*$|^(?:\d+[a-z]+){3,}\d*$/

/** An emoji that only decorates. */
function isEmoji(word: string): boolean {
  const first = word.charCodeAt(0)
  return first >= 0x2000 && (first < 0x3040 || first >= 0xd800) && EMOJI.test(word) && !ANSWERING.test(word)
}
