import { type CueKind, WORDS } from './words.ts'

/** Word lists by kind, then by language. `negation` and `authority`, where there, change how the cues near them count. */
type WordLists = { readonly [kind: string]: { readonly [language: string]: string } }

/** One phrase of the word lists found in a text. */
export type Cue<Of extends string = CueKind> = {
  readonly phrase: string
  readonly kind: Of
  /** A negation stood before it in the same clause. */
  readonly negated: boolean
  /** Its sentence ended in a question mark. */
  readonly asked: boolean
  /** An authority was named in its sentence. */
  readonly official: boolean
}

/** The cues of a text, as far as the word lists go. */
export type CueReading<Of extends string = CueKind> = {
  readonly cues: readonly Cue<Of>[]
  readonly digits: boolean
  readonly count: (kind: Of) => number
}

/** Finds every cue of a text in one pass: the longest phrase at each word, scripts without word gaps by substring. */
export function readerOf<Lists extends WordLists>(lists: Lists): (text: string) => CueReading<keyof Lists & string> {
  type Of = keyof Lists & string
  const phrases = phrasesOf<Of>(lists)
  const trie = grown(phrases.filter(({ phrase }) => !isBeyond(phrase)))
  const beyondCues = beyondReader(phrases.filter(({ phrase }) => isBeyond(phrase)))
  return (text) => {
    const lower = text.toLowerCase()
    const { sentences, digits, beyond } = split(lower)
    const cues = sentences.flatMap((sentence) => cuesOf(trie, sentence.words, sentence.asked))
    if (beyond) cues.push(...beyondCues(lower))
    return { cues, digits, count: (kind) => cues.reduce((sum, cue) => sum + (cue.kind === kind ? 1 : 0), 0) }
  }
}

/** Reads what people say under a post when something has happened. */
export const readCues = readerOf(WORDS)

type Sentence = { readonly words: string[]; asked: boolean }

/** Stands in a sentence's words where a clause ends, so that no phrase and no negation reaches over it. */
const CLAUSE = ','
const NOT_YET_LETTERS = 0xc0
const FIRST_BEYOND_LATIN = 0x600

function split(text: string): { sentences: Sentence[]; digits: boolean; beyond: boolean } {
  const sentences: Sentence[] = []
  let sentence: Sentence = { words: [], asked: false }
  let start = -1
  let digits = false
  let beyond = false
  for (let index = 0; index <= text.length; index++) {
    const code = index < text.length ? text.charCodeAt(index) : 10
    if (isLetter(code)) {
      if (start === -1) start = index
      if (code <= 57) digits = true
      if (code >= FIRST_BEYOND_LATIN) beyond = true
      continue
    }
    if (start !== -1) sentence.words.push(text.slice(start, index))
    start = -1
    if (endsSentence(code)) {
      sentence.asked = isQuestionMark(code)
      if (sentence.words.length > 0) sentences.push(sentence)
      sentence = { words: [], asked: false }
    } else if (code === 44 || code === 58 || code === 59 || code === 40 || code === 41 || code === 0x2014) {
      sentence.words.push(CLAUSE)
    }
  }
  return { sentences, digits, beyond }
}

function isLetter(code: number): boolean {
  if (code < 128) return (code >= 97 && code <= 122) || (code >= 48 && code <= 57)
  return code >= NOT_YET_LETTERS && !(code >= 0x2000 && code <= 0x206f) && !(code >= 0x3000 && code <= 0x303f)
}

function endsSentence(code: number): boolean {
  return code === 46 || code === 33 || code === 63 || code === 10 || code === 0x2026
}

function isQuestionMark(code: number): boolean {
  return code === 63
}

type Phrase<Of extends string> = { readonly phrase: string; readonly kind: Of }
type Branch<Of extends string> = { readonly next: Map<string, Branch<Of>>; phrase: string; kinds: Of[] }

const LONGEST_REACH = 3
const BEYOND_SENTENCE = /[^。！？!?؟\n]+[？?؟]?/g

function phrasesOf<Of extends string>(lists: Readonly<Record<Of, Readonly<Record<string, string>>>>): Phrase<Of>[] {
  const phrases: Phrase<Of>[] = []
  for (const kind in lists) {
    for (const list of Object.values(lists[kind])) {
      for (const phrase of list.split(', ')) phrases.push({ phrase, kind })
    }
  }
  return phrases
}

function grown<Of extends string>(words: readonly Phrase<Of>[]): Branch<Of> {
  const root = branchOf<Of>()
  for (const { phrase, kind } of words) {
    let branch = root
    for (const word of phrase.split(' ')) {
      const next = branch.next.get(word) ?? branchOf<Of>()
      branch.next.set(word, next)
      branch = next
    }
    branch.phrase = phrase
    if (!branch.kinds.includes(kind)) branch.kinds.push(kind)
  }
  return root
}

function branchOf<Of extends string>(): Branch<Of> {
  return { next: new Map(), phrase: '', kinds: [] }
}

function isBeyond(phrase: string): boolean {
  return /[\u0600-\uffff]/.test(phrase)
}

function cuesOf<Of extends string>(trie: Branch<Of>, words: readonly string[], asked: boolean): Cue<Of>[] {
  const found: { phrase: string; kind: Of; negated: boolean }[] = []
  let official = false
  let lastNegation = Number.NEGATIVE_INFINITY
  for (let at = 0; at < words.length; ) {
    const hit = longestAt(trie, words, at)
    if (!hit) {
      if (words[at] === CLAUSE) lastNegation = Number.NEGATIVE_INFINITY
      at++
      continue
    }
    for (const kind of hit.kinds) {
      if (kind === 'negation') lastNegation = at + hit.length - 1
      else found.push({ phrase: hit.phrase, kind, negated: at - lastNegation <= LONGEST_REACH })
      if (kind === 'authority') official = true
    }
    at += hit.length
  }
  return found.map((cue) => ({ ...cue, asked, official }))
}

type Hit<Of extends string> = { readonly phrase: string; readonly kinds: readonly Of[]; readonly length: number }

function longestAt<Of extends string>(trie: Branch<Of>, words: readonly string[], at: number): Hit<Of> | undefined {
  let branch = trie.next.get(words[at] ?? '')
  let longest: Hit<Of> | undefined
  for (let length = 1; branch; length++) {
    if (branch.kinds.length > 0) longest = { phrase: branch.phrase, kinds: branch.kinds, length }
    branch = branch.next.get(words[at + length] ?? '')
  }
  return longest
}

/** Reads by substring what stands in scripts without word gaps. */
function beyondReader<Of extends string>(phrases: readonly Phrase<Of>[]): (text: string) => Cue<Of>[] {
  if (phrases.length === 0) return () => []
  const kinds = Map.groupBy(phrases, ({ phrase }) => phrase)
  const pattern = new RegExp([...kinds.keys()].toSorted((one, other) => other.length - one.length).join('|'), 'g')
  return (text) =>
    (text.match(BEYOND_SENTENCE) ?? []).flatMap((sentence) => {
      const found = (sentence.match(pattern) ?? []).flatMap((phrase) => kinds.get(phrase) ?? [])
      const official = found.some(({ kind }) => kind === 'authority')
      const asked = /[？?؟]$/.test(sentence)
      return found.map((cue) => ({ ...cue, negated: false, asked, official }))
    })
}
