import { byTimeThenId, type Comment } from '../../domain/thread.ts'

/**
 * From this many words on, decoration (links, emoji that neither agree nor doubt, random strings) makes no difference.
 * A shorter text may be all decoration: 👍 against 👎.
 */
const DECORATED_WORDS = 6
/** From this many words on, a misspelt word makes no difference; in a shorter text one letter may be what matters. */
const MISSPELT_WORDS = 10
/**
 * Most misspelt words, as a share of all words: an edit similarity of 0.8, the bound for near-duplicates of Lee et al.,
 * Deduplicating Training Data Makes Language Models Better (2022), section 4.2, applied to words.
 */
const MISSPELT_SHARE = 0.2
/** Shortest word that can be misspelt: one letter turns "now" into "not" and "deaf" into "dead". */
const MISSPELT_LETTERS = 5
/** Most texts that one text is compared with, the earliest ones: nobody can make the comparison quadratic. */
const MOST_COMPARED = 32

/** Comments that say the same, the shortest text first, then in order of time, then id: the first represents them all. */
export interface Utterance {
  readonly comments: readonly Comment[]
  /** Its words, without decoration if it is long; empty if it is short. */
  readonly words: readonly string[]
}

/**
 * Groups comments with the same words, in order of time, then id, whatever their given order. Texts have the same words
 * if they differ only in case, spaces, invisible characters, look-alike letters, stretched letters, punctuation other
 * than question marks, and mentions; long ones also in decoration. Any other word, letter, number, sign or question
 * mark makes them distinct, in any language: shingle similarity alone would not distinguish "it is true" from "it is
 * not true" once the text is long enough.
 */
export function sameWords(comments: readonly Comment[]): Utterance[] {
  const byKey = new Map<string, { comments: Comment[]; words: readonly string[] }>()
  const byText = new Map<string, { comments: Comment[] }>()
  for (const comment of [...comments].sort(byTimeThenId)) {
    const copy = byText.get(comment.text)
    if (copy !== undefined) {
      copy.comments.push(comment)
      continue
    }
    const { key, words } = read(comment.text)
    const known = byKey.get(key) ?? { comments: [], words }
    known.comments.push(comment)
    byKey.set(key, known)
    byText.set(comment.text, known)
  }
  // Shortest first: a text that its author has decorated (with a mention, a link) represents nobody else.
  for (const { comments: same } of byKey.values())
    same.sort((a, b) => a.text.length - b.text.length || byTimeThenId(a, b))
  return [...byKey.values()]
}

/**
 * Groups utterances that differ only in a few misspelt words; groups and members keep the given order. A letter can
 * decide what a text says (geliyor, gelmiyor), so this is for utterances that take the same side.
 */
export function misspeltAlike(utterances: readonly Utterance[]): Utterance[][] {
  const groups: Group[] = []
  // A misspelling keeps the first letter, so near-identical texts have the same initials.
  const byInitials = new Map<number, readonly { words: readonly string[]; group: Group }[]>()
  for (const utterance of utterances) {
    const { words } = utterance
    const initials = words.reduce((hash, word) => (Math.imul(hash, 31) + word.charCodeAt(0)) | 0, words.length)
    const seen = words.length < MISSPELT_WORDS ? NOBODY : (byInitials.get(initials) ?? NOBODY)
    const alike = seen.filter((one) => misspelt(one.words, words))
    const [group = started(groups), ...others] = alike.length === 0 ? [] : new Set(alike.map((one) => root(one.group)))
    group.members.push(utterance)
    for (const other of others) {
      group.members.push(...other.members)
      other.mergedInto = group
    }
    if (words.length >= MISSPELT_WORDS && seen.length < MOST_COMPARED)
      byInitials.set(initials, [...seen, { words, group }])
  }
  // Nobody is like another: they are in order.
  if (groups.length === utterances.length) return groups.map(({ members }) => members)
  const place = new Map(utterances.map((utterance, at) => [utterance, at]))
  const inOrder = (a: Utterance | undefined, b: Utterance | undefined) =>
    ((a && place.get(a)) ?? 0) - ((b && place.get(b)) ?? 0)
  return groups
    .filter(({ mergedInto }) => mergedInto === null)
    .map(({ members }) => members.sort(inOrder))
    .sort(([a], [b]) => inOrder(a, b))
}

const NOBODY: readonly { words: readonly string[]; group: Group }[] = []

interface Group {
  readonly members: Utterance[]
  /** The group that this one has been merged into. */
  mergedInto: Group | null
}

function root(group: Group): Group {
  let top = group
  while (top.mergedInto !== null) top = top.mergedInto
  return top
}

function started(groups: Group[]): Group {
  const group: Group = { members: [], mergedInto: null }
  groups.push(group)
  return group
}

/** Whether two texts with the same number of words differ only in a few misspelt ones. */
function misspelt(a: readonly string[], b: readonly string[]): boolean {
  const most = Math.floor(a.length * MISSPELT_SHARE)
  let found = 0
  for (const [index, word] of a.entries()) {
    const other = b[index] ?? ''
    if (word === other) continue
    found++
    if (found > most || !isMisspelling(word, other)) return false
  }
  return true
}

/**
 * One letter added, removed or changed, or two neighbouring letters swapped, with the same first letter. Negations that
 * are part of a word are at its beginning (never, untrue, keine) or take more than one letter.
 */
function isMisspelling(a: string, b: string): boolean {
  if (Math.min(a.length, b.length) < MISSPELT_LETTERS || a[0] !== b[0]) return false
  if (!ALPHABETIC.test(a) || !ALPHABETIC.test(b)) return false
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  let [endA, endB] = [a.length, b.length]
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--
    endB--
  }
  const [restA, restB] = [a.slice(start, endA), b.slice(start, endB)]
  if (restA.length <= 1 && restB.length <= 1) return true
  return restA.length === 2 && restB.length === 2 && restA[0] === restB[1] && restA[1] === restB[0]
}

/** Scripts whose letters spell sounds. Digits belong to none of them, and in other scripts each sign is a word. */
const ALPHABETIC = /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]+$/u

interface Reading {
  /** Equal for texts that differ in nothing that matters. */
  readonly key: string
  /** Its words, without decoration if it is long. */
  readonly words: readonly string[]
}

function read(text: string): Reading {
  const plain = plainly(text)
  const bare = /[@/]/.test(plain) ? plain.replace(LINK, ' ').replace(MENTION, ' ') : plain
  const words = wordsOf(bare)
  if (words.length >= DECORATED_WORDS) return { key: words.join(' '), words }
  const short = plain
    .replace(MENTION, ' ')
    .replace(MARKS, '')
    .replace(/(\?)\?+/g, '$1')
    .replace(/\s+/g, ' ')
    .trim()
  return { key: `short ${short === '' ? plain.trim() : short}`, words: [] }
}

const ASCII = /^[\n\r\t -~]*$/
/** Invisible format characters and fillers; control characters except those that separate words. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}]|[^\P{Cc}\t\n\v\f\r\u0085]/gu
/** Combining accents that no composed letter has. */
const PILED = /[\u0300-\u036f]+/g
const STRETCHED = /(\p{L})\1{2,}/gu
const LINK = /(?:https?:\/\/|www\.)\S+|[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}\/\S*/g
/** Whom a reply is addressed to. An email address is not a mention. */
const MENTION = /(?<![\p{L}\p{N}])@[\p{L}\p{N}_][\p{L}\p{N}_.-]*/gu
/** Punctuation that makes no difference in a short text. Brackets and colons are not included: they form emoticons. */
const MARKS = /(?<!\d)[.,]|[.,](?!\d)|[!¡…。、“”„«»‘’"'`*~]/g

/** Normalised: lower case, compatible characters, no invisible ones, stretched letters shortened, look-alikes replaced. */
function plainly(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase().replace(/([a-z])\1{2,}/g, '$1')
  const plain = text.normalize('NFKC').replace(UNSEEN, '').toLowerCase().normalize('NFC').replace(PILED, '')
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

/** Numbers with their sign and their points; words; question marks; symbols, emoji among them. */
const WORD =
  /\p{L}[\p{L}\p{N}\p{M}]*|\p{N}+(?:[.,:/]\p{N}+)*[\p{L}\p{N}\p{M}]*|(?<![\p{L}\p{N}])-(?=\p{N})|[?؟;፧]|\p{S}|%/gu
const ASCII_WORD = /[a-z][a-z0-9]*|\d+(?:[.,:/]\d+)*[a-z0-9]*|(?<![a-z0-9])-(?=\d)|[?$+<=>^|~%]/g
/** Apostrophes within a word: "don't" is "dont". */
const APOSTROPHE = /(?<=\p{L})['’ʼ`](?=\p{L})/gu
/** Characters of scripts that have no spaces between words: each counts as a word. */
const SIGN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*/gu
/** A quick test for them: all are above U+0E00. */
const MAYBE_SIGN = /[\u0e00-\uffff]/

/** The words without decoration. "??" asks no more than "?", and a row of one emoji counts once. */
function wordsOf(plain: string): string[] {
  const words: string[] = []
  const mayBeRandom = /\d/.test(plain)
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
  const whole = plain.replace(APOSTROPHE, '')
  return (MAYBE_SIGN.test(whole) ? whole.replace(SIGN, ' $& ') : whole).match(WORD) ?? []
}

const EMOJI = /^[\p{Extended_Pictographic}\p{Emoji_Modifier}]/u
/** Emoji that agree, doubt or mock, and flags: they mean something. */
const ANSWERING = /[👍👎👌🖕👏🙌👊✅☑✔❌❎✖🚫⛔💯🙄🤔🤨🧐🤥🤡😂🤣😆😹🙃😉😏😒😑🤦🤷🧢💩🤮🤢😡🤬⚠❓❔❗]|\p{RI}/u
/** Alternating letters and digits, such as `x7k2p9`: added so that no two copies are equal. */
const RANDOM = /^(?:[a-z]+\d+){3,}[a-z]*$|^(?:\d+[a-z]+){3,}\d*$/

/** An emoji that only decorates. */
function isEmoji(word: string): boolean {
  return word.charCodeAt(0) >= 0x2000 && EMOJI.test(word) && !ANSWERING.test(word)
}
