import type { ThreadRef } from '../facts/thread.ts'
import type { RememberedThread } from './threads.ts'

/** A protocol whose last revision of a subject is to be judged again, and that revision's number. */
export interface AgainRequest {
  readonly protocol: string
  readonly revision: number
  /** It judges threads: what expired with a thread's comments is not judged by it. */
  readonly readsComments: boolean
}

/**
 * The outcome. `due`: the next revision opens as soon as it may. `newer`: a later revision is there, or on its way.
 * `deleted`: the subject was. `forgotten`: the store does not hold what the protocol reads. `changed`: the thread is no longer
 * as the caller read it.
 */
export type AgainOutcome = 'due' | 'newer' | 'deleted' | 'forgotten' | 'changed'

/** A protocol's last revision of a thread, and the version of the thread that counts as seen by it. */
export interface KnownRevision {
  readonly protocol: string
  readonly revision: number
  readonly seen: number
  readonly final: boolean
}

/** Steps that only `gavel judge-again` takes. Each is atomic; taken again they open no second revision. */
export interface JudgeAgainStore {
  /** Makes a thread due for these protocols; the outcome of each, in order. */
  ask(ref: ThreadRef, asked: readonly AgainRequest[], now: number): Promise<readonly AgainOutcome[]>
  /** Before a forgotten thread's messages are read: what is deleted from it from now on keeps it from being revived. */
  watch(refs: readonly ThreadRef[]): Promise<void>
  /**
   * Puts a thread that was forgotten, or whose comments were, into the store again, and makes it due for these protocols; the
   * outcome of each, in order. It has to be watched. `known` are the last revisions of all protocols. `readVersion`: the
   * thread's version when the caller read it, null if there was none.
   */
  revive(
    thread: RememberedThread,
    again: {
      readonly asked: readonly AgainRequest[]
      readonly known: readonly KnownRevision[]
      readonly readVersion: number | null
    },
    now: number,
  ): Promise<readonly AgainOutcome[]>
  /**
   * The turn of so many verdicts, at a rate: in how many ms they may be asked for. All runs take their turns one after the
   * other, so that several at a time ask for no more than one of them would.
   */
  turn(verdicts: number, perSecond: number, now: number): Promise<number>
  /** Until when an unfinished run of this name (its filters) looks at verdicts, ms; null if there is none. */
  begun(name: string): Promise<number | null>
  /** The same; `until` if there is none: then it begins. */
  begin(name: string, until: number): Promise<number>
  /** The run of this name has asked for all that it found. */
  finish(name: string): Promise<void>
}
