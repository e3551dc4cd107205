import type { ThreadRef } from '../facts/thread.ts'

/** A case that was shown content of some subject. */
export interface ExposedCase {
  readonly ref: ThreadRef
  readonly protocol: string
  readonly caseId: string
}

/** The erasures that wait: how much, and since when the longest has waited, ms since 1970; null if nothing waits. */
export interface WaitingErasures {
  readonly count: number
  readonly oldest: number | null
}

/** Which owners were deleted, as far as anything of theirs may still be shown. An owner is a subject's hash (`ownerOf`). */
export interface DeletedOwners {
  deletedAmong(owners: readonly string[]): Promise<ReadonlySet<string>>
}

/**
 * Deletions whose traces outside of their own threads are still to be erased. A deletion puts its owner here in its own
 * atomic step; from then on nothing of the owner is shown or sent. All steps are repeatable, in any process.
 */
export interface Erasures extends DeletedOwners {
  /** Notes that the subject was deleted, as `ThreadStore.deletePost` does. */
  note(subject: ThreadRef): Promise<void>
  /** Whether the named process is the one that does this now; it is for `leaseMs` after its last call. */
  lead(what: 'shelves' | 'cases' | 'authors' | 'jetstream', name: string, leaseMs: number): Promise<boolean>
  /**
   * Whether a process can tell that shelves hold nothing: not if its library is empty (`holds` false) while another's has
   * ever held something, since then its folder is not the library's.
   */
  knowsShelves(holds: boolean): Promise<boolean>
  /** Owners that may still be on shelves, those first that have waited longest, but for the first `skip`. */
  onShelves(limit: number, skip?: number): Promise<readonly string[]>
  /** All deleted owners, some at a time: each that is one all the while at least once. */
  deletedOwners(): AsyncIterable<readonly string[]>
  /**
   * The shelves hold nothing more of these. Who owned nothing, and was shown to no case, is a deleted owner no longer; the
   * others are for a while, also where they are deleted again: lookups and writers under way, and copies of the library, may
   * still know them.
   */
  shelvesErased(owners: readonly string[], owned: ReadonlySet<string>): Promise<void>
  /** Owners of whose content cases were shown something, those first that have waited longest. */
  inCases(limit: number): Promise<readonly string[]>
  /** Some of the cases that were shown content of the owner, and are not cleaned. */
  shownTo(owner: string, limit: number): Promise<readonly ExposedCase[]>
  /** These cases hold nothing more of the owner; with the last of them the owner no longer waits. Returns how many are left. */
  casesCleaned(owner: string, cases: readonly ExposedCase[]): Promise<number>
  /** Lets withheld cases go on, those first that have waited longest; returns their ids. */
  release(limit: number): Promise<readonly string[]>
  /** Forgets owners that were erased everywhere longer than `keepMs` ago. */
  expire(keepMs: number): Promise<void>
  waiting(): Promise<{ readonly shelves: WaitingErasures; readonly cases: WaitingErasures }>
}
