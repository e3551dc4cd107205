import { z } from 'zod'
import { authorOf } from '../../contracts/facts/author.ts'
import type { CaseRecord } from '../../contracts/facts/case.ts'
import type { SamplingRank } from '../../contracts/facts/sampling-rank.ts'
import type { WeightedSlots } from '../../contracts/facts/slots.ts'
import { type Comment, type Snapshot, snapshot, type ThreadRef } from '../../contracts/facts/thread.ts'
import type { Verdict } from '../../contracts/facts/verdict.ts'
import { commentKey } from '../../contracts/facts/verdict-id.ts'
import type { ThreadState, ThreadStore } from '../../contracts/ports/threads.ts'
import type { Protocol } from './script.ts'
import { asComment, type Surroundings } from './surroundings.ts'

/** Comments of one other post that are shown. */
const MOST_OF_ONE = 3
/** Other threads are read whole, one opening of an opener after the other, until they have so many comments together, or as much. */
const MOST_READ = 1_000

export interface ElsewhereDrawing {
  readonly rank: SamplingRank
  /** Most threads that are linked to one comment, or comments to one post. */
  readonly maxReplies: number
}

/**
 * Comments under other posts in the same words, each under its `commentKey`: at most as many as the thread has of its own, three of one
 * post, and one of an author, none of whom has written under this post. A keyed draw picks posts and comments. Each is linked first,
 * so that its deletion finds whom it was shown to.
 */
export async function elsewhereOf(
  threads: Pick<ThreadStore, 'twins' | 'weigh' | 'read' | 'linkReply'>,
  { ref, comments }: Pick<ThreadState, 'ref' | 'comments'>,
  { rank, maxReplies }: ElsewhereDrawing,
  now: number,
): Promise<Comment[]> {
  const scope = `elsewhere ${ref.tenant}`
  const twins = await threads.twins(ref, rank(scope, ref.postId))
  const link = { most: maxReplies, now }
  const heard = new Set(comments.map(authorOf))
  const shown: Comment[] = []
  let left = MOST_READ
  for (const twin of twins) {
    const room = Math.min(MOST_OF_ONE, comments.length - shown.length)
    if (room <= 0) break
    const { weight } = await threads.weigh(twin)
    // A smaller one may still be read.
    if (weight > left) continue
    left -= weight
    const drawn = drawnOf((await threads.read(twin))?.comments ?? [], heard, { room, rank: (id) => rank(scope, id) })
    const linked: Comment[] = []
    for (const comment of drawn) {
      const itself: ThreadRef = { tenant: ref.tenant, postId: commentKey(twin.postId, comment.id), kind: 'comment' }
      const links = [await threads.linkReply(twin, itself, link), await threads.linkReply(itself, ref, link)]
      if (links.every((one) => one === 'linked' || one === 'known')) linked.push(comment)
    }
    // What was deleted before it was linked is not there any more.
    const there = new Set(linked.length === 0 ? [] : (await threads.read(twin))?.comments.map(({ id }) => id))
    for (const comment of linked) {
      if (!there.has(comment.id)) continue
      heard.add(authorOf(comment))
      shown.push({ ...asComment(comment), id: commentKey(twin.postId, comment.id) })
    }
  }
  return shown
}

/** What cases on a post's thread are shown of others in the same words, where a protocol that is ready is shown any. */
export async function aroundOf(
  threads: Parameters<typeof elsewhereOf>[0],
  state: ThreadState,
  of: {
    readonly drawing: ElsewhereDrawing | undefined
    readonly ready: readonly Protocol[]
    readonly now: number
    /** One opening reads other threads at a time. */
    readonly turns: Pick<WeightedSlots, 'run'>
  },
): Promise<Surroundings | undefined> {
  const { drawing, ready, now, turns } = of
  if (drawing === undefined || state.ref.kind !== 'post' || !ready.some((one) => one.elsewhere)) return undefined
  return { comments: [], elsewhere: await turns.run(1, () => elsewhereOf(threads, state, drawing, now)) }
}

/** What a script hands on, as far as it says which comments under other posts it holds. */
const carried = z.object({ elsewhere: z.array(z.string()) })

/**
 * Comments under other posts, by their keys, whose words a case may hold: those that it was given, though nobody was shown them, and those
 * that an earlier decision which it began with was shown.
 */
export function heldElsewhere({ subject, carry }: Pick<CaseRecord, 'subject' | 'carry'>): string[] {
  const { elsewhere = [] } = snapshot.pick({ elsewhere: true }).safeParse(subject).data ?? {}
  return [...elsewhere.map(({ id }) => id), ...(carried.safeParse(carry).data?.elsewhere ?? [])]
}

const UNQUOTED = 'its case held comments under other posts: its reasons are left out'

/** What is proposed of a case that held some: nothing would find a proposal by these, to erase it with them. */
export function unquoted(ruled: Verdict): Verdict {
  const { elsewhere: _, ...evidence } = ruled.evidence
  return { ...ruled, rationale: '', evidence, degraded: [...ruled.degraded, UNQUOTED] }
}

/** The case without them, and without what it began with. */
export function withoutElsewhere(record: CaseRecord): CaseRecord {
  const { elsewhere: _, ...subject } = (record.subject ?? {}) as Partial<Snapshot> // as: one that may hold some
  return { ...record, subject, carry: null }
}

/** The first of these by a draw, of each author that has not been heard one. */
function drawnOf(
  comments: readonly Comment[],
  heard: ReadonlySet<string | undefined>,
  { room, rank }: { readonly room: number; readonly rank: (id: string) => number },
): Comment[] {
  const ranked = comments.map((comment) => ({ comment, rank: rank(comment.id) }))
  const inOrder = ranked.sort((a, b) => a.rank - b.rank).map(({ comment }) => comment)
  return [...Map.groupBy(inOrder, authorOf)]
    .flatMap(([author, [first]]) => (heard.has(author) || first === undefined ? [] : [first]))
    .slice(0, room)
}
