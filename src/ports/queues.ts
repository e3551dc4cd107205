/** What a case needs next. */
export type Advance =
  | { readonly next: 'asks'; readonly asks: readonly StagedAsk[] }
  | { readonly next: 'done' }
  | { readonly next: 'later'; readonly delayMs: number }

/** An ask on its way to a stage's worker: ids only; the worker derives the question from the case. */
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
  /** Time in the queue, less any set delay, in seconds. */
  readonly waitSeconds: number
  /** Time this ask was held back without costing an attempt, in ms. */
  readonly heldMs: number
  readonly signal: AbortSignal
}

export type AttemptEnd =
  | { readonly end: 'done' }
  | { readonly end: 'again' }
  | { readonly end: 'held'; readonly delayMs: number }

export interface Work {
  /** Brings a case to its next round or its end. */
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
 * One queue for cases and one for each stage of each protocol. A case's job waits while the asks it returned are answered,
 * and is advanced again when all have ended; a worker that dies has its jobs started again elsewhere.
 */
export interface StageQueues {
  /** Makes sure that the case has a job; adding it again while it has one changes nothing. */
  push(caseIds: readonly string[]): Promise<void>
  /** Starts working; a stage runs at most its set number of asks at once in this process. */
  work(work: Work): void
  /** Of these cases, the ones without any job that is alive; what is left of dead ones is cleared away. */
  stranded(caseIds: readonly string[]): Promise<string[]>
  /** Takes away what jobs are left of cases that have ended, but for those in a worker's hands. */
  drop(caseIds: readonly string[]): Promise<void>
  backlog(): Promise<StageBacklog[]>
  /** Stops taking jobs, aborts attempts through their signal after `graceMs`, and closes. */
  close(graceMs: number): Promise<void>
}
