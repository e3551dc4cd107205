import { RANK_LIMIT } from '../domain/sampling-rank.ts'
import type { Comment } from '../domain/thread.ts'
import { TOMBSTONES } from '../domain/thread.ts'
import type { Origin, ThreadRules } from '../ports/threads.ts'
import type { Thread } from './thread.ts'

/** The comments that a thread keeps, as a copy that one batch of changes works on. */
export interface Sample {
  readonly comments: Map<string, Comment | null>
  readonly ranks: Map<string, number>
  readonly orphans: Map<string, Origin>
}

export function sampleOf({ comments, ranks, orphans }: Thread): Sample {
  return { comments: new Map(comments), ranks: new Map(ranks), orphans: new Map(orphans) }
}

/**
 * The rank of a deleted comment: behind all comments, so that it takes no place from them. Ids that were never seen
 * rank behind those that were: deletions of made-up ids must not push out real tombstones, or their comments could
 * return.
 */
export function rankOfDeleted(rank: number, known: boolean): number {
  return rank + (known ? RANK_LIMIT : 2 * RANK_LIMIT)
}

/**
 * Whether there is room for another comment by this author. Of each author's comments those with the smallest ranks are
 * kept, whatever their order, so the new one may replace another. Comments that name no author count as one author's,
 * with a limit of their own.
 */
export function makeRoom(
  sample: Sample,
  { id, author }: Comment,
  rank: number,
  { maxPerAuthor, maxUnnamed }: Pick<ThreadRules, 'maxPerAuthor' | 'maxUnnamed'>,
): 'within-share' | 'in-place-of-another' | 'left-out' {
  const most = author === undefined ? maxUnnamed : maxPerAuthor
  if (most === null) return 'within-share'
  const own = [...sample.comments].flatMap(([key, comment]) =>
    comment !== null && comment.author === author ? [key] : [],
  )
  if (own.length < most) return 'within-share'
  const last = byRank(sample, own).at(-1)
  if (last === undefined || isBefore([sample.ranks.get(last) ?? 0, last], [rank, id])) return 'left-out'
  leaveOut(sample, last)
  return 'in-place-of-another'
}

/**
 * Drops comments beyond `maxComments`, and tombstones beyond what is kept for that many comments: those with the largest ranks.
 */
export function trim(sample: Sample, maxComments: number): void {
  const ids = byRank(sample, sample.comments.keys())
  const isDeleted = (id: string) => sample.comments.get(id) === null
  const over = ids.filter((id) => !isDeleted(id)).slice(maxComments)
  for (const id of [...over, ...ids.filter(isDeleted).slice(TOMBSTONES * maxComments)]) leaveOut(sample, id)
}

/** Where a comment without room came from, without its text: kept for its dead letter while the post is missing. */
export function unseen(origin: Origin): Origin {
  return { ...origin, raw: '' }
}

function leaveOut({ comments, ranks, orphans }: Sample, id: string): void {
  comments.delete(id)
  ranks.delete(id)
  const origin = orphans.get(id)
  if (origin !== undefined) orphans.set(id, unseen(origin))
}

function byRank({ ranks }: Sample, ids: Iterable<string>): string[] {
  return [...ids].sort((a, b) => (isBefore([ranks.get(a) ?? 0, a], [ranks.get(b) ?? 0, b]) ? -1 : 1))
}

/** Smaller ranks come first; if ranks are equal, which hardly ever happens with a keyed hash, the smaller id. */
function isBefore([rank, id]: readonly [number, string], [otherRank, otherId]: readonly [number, string]): boolean {
  return rank === otherRank ? id < otherId : rank < otherRank
}
