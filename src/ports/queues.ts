/** What a case needs next. */
export type Advance =
  | { readonly next: 'asks'; readonly asks: readonly StagedAsk[] }
  | { readonly next: 'done' }
  | { readonly next: 'later'; readonly delayMs: number }

/** A queued ask: ids only; the worker derives the question from the case. */
export interface StagedAsk {
  readonly protocol: string
  readonly stage: string
  readonly caseId: string
  readonly run: number
  readonly key: string
}

/** One attempt at an ask. */
export interface Attempt {
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
  | { readonly end: 'done' }
  | { readonly end: 'again' }
  | { readonly end: 'held'; readonly delayMs: number }

export interface Work {
  /** Advances a case to its next round or its end. */
  advance(caseId: string): Promise<Advance>
  /** Answers one ask. `again` costs an attempt, `held` does not. */
  answer(ask: StagedAsk, attempt: Attempt): Promise<AttemptEnd>
}

export interface StageBacklog {
  readonly protocol: string
  readonly stage: string
  readonly states: Record<'waiting' | 'active' | 'delayed', number>
  readonly oldestWaitingSeconds: number
}

/**
 * One queue for cases and one for each stage of each protocol. A case's job waits for the asks that it returned, and is
 * advanced again when all have ended; the jobs of a dead worker are started again elsewhere.
 */
export interface StageQueues {
  /** Makes sure that the case has a job; does nothing if it has one. */
  push(caseIds: readonly string[]): Promise<void>
  /** Starts processing; a stage runs at most its set number of asks at once in this process. */
  work(work: Work): void
  /** Returns those of the cases that have no live job, and clears away what is left of dead ones. */
  stranded(caseIds: readonly string[]): Promise<string[]>
  /** Removes leftover jobs of ended cases, except jobs a worker is running. */
  drop(caseIds: readonly string[]): Promise<void>
  backlog(): Promise<StageBacklog[]>
  /** Stops taking jobs, aborts attempts through their signal after `graceMs`, and closes. */
  close(graceMs: number): Promise<void>
}
