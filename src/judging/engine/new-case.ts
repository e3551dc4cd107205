import type { CaseRecord } from '../../contracts/facts/case.ts'
import { isLaneClosed } from '../../contracts/facts/lane-mark.ts'
import { shareOf } from '../../contracts/facts/share.ts'
import type { Post, Snapshot } from '../../contracts/facts/thread.ts'
import { namedIn, verdictId } from '../../contracts/facts/verdict-id.ts'
import type { ThreadState } from '../../contracts/ports/threads.ts'
import type { CheckpointSettings } from '../threads/checkpoints.ts'
import { kindNamed, seenBy } from './routes.ts'
import type { Protocol } from './script.ts'
import type { Surroundings } from './surroundings.ts'
import { versionsOf } from './versions.ts'

/** How long a subject is followed, and a case may take, as in the settings. */
export interface CaseTimes {
  readonly checkpoints: CheckpointSettings
  readonly cases: { readonly deadline: number }
}

/**
 * What a case of this thread, opened at `openedAt` (ms since 1970), judges: the next revision of the protocol's
 * verdict.
 */
export function newCase(
  protocol: Protocol,
  state: ThreadState,
  post: Post,
  opening: {
    readonly openedAt: number
    /** The thread's last age checkpoint has passed. */
    readonly atFinalAge: boolean
    /** Of load, 0 for none. */
    readonly step: number
    /** Protocols that are paused, and first lanes that are closed, by their `laneMark`. */
    readonly paused: ReadonlySet<string>
    readonly settings: CaseTimes
    /** What it is shown with. */
    readonly surroundings?: Surroundings | undefined
  },
): CaseRecord {
  const { openedAt, atFinalAge, step, paused, settings, surroundings } = opening
  const { tenant, postId, kind } = state.ref
  const before = state.revisions.get(protocol.name)
  const revision = (before?.revision ?? state.base) + 1
  const named = kindNamed(protocol, kind)
  const judging = protocol.variantFor?.(state.ref) ?? protocol
  const lane = judging.laneFor?.(tenant)
  const id = (number: number) =>
    verdictId({ protocol: protocol.name, tenant, ...namedIn(state.ref), revision: number, ...named })
  return {
    id: id(revision),
    protocol: protocol.name,
    tenant,
    subjectId: postId,
    kind,
    revision,
    // A post that is judged by itself changes only when it is edited, so each of its revisions is final.
    final: protocol.subject === 'thread' ? atFinalAge : true,
    share: shareOf(state.ref, post),
    supersedes: before === undefined ? null : id(before.published ?? before.revision),
    ...snapshotOf(protocol, state, post, settings, surroundings),
    overloaded: step > 0,
    ...(step > 0 ? { step } : {}),
    carry: before?.carry ?? null,
    ...(lane !== undefined && isLaneClosed(paused, lane.basis, tenant) ? { closedLane: lane.hash } : {}),
    versions: versionsOf(judging),
    createdAt: post.createdAt,
    receivedAt: state.dueSince ?? openedAt,
    openedAt,
    deadline: openedAt + settings.cases.deadline,
  }
}

/** The version that rises with the changes that this protocol looks at. */
export function versionSeenBy(protocol: Protocol, state: ThreadState): number {
  return protocol.subject === 'thread' ? state.version : state.postVersion
}

/** The subject as a protocol judges it now, and what happened to the comments that the thread has received. */
export function snapshotOf(
  protocol: Protocol,
  state: ThreadState,
  post: Post,
  { checkpoints }: { readonly checkpoints: CheckpointSettings },
  surroundings: Surroundings = { comments: [] },
): { readonly subject: Snapshot; readonly comments: CaseRecord['comments'] } {
  if (protocol.subject !== 'thread') {
    const { around: _, ...alone } = post
    return {
      subject: {
        post: seenBy(protocol, alone),
        comments: surroundings.comments,
        leftOut: 0,
        ...(surroundings.under === undefined ? {} : { under: surroundings.under }),
      },
      comments: { accepted: 0, cap: 0, late: 0, author: 0 },
    }
  }
  // Who asks has chosen the comments.
  const finalAge = state.ref.kind === 'asked' ? Number.POSITIVE_INFINITY : checkpoints.finalAge
  const comments = state.comments.filter((comment) => comment.createdAt <= post.createdAt + finalAge)
  const { overAuthor } = state
  const cap = state.accepted - overAuthor - state.comments.length
  const late = state.late + state.comments.length - comments.length
  const { elsewhere = [] } = surroundings
  const missing = state.missing === 0 ? {} : { missing: state.missing }
  const rekeyed = state.rekeyed && cap + overAuthor > 0 ? { rekeyed: true as const } : {}
  return {
    subject: {
      post,
      comments,
      leftOut: cap,
      ...(overAuthor === 0 ? {} : { overAuthor }),
      ...(elsewhere.length === 0 ? {} : { elsewhere }),
    },
    comments: { accepted: state.accepted + state.late, cap, late, author: overAuthor, ...rekeyed, ...missing },
  }
}
