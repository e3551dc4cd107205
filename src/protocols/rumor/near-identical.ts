import { hash } from 'node:crypto'
import { digests } from '../../contracts/facts/digests.ts'
import { byTimeThenId, type Comment } from '../../contracts/facts/thread.ts'
import { deobfuscated } from './deobfuscated.ts'
import { noParents, type ParentOf } from './parents.ts'
import { bare, DECORATED_WORDS, MOST_READ, plainly, shortKey, wordsOf } from './words.ts'

/** From this many words on, a misspelt word makes no difference; in a shorter text one letter may be what matters. */
const MISSPELT_WORDS = 10
/**
 * Most misspelt words, as a share of all words: an edit similarity of 0.8, the bound for near-duplicates of Lee et al.,
 * Deduplicating Training Data Makes Language Models Better (2022), section 4.2, applied to words.
 */
const MISSPELT_SHARE = 0.2
/** Shortest word that can be misspelt: one letter turns "now" into "not" and "deaf" into "dead". */
const MISSPELT_LETTERS = 5
/**
 * Most texts that one text is compared with, the earliest ones: nobody can make the comparison quadratic. Of long texts
 * fewer: so many words are looked at, and a word that differs counts as ten.
 */
const MOST_COMPARED = 32
const MOST_WORDS = 4_000
const DIFFERENT_WORD = 10

/**
 * Comments that say the same to the same words, the shortest text first, then in order of time, then id: the first
 * represents them all.
 */
export interface Utterance {
  readonly comments: readonly Comment[]
  /** Equal for utterances with the same words, whatever they answer. */
  readonly key: string
}

/**
 * Groups comments with the same words that answer the same words, in order of time, then id, whatever their given order:
 * the meaning of "no" depends on what it answers. Texts have the same words
 * if they differ only in case, spaces, invisible characters, look-alike letters, stretched letters, punctuation other
 * than question marks, and mentions; long ones also in decoration. Any other word, letter, number, sign or question
 * mark makes them distinct, in any language: shingle similarity alone would not distinguish "it is true" from "it is
 * not true" once the text is long enough.
 */
export function sameWords(comments: readonly Comment[], parentOf: ParentOf = noParents): Utterance[] {
  const byKey = new Map<string, { comments: Comment[]; key: string }>()
  const keys = new Map<string, string>()
  const keyOf = (text: string): string => {
    const key = keys.get(text) ?? readings.of(text)
    keys.set(text, key)
    return key
  }
  for (const comment of [...comments].sort(byTimeThenId)) {
    const key = keyOf(comment.text)
    const parent = parentOf(comment)
    const whole = parent === undefined ? key : JSON.stringify([key, keyOf(parent.text)])
    const known = byKey.get(whole) ?? { comments: [], key }
    known.comments.push(comment)
    byKey.set(whole, known)
  }
  // Shortest first: a text that its author has decorated (with a mention, a link) represents nobody else.
  for (const { comments: same } of byKey.values())
    same.sort((a, b) => a.text.length - b.text.length || byTimeThenId(a, b))
  return [...byKey.values()]
}

/** Equal for texts with the same words, as `sameWords` reads them. */
export function sameWordsKey(text: string): string {
  return digestOf(readings.of(text))
}

/**
 * Groups utterances that differ only in what they answer, in disguise ({@link deobfuscatedd}) or in a few misspelt words;
 * groups and members keep the given order. A letter, an accent or a hashtag can decide a text's meaning (geliyor, gelmiyor), so this is for
 * utterances that take the same side.
 */
export function misspeltAlike(utterances: readonly Utterance[]): Utterance[][] {
  const groups: Group[] = []
  const byDisguised = new Map<string, Group>()
  // A misspelling keeps the first letter, so near-identical texts have the same initials.
  const byInitials = new Map<number, readonly { words: readonly string[]; group: Group }[]>()
  for (const utterance of utterances) {
    const { keys: disguised, initials, count, joined } = disguises.of(utterance.comments[0]?.text ?? '')
    const keys = [`same ${utterance.key}`, ...disguised]
    const seen = count < MISSPELT_WORDS ? NOBODY : (byInitials.get(initials) ?? NOBODY)
    const same = keys.flatMap((key) => byDisguised.get(key) ?? [])
    const toCompare = count >= MISSPELT_WORDS && (seen.length < MOST_COMPARED || same.length === 0)
    const words = toCompare ? joined.split(BETWEEN) : []
    const near = same.length > 0 ? [] : nearOf(seen, words)
    const alike = [...same, ...near].map(root)
    const [group = started(groups), ...others] = new Set(alike)
    group.members.push(utterance)
    for (const key of keys) byDisguised.set(key, group)
    for (const other of others) {
      group.members.push(...other.members)
      other.mergedInto = group
    }
    if (count >= MISSPELT_WORDS && seen.length < MOST_COMPARED) byInitials.set(initials, [...seen, { words, group }])
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

/** The groups of those texts that differ from this one only in a few misspelt words, as far as there is room to look. */
function nearOf(seen: typeof NOBODY, words: readonly string[]): Group[] {
  let room = MOST_WORDS
  const near: Group[] = []
  for (const one of seen) {
    if (room <= 0) break
    const { isNear, looked } = misspelt(one.words, words)
    if (isNear) near.push(one.group)
    room -= looked
  }
  return near
}

/** Whether two texts with the same number of words differ only in a few misspelt ones, and how much was looked at. */
function misspelt(a: readonly string[], b: readonly string[]): { isNear: boolean; looked: number } {
  const most = Math.floor(a.length * MISSPELT_SHARE)
  let found = 0
  for (let index = 0; index < a.length; index++) {
    const [word = '', other = ''] = [a[index], b[index]]
    if (word === other) continue
    found++
    if (found > most || !isMisspelling(word, other)) return { isNear: false, looked: index + DIFFERENT_WORD * found }
  }
  return { isNear: true, looked: a.length + DIFFERENT_WORD * found }
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

/** Reads a text for both ways of grouping, so that it need not be read when all are grouped at once. */
export function readAhead(text: string): void {
  if (text.length <= KEPT_FROM) return
  readings.of(text)
  disguises.of(text)
}

/** Texts up to this length, in characters, are read about as fast as they are found. */
const KEPT_FROM = 60
/**
 * Characters of texts whose readings are kept, the latest ones, as far as they are read: those of eight threads that hold as
 * much as a thread may. A script groups its comments again when their scores are there.
 */
const KEPT = 8_000_000
/** What a reading takes beside its text, in characters. */
const BESIDE = 100

/** Makes something of a text, and keeps what it made of the latest longer ones, under the key that `keyOf` returns. */
function remembering<Made>(keyOf: (text: string) => string, make: (text: string) => Made): { of(text: string): Made } {
  const made = new Map<string, { readonly reading: Made; readonly size: number }>()
  let kept = 0
  return {
    of(text) {
      if (text.length <= KEPT_FROM) return make(text)
      const key = keyOf(text)
      const known = made.get(key)
      if (known !== undefined) return known.reading
      const reading = make(text)
      const size = Math.min(text.length, MOST_READ) + BESIDE
      made.set(key, { reading, size })
      kept += size
      for (const [oldest, { size: freed }] of made) {
        if (kept <= KEPT) break
        made.delete(oldest)
        kept -= freed
      }
      return reading
    },
  }
}

const readings = remembering(digests(digestOf), read)
// Of a longer text only its ends are read for it.
const disguises = remembering(
  (text) =>
    digestOf(text.length <= MOST_READ ? text : `${text.slice(0, MOST_READ / 2)}\0${text.slice(-MOST_READ / 2)}`),
  (text) => {
    const { keys, words } = deobfuscated(text)
    return {
      keys: keys.map((key) => (key.length > LONG_KEY ? digestOf(key) : key)),
      initials: words.reduce((hash, word) => (Math.imul(hash, 31) + word.charCodeAt(0)) | 0, words.length),
      count: words.length,
      // In one piece they take a tenth of the memory.
      joined: words.join(BETWEEN),
    }
  },
)
/** No word holds it. */
const BETWEEN = '\n'
/** A longer key is kept as its digest. */
const LONG_KEY = 100

function digestOf(text: string): string {
  return hash('sha256', text, 'base64url')
}

/** Equal for texts that differ in nothing that matters. */
function read(text: string): string {
  if (text.length > MOST_READ) return readEnds(text)
  const plain = plainly(text)
  const words = wordsOf(bare(plain))
  return words.length >= DECORATED_WORDS ? words.join(' ') : shortKey(plain)
}

/** A longer text's words are those of its beginning and its end. */
function readEnds(text: string): string {
  const half = MOST_READ / 2
  const between = digestOf(text.slice(half, -half))
  const words = [text.slice(0, half), text.slice(-half)].flatMap((end) => wordsOf(bare(plainly(end))))
  return `long ${digestOf(`${between} ${words.join(' ')}`)}`
}
