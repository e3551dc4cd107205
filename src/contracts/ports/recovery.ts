import type { ThreadRef } from '../facts/thread.ts'
import type { MessagePlace } from './threads.ts'
import type { GroupProgress } from './topic.ts'

/** A published revision, as the store keeps it. */
export interface PublishedRevision {
  readonly protocol: string
  readonly revision: number
  readonly final: boolean
  /** It is a retraction: the subject was deleted. */
  readonly deleted: boolean
  /** It was published with two contents: the next revision is due, as if nobody knew what it saw. */
  readonly contested: boolean
}

/** The last human decision on a subject in a protocol, as it was published. */
export interface PublishedEffect {
  readonly protocol: string
  /** The id of the verdict that it brought about; null if the subject was judged anew. */
  readonly verdict: string | null
  /** A human verdict that stands; else what took its place. */
  readonly stands: boolean
  /** The number of the last verdict that people brought about. */
  readonly revision: number
  readonly label: string | null
  readonly of: string
  readonly by: string
  readonly place: MessagePlace
  /** The part that its repeats share with it; null if unknown. */
  readonly same: string | null
  /** The reviews that were requested. */
  readonly asked: readonly string[]
  /** The highest number that machines' rulings have had, proposals among them; 0 for none. */
  readonly proposal: number
  /** Its outcome is not on its topic. */
  readonly isUntold: boolean
}

/** Steps that only a recovery takes. Each is atomic, and repeating it changes nothing. */
export interface RecoveryStore {
  /** Raises a thread's revisions to the published ones, and drops open cases whose revision was published. */
  restore(ref: ThreadRef, published: Iterable<PublishedRevision>): Promise<{ raised: number; givenUp: number }>
  /**
   * Ends a thread that a store that lost nothing would have forgotten at this time (ms): its revision numbers stay, so
   * that none is given again.
   */
  end(
    ref: ThreadRef,
    forgotten: number,
    published: Iterable<Pick<PublishedRevision, 'protocol' | 'revision'>>,
  ): Promise<unknown>
  /** Puts what people decided of a thread beside it again, where the store does not know as much. */
  restoreDecided(ref: ThreadRef, carriedOut: readonly PublishedEffect[]): Promise<unknown>
  /** Notes that a subject was deleted, so that shelves and cases lose what they hold of it. */
  noteDeleted(ref: ThreadRef): Promise<unknown>
  /** Notes that this revision has seen all of the thread's `version`; does nothing if either has changed meanwhile. */
  settle(
    ref: ThreadRef,
    revision: { protocol: string; revision: number; version: number; seen: number },
  ): Promise<unknown>
}

/** Stops all processes from opening cases and, soon after, from reading messages, while the store is rebuilt. */
export interface StoreSuspension {
  /** Returns true if they were already stopped. */
  hold(): Promise<boolean>
  /** While on hold: whether all revisions that were ever published are known, so that an unknown post has had none. */
  setRevisionsComplete(knowsAll: boolean): Promise<void>
  /**
   * All resume, on a store that has the effects of everything up to the group's offsets. False, and they stay stopped, if
   * the store may have lost some of what was written since the hold. Throws an `OperatorError` if another recovery has begun
   * since.
   */
  release(durable: GroupProgress): Promise<boolean>
}
