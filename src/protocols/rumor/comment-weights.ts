import { authorOf } from '../../contracts/facts/author.ts'
import { normalized } from '../../contracts/facts/normalized.ts'
import { byTimeThenId, type Comment } from '../../contracts/facts/thread.ts'
import { misspeltAlike, sameWords, type Utterance } from './near-identical.ts'
import { noParents, type ParentOf } from './parents.ts'
import type { RumorSettings } from './settings.ts'
import type { Tie } from './sides.ts'

/** An utterance and its stance score; null if no scores are asked for. */
export interface ScoredUtterance {
  readonly utterance: Utterance
  readonly score: number | null
}

/** The comments that count, and what happened to the others. */
export interface WeighedComments {
  /** In order of time, then id, each with the score of its utterance. */
  readonly comments: readonly { readonly comment: Comment; readonly score: number | null }[]
  /** Comments that another one represents. */
  readonly folded: number
  /** Comments beyond the number that counts per author. */
  readonly author: number
  /** What was folded or left out, in words. */
  readonly limitations: readonly string[]
}

/** How many groups and authors are named; the rest are counted. */
const NAMED = 3
/** Longest id or name that a stranger chose in a verdict's text, in characters. */
const NAME_CHARS = 40

/** What is asked about: each comment by itself, or all comments that say the same to the same words once. */
export function utterancesOf(
  comments: readonly Comment[],
  { foldNearIdentical }: Pick<RumorSettings, 'foldNearIdentical'>,
  parentOf: ParentOf = noParents,
): Utterance[] {
  if (foldNearIdentical) return sameWords(comments, parentOf)
  return comments.map((comment) => ({ comments: [comment], key: comment.id }))
}

/** How many comments count. */
type Caps = Pick<RumorSettings, 'perAuthor' | 'unnamed'>

/**
 * How many comments count of one author, and of all that name none: of these as many as of the others together, at
 * least `unnamed`, and all of them where nobody is named.
 */
export function capsOf(comments: readonly Comment[], { perAuthor, unnamed }: Caps): (author?: string) => number {
  const most = perAuthor ?? Number.POSITIVE_INFINITY
  const authors = Map.groupBy(comments, authorOf)
  const named = [...authors].reduce(
    (sum, [author, own]) => sum + (author === undefined ? 0 : Math.min(most, own.length)),
    0,
  )
  const ofNobody = unnamed === null || named === 0 ? Number.POSITIVE_INFINITY : Math.max(unnamed, named)
  return (author) => (author === undefined ? ofNobody : most)
}

/**
 * Keeps repetition from adding weight: near-identical comments of one side count once, and of one author's comments the
 * strongest, as many as `capsOf` allows, so that a few empty words don't displace what the author has to say. A group is
 * represented by its first comment whose author has not spoken yet, else is not yet at the cap, the strongest first, then the earliest.
 */
export function weighComments(
  scoredUtterances: readonly ScoredUtterance[],
  { foldNearIdentical, perAuthor, unnamed }: Pick<RumorSettings, 'foldNearIdentical'> & Caps,
  tie: Tie,
): WeighedComments {
  const bySign = [...Map.groupBy(scoredUtterances, ({ score }) => Math.sign(score ?? 0)).values()]
  const groups = bySign.flatMap((side) => grouped(side, foldNearIdentical))
  const strongestFirst = groups.toSorted(
    (a, b) => Math.abs(b.score ?? 0) - Math.abs(a.score ?? 0) || tie(a.first, b.first),
  )
  const written = Map.groupBy(
    groups.flatMap(({ comments }) => comments),
    authorOf,
  )
  const capOf = capsOf([...written.values()].flat(), { perAuthor, unnamed })
  const spoken = new Map<string | undefined, number>()
  const silenced = new Set<string | undefined>()
  const voices: { comment: Comment; score: number | null }[] = []
  const copies: { count: number; voice: Comment }[] = []
  let [folded, beyond] = [0, 0]
  for (const { comments, score } of strongestFirst) {
    // Rather somebody who has not spoken yet: else whoever says first what others will say could silence them.
    const voice =
      comments.find((one) => !spoken.has(authorOf(one))) ??
      comments.find((one) => (spoken.get(authorOf(one)) ?? 0) < capOf(authorOf(one)))
    if (voice === undefined) {
      beyond += comments.length
      for (const comment of comments) silenced.add(authorOf(comment))
      continue
    }
    voices.push({ comment: voice, score })
    folded += comments.length - 1
    const author = authorOf(voice)
    spoken.set(author, (spoken.get(author) ?? 0) + 1)
    if (comments.length > 1) copies.push({ count: comments.length, voice })
  }
  const authors = [...silenced].flatMap((author) => {
    const [first, ...others] = written.get(author) ?? []
    return first?.author === undefined ? [] : [{ author: first.author, wrote: 1 + others.length }]
  })
  const nameless = written.get(undefined)?.length ?? 0
  return {
    comments: voices.sort((a, b) => byTimeThenId(a.comment, b.comment)),
    folded,
    author: beyond,
    limitations: [
      ...told(
        copies.sort((a, b) => b.count - a.count || order(a.voice.id, b.voice.id)),
        ({ count, voice }) => `${count} near-identical comments counted once (${name(voice.id)} stands for them)`,
        (rest) => {
          const count = rest.reduce((sum, group) => sum + group.count, 0)
          return `${count} more near-identical comments in ${rest.length} groups: each group counted once`
        },
      ),
      ...told(
        authors.sort((a, b) => b.wrote - a.wrote || order(a.author, b.author)),
        ({ author, wrote }) => `author ${name(author)}: ${wrote} comments, at most ${perAuthor} weighed`,
        (rest) => {
          const count = rest.reduce((sum, { wrote }) => sum + wrote, 0)
          return `${rest.length} more authors: ${count} comments, at most ${perAuthor} weighed of each`
        },
      ),
      ...(silenced.has(undefined) ? [`${nameless} comments without an author: at most ${capOf()} weighed`] : []),
    ],
  }
}

/**
 * Comments of one side that count once: those of the strongest utterance first, and within an utterance in order of
 * time. Otherwise an early, weak copy would weaken what it copies.
 */
function grouped(side: readonly ScoredUtterance[], fold: boolean) {
  const scores = new Map(side.map(({ utterance, score }) => [utterance, score]))
  const utterances = [...scores.keys()]
  const groups = fold ? misspeltAlike(utterances) : utterances.map((utterance) => [utterance])
  const strength = (utterance: Utterance) => Math.abs(scores.get(utterance) ?? 0)
  return groups.flatMap((group) => {
    const strongestFirst = group.length === 1 ? group : group.toSorted((a, b) => strength(b) - strength(a))
    const [only] = group
    const comments =
      group.length === 1 && only !== undefined
        ? only.comments
        : strongestFirst.flatMap((utterance) => utterance.comments)
    const [[strongest], [first]] = [strongestFirst, comments]
    if (strongest === undefined || first === undefined) return []
    return [{ first, comments, score: scores.get(strongest) ?? null }]
  })
}

/** The first ones by name, the rest by number. */
function told<Item>(
  items: readonly Item[],
  say: (item: Item) => string,
  count: (rest: readonly Item[]) => string,
): string[] {
  const rest = items.slice(NAMED)
  return [...items.slice(0, NAMED).map(say), ...(rest.length === 0 ? [] : [count(rest)])]
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/**
 * An id that is safe in a sentence: letters, digits and joining characters are kept, all others become dots; shortened.
 */
function name(id: string): string {
  const shown = normalized(id.slice(0, NAME_CHARS).toWellFormed(), 'NFC').replace(/[^\p{L}\p{N}@:/_.#~-]/gu, '·')
  return id.length > NAME_CHARS ? `${shown}…` : shown
}
