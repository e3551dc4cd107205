import { stemmer } from 'stemmer'

// Similarities of a reply to a reference reply, each from 0 to 1, one pair at a time. No WordNet: METEOR's synonym stage is missing.

export const OVERLAPS = ['bleu-1', 'bleu-2', 'bleu-3', 'bleu-4', 'rouge-1', 'rouge-2', 'rouge-l', 'meteor'] as const
export type Overlap = (typeof OVERLAPS)[number]

type Similarity = (reply: string, reference: string) => number
const bleuUpTo =
  (highest: number): Similarity =>
  (reply, reference) =>
    bleu(highest, reply, reference)
const rougeOf =
  (order: number): Similarity =>
  (reply, reference) =>
    rougeN(order, reply, reference)
const SIMILARITIES: Readonly<Record<Overlap, Similarity>> = {
  'bleu-1': bleuUpTo(1),
  'bleu-2': bleuUpTo(2),
  'bleu-3': bleuUpTo(3),
  'bleu-4': bleuUpTo(4),
  'rouge-1': rougeOf(1),
  'rouge-2': rougeOf(2),
  'rouge-l': rougeL,
  meteor,
}

/** The similarity of a reply to its reference. */
export function overlapOf(metric: Overlap, reply: string, reference: string): number {
  return SIMILARITIES[metric](reply, reference)
}

/**
 * BLEU of a sentence with n-grams up to this order (Papineni et al. 2002), with the counts' exponential smoothing, and the
 * orders that the reply is long enough for.
 */
function bleu(highest: number, reply: string, reference: string): number {
  const [given, wanted] = [bleuTokens(reply), bleuTokens(reference)]
  const logs: number[] = []
  let [smoothing, found] = [1, 0]
  for (let order = 1; order <= Math.min(highest, given.length); order++) {
    const total = given.length - order + 1
    const shared = sharedCount(ngrams(given, order), ngrams(wanted, order))
    if (shared === 0) smoothing *= 2
    found += shared
    logs.push(Math.log(shared === 0 ? 1 / (smoothing * total) : shared / total))
  }
  if (found === 0) return 0
  const brevity = given.length < wanted.length ? Math.exp(1 - wanted.length / given.length) : 1
  return brevity * Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length)
}

/** The F-measure of shared n-grams (ROUGE-N, Lin 2004). */
function rougeN(order: number, reply: string, reference: string): number {
  const [given, wanted] = [ngrams(rougeTokens(reply), order), ngrams(rougeTokens(reference), order)]
  return fMeasure(sharedCount(given, wanted), sizeOf(given), sizeOf(wanted))
}

/** The F-measure of the longest common subsequence (ROUGE-L, Lin 2004). */
function rougeL(reply: string, reference: string): number {
  const [given, wanted] = [rougeTokens(reply), rougeTokens(reference)]
  let row = new Array<number>(wanted.length + 1).fill(0)
  for (const token of given) {
    const next = [0]
    for (const [at, other] of wanted.entries())
      next.push(token === other ? (row[at] ?? 0) + 1 : Math.max(row[at + 1] ?? 0, next[at] ?? 0))
    row = next
  }
  return fMeasure(row.at(-1) ?? 0, given.length, wanted.length)
}

/** METEOR's weights (Banerjee and Lavie 2005, with the parameters of NLTK). */
const METEOR = { alpha: 0.9, beta: 3, gamma: 0.5 }

/** METEOR with its exact and its stem stage. Each stage pairs words from the end, as NLTK does. */
function meteor(reply: string, reference: string): number {
  const given = bleuTokens(reply).map((word) => word.toLowerCase())
  const wanted = bleuTokens(reference).map((word) => word.toLowerCase())
  const [pairs, left] = paired([...given.entries()], [...wanted.entries()])
  const stems = (words: readonly Placed[]) => words.map(([at, word]): Placed => [at, stemmer(word)])
  const [more] = paired(stems(left.given), stems(left.wanted))
  const matches = [...pairs, ...more].sort(([one], [other]) => one - other)
  if (matches.length === 0) return 0
  const [precision, recall] = [matches.length / given.length, matches.length / wanted.length]
  const mean = (precision * recall) / (METEOR.alpha * precision + (1 - METEOR.alpha) * recall)
  const breaks = matches.filter(([one, other], at) => {
    const [before, otherBefore] = matches[at - 1] ?? [-2, -2]
    return one !== before + 1 || other !== otherBefore + 1
  })
  const penalty = METEOR.gamma * (breaks.length / matches.length) ** METEOR.beta
  return mean * (1 - penalty)
}

type Placed = readonly [at: number, word: string]

function paired(given: readonly Placed[], wanted: readonly Placed[]) {
  const pairs: [given: number, wanted: number][] = []
  const left = [...wanted]
  const unpaired: Placed[] = []
  for (const [at, word] of given.toReversed()) {
    const place = left.findLastIndex(([, other]) => other === word)
    const [match] = place < 0 ? [] : left.splice(place, 1)
    if (match === undefined) unpaired.push([at, word])
    else pairs.push([at, match[0]])
  }
  return [pairs, { given: unpaired.toReversed(), wanted: left }] as const
}

function fMeasure(shared: number, given: number, wanted: number): number {
  if (shared === 0) return 0
  const [precision, recall] = [shared / given, shared / wanted]
  return (2 * precision * recall) / (precision + recall)
}

type Counts = ReadonlyMap<string, number>

function ngrams(tokens: readonly string[], order: number): Counts {
  const counts = new Map<string, number>()
  for (let at = 0; at + order <= tokens.length; at++) {
    const gram = tokens.slice(at, at + order).join(' ')
    counts.set(gram, (counts.get(gram) ?? 0) + 1)
  }
  return counts
}

function sharedCount(one: Counts, other: Counts): number {
  return [...one].reduce((sum, [gram, count]) => sum + Math.min(count, other.get(gram) ?? 0), 0)
}

function sizeOf(counts: Counts): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0)
}

/** Words in small Latin letters and digits; other scripts have none. */
function rougeTokens(text: string): string[] {
  return text.toLowerCase().match(/[a-z0-9]+/g) ?? []
}

/** Tokens of mteval-v13a: punctuation stands alone, but for points and commas within numbers. */
function bleuTokens(text: string): string[] {
  const plain = text
    .trimEnd()
    .replaceAll('<skipped>', '')
    .replaceAll('-\n', '')
    .replaceAll('\n', ' ')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
  return ` ${plain} `
    .replace(/([{-~[-` -&(-+:-@/])/g, ' $1 ')
    .replace(/([^0-9])([.,])/gu, '$1 $2 ')
    .replace(/([.,])([^0-9])/gu, ' $1 $2')
    .replace(/([0-9])(-)/g, '$1 $2 ')
    .split(/\s+/)
    .filter((token) => token !== '')
}
