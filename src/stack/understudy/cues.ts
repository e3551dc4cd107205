import { type Kind, WORDS } from './words.ts'

/** One phrase of the word lists found in a text. */
export type Cue = {
  readonly phrase: string
  readonly kind: Kind
  /** A negation stood before it in the same clause. */
  readonly negated: boolean
  /** Its sentence ended in a question mark. */
  readonly asked: boolean
  /** An authority was named in its sentence. */
  readonly official: boolean
}

/** What a text says, as far as the word lists go. */
export type Reading = {
  readonly cues: readonly Cue[]
  readonly digits: boolean
  readonly count: (kind: Kind) => number
}

/** Finds every cue of a text in one pass: the longest phrase at each word, scripts without word gaps by substring. */
export function readCues(text: string): Reading {
  const lower = text.toLowerCase()
  const { sentences, digits, beyond } = split(lower)
  const cues = sentences.flatMap((sentence) => cuesOf(sentence.words, sentence.asked))
  if (beyond) cues.push(...beyondCues(lower))
  return { cues, digits, count: (kind) => cues.reduce((sum, cue) => sum + (cue.kind === kind ? 1 : 0), 0) }
}

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

type Branch = { readonly next: Map<string, Branch>; phrase: string; kinds: Kind[] }

const LONGEST_REACH = 3
const phrases = Object.entries(WORDS).flatMap(([kind, lists]) =>
  Object.values<string>(lists).flatMap((list) => list.split(', ').map((phrase) => ({ phrase, kind: kind as Kind }))),
)
const trie = grown(phrases.filter(({ phrase }) => !isBeyond(phrase)))
const beyondKinds = Map.groupBy(
  phrases.filter(({ phrase }) => isBeyond(phrase)),
  ({ phrase }) => phrase,
)
const BEYOND = new RegExp([...beyondKinds.keys()].toSorted((one, other) => other.length - one.length).join('|'), 'g')
const BEYOND_SENTENCE = /[^。！？!?؟\n]+[？?؟]?/g

function grown(words: readonly { phrase: string; kind: Kind }[]): Branch {
  const root = branchOf()
  for (const { phrase, kind } of words) {
    let branch = root
    for (const word of phrase.split(' ')) {
      const next = branch.next.get(word) ?? branchOf()
      branch.next.set(word, next)
      branch = next
    }
    branch.phrase = phrase
    if (!branch.kinds.includes(kind)) branch.kinds.push(kind)
  }
  return root
}

function branchOf(): Branch {
  return { next: new Map(), phrase: '', kinds: [] }
}

function isBeyond(phrase: string): boolean {
  return phrase.charCodeAt(0) >= FIRST_BEYOND_LATIN || /[\u0600-\uffff]/.test(phrase)
}

function cuesOf(words: readonly string[], asked: boolean): Cue[] {
  const found: { phrase: string; kind: Kind; negated: boolean }[] = []
  let official = false
  let lastNegation = Number.NEGATIVE_INFINITY
  for (let at = 0; at < words.length; ) {
    const hit = longestAt(words, at)
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

type Hit = { readonly phrase: string; readonly kinds: readonly Kind[]; readonly length: number }

function longestAt(words: readonly string[], at: number): Hit | undefined {
  let branch = trie.next.get(words[at] ?? '')
  let longest: Hit | undefined
  for (let length = 1; branch; length++) {
    if (branch.kinds.length > 0) longest = { phrase: branch.phrase, kinds: branch.kinds, length }
    branch = branch.next.get(words[at + length] ?? '')
  }
  return longest
}

function beyondCues(text: string): Cue[] {
  return (text.match(BEYOND_SENTENCE) ?? []).flatMap((sentence) => {
    const found = (sentence.match(BEYOND) ?? []).flatMap((phrase) => beyondKinds.get(phrase) ?? [])
    const official = found.some(({ kind }) => kind === 'authority')
    const asked = /[？?؟]$/.test(sentence)
    return found.map((cue) => ({ ...cue, negated: false, asked, official }))
  })
}
