import type { AskOutcome } from './report.ts'

/**
 * The next step of a case: a round's open asks, or nothing (it has ended, or another worker has it), or to be advanced
 * again later.
 */
export type Advance =
  | { readonly next: 'asks'; readonly groups: readonly AskGroup[] }
  | { readonly next: 'done' }
  | { readonly next: 'later'; readonly delayMs: number }

/** The open asks of one round at one stage that share a job. Ids only: the worker derives the questions from the case. */
export interface AskGroup {
  readonly protocol: string
  readonly stage: string
  readonly caseId: string
  /** Whose share of the stage they use, as in the case's record. */
  readonly share: string
  readonly run: number
  /** The same whenever the case is advanced to this round, whichever of its asks are still open. Unique in run and stage. */
  readonly name: string
  /** The asks, at least one. */
  readonly keys: readonly string[]
}

/** Whose share of the service each case uses, by its id. */
export type Shares = ReadonlyMap<string, string>

/** One ask of a group. */
export interface StagedAsk {
  readonly protocol: string
  readonly stage: string
  readonly caseId: string
  readonly run: number
  readonly key: string
}

/** One attempt at an ask. */
export interface Attempt extends StagedAsk {
  /** 1 for the first. */
  readonly number: number
  readonly last: boolean
  /** Time in the queue, without any set delay, in seconds. */
  readonly waitSeconds: number
  /** Total time for which this ask was deferred at no attempt's cost, in ms. */
  readonly heldMs: number
  readonly signal: AbortSignal
}

export type AttemptEnd =
  /** `advance`: nothing of the case's round is open any more, or the case has restarted; it must be advanced now. */
  | { readonly end: 'done'; readonly outcome: AskOutcome; readonly advance: boolean }
  | { readonly end: 'again'; readonly why?: string }
  | { readonly end: 'deferred'; readonly delayMs: number; readonly why?: string }

export interface Work {
  /** Advances a case to its next round or its end. `share` is whose share of the service it uses, where that is known. */
  advance(caseId: string, share?: string): Promise<Advance>
  /** Makes an attempt at an ask. `again` costs one, `deferred` does not. */
  answer(attempt: Attempt): Promise<AttemptEnd>
}

/**
 * The state of an ask without an answer. `active`: a worker has its job; `waiting`: it can be started since `readyAt`, and
 * waits for a worker; `deferred`: it can't be started before `readyAt`; `none`: it has no job, and the reconciler will give
 * its case one.
 */
export interface AskWait {
  readonly key: string
  readonly state: 'active' | 'waiting' | 'deferred' | 'none'
  /** ms since 1970; null without a job. */
  readonly readyAt: number | null
  /** Attempts made and paid for. */
  readonly tries: number
  /** Total time for which it has been deferred at no attempt's cost, in ms. */
  readonly heldMs: number
  /** The cause of its last attempt's failure; null if none is known. */
  readonly why: string | null
}

/** Asks at a stage, or cases to be advanced. Where more than a few jobs wait, the asks in them are estimated. */
export interface StageBacklog {
  readonly protocol: string
  readonly stage: string
  readonly states: Record<'waiting' | 'active' | 'delayed', number>
  readonly oldestWaitingSeconds: number
  /** For how long the ask that has been deferred longest has been so, of those of the fifty jobs that go on first; 0 if none is. */
  readonly oldestDeferredSeconds?: number
}

/**
 * One queue for cases and one for each stage of each protocol. A case's job only advances it: the groups of asks that
 * this returns are queued at their stages. The worker that gets `advance` for the answer that ends a round advances
 * the case in its place, before its own job ends. The jobs of a dead worker are started again elsewhere.
 */
export interface StageQueues {
  /**
   * Makes sure that each case has a job; does nothing for one that has. Shares take turns: of whom many cases wait already
   * goes after those of whom few do. A case without a share has its own.
   */
  push(caseIds: readonly string[], shares?: Shares): Promise<void>
  /** Starts processing; a stage runs at most its set number of asks at once in this process, and a part of it of one share. */
  work(work: Work): void
  /**
   * Returns those of the cases that nothing will continue: neither a job of the case nor one of the groups that it waits
   * for is live.
   */
  stranded(cases: readonly { readonly caseId: string; readonly groups: readonly AskGroup[] }[]): Promise<string[]>
  /** Removes the cases' own jobs, except those that a worker is running. Jobs of their asks end by themselves. */
  drop(caseIds: readonly string[]): Promise<void>
  backlog(): Promise<StageBacklog[]>
  /** Stops taking jobs, aborts attempts through their signal after `graceMs`, and closes. */
  close(graceMs: number): Promise<void>
}

/** The jobs of open cases, as a person at a command looks at them and puts them right. */
export interface JobDesk {
  /** The states of these groups' asks, in their order. */
  waits(groups: readonly AskGroup[]): Promise<AskWait[]>
  /** The groups' deferred asks may be tried now, at no attempt's cost; returns how many. Those that a worker has are left. */
  hurry(groups: readonly AskGroup[]): Promise<number>
  /** As in {@link StageQueues}. */
  push(caseIds: readonly string[]): Promise<void>
  stranded(cases: readonly { readonly caseId: string; readonly groups: readonly AskGroup[] }[]): Promise<string[]>
  drop(caseIds: readonly string[]): Promise<void>
  backlog(): Promise<StageBacklog[]>
  close(): Promise<void>
}
