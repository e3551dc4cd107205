import type { ThreadRef } from '../domain/thread.ts'
import type { GroupProgress } from './topic.ts'

/** A published revision, as far as the store keeps it. */
export interface PublishedRevision {
  readonly protocol: string
  readonly revision: number
  readonly final: boolean
  /** It says that the subject was deleted. */
  readonly deleted: boolean
}

/** The steps of a recovery that nothing else takes. Each is atomic, and changes nothing when it is taken again. */
export interface RecoveryStore {
  /** Brings a thread's revisions up to those that were published, and gives up open cases whose revision was. */
  restore(ref: ThreadRef, published: Iterable<PublishedRevision>): Promise<{ raised: number; givenUp: number }>
  /**
   * Ends a thread that a store that lost nothing would have forgotten at this time (ms): the numbers of its revisions stay, so
   * that none is given again.
   */
  end(
    ref: ThreadRef,
    forgotten: number,
    published: Iterable<Pick<PublishedRevision, 'protocol' | 'revision'>>,
  ): Promise<unknown>
  /** Notes that this revision has seen all of the thread's `version`; nothing if one of the two has changed meanwhile. */
  settle(
    ref: ThreadRef,
    revision: { protocol: string; revision: number; version: number; seen: number },
  ): Promise<unknown>
}

/** Keeps all processes from opening cases and, soon after, from taking messages in, while the store is put together again. */
export interface StoreHold {
  /** True if they had been kept from it before. */
  hold(): Promise<boolean>
  /** While it is held: whether all revisions that were ever published are known, so that an unknown post has had none. */
  setRevisionsComplete(knowsAll: boolean): Promise<void>
  /** All go on, on a store that holds the effects of everything that the service's group has come past. */
  release(durable: GroupProgress): Promise<void>
}
