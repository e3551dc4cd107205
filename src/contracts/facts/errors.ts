import type { FilterRefusal } from './filtered.ts'

/** Why an ask, a case or a message could not be finished. A closed list: these are values of metric labels. */
export const FAILURE_CODES = [
  'unreadable',
  'refused',
  'content-filter',
  'rejected',
  'operator',
  'unavailable',
  'timeout',
  'rate-limited',
  'deadline',
  'aborted',
  'limited',
  'budget',
  'library',
  'image',
] as const
export type FailureCode = (typeof FAILURE_CODES)[number]

/** How one call to a model ended: with a readable answer, with a named failure, or with an unexpected error. */
export const CALL_OUTCOMES = ['answered', 'error', ...FAILURE_CODES] as const
export type CallOutcome = (typeof CALL_OUTCOMES)[number]

/** What the operator has to mend before an endpoint answers. */
export const OPERATOR_ACTIONS = ['quota', 'key', 'permission', 'model'] as const
export type OperatorAction = (typeof OPERATOR_ACTIONS)[number]

/** Why a model is left alone: the operator has something to mend, or it does not answer. */
export const AWAY_REASONS = [...OPERATOR_ACTIONS, 'unreachable'] as const
export type OutageReason = (typeof AWAY_REASONS)[number]

/** Trying again never helps. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError'
  readonly code: FailureCode
  /** Set if another model may do better: with this question, or because this model, or its endpoint, answers none at all. */
  readonly elsewhere: 'question' | 'model' | 'endpoint' | undefined
  /** Of a `content-filter`: the filter's findings, if it reports any. */
  readonly filtered: readonly FilterRefusal[]
  /** Set if the question has nothing to do with it: the account, the key or the settings are refused. */
  readonly operatorAction: OperatorAction | undefined
  /** Of an `image`: its place among the images of its message, from 0, once it is known. */
  imageAt: number | undefined
  /** Says what the server said of it, for whoever runs this alone: no journal and no client gets it. Undefined where it said nothing. */
  saidByServer: (() => string) | undefined
  constructor(
    code: FailureCode,
    message: string,
    options: ErrorOptions & {
      elsewhere?: 'question' | 'model' | 'endpoint' | undefined
      filtered?: readonly FilterRefusal[]
      operatorAction?: OperatorAction | undefined
    } = {},
  ) {
    super(message, options)
    this.code = code
    this.elsewhere = options.elsewhere
    this.filtered = options.filtered ?? []
    this.operatorAction = options.operatorAction
  }
}

/** What a call tries beside what its model is known to take; only the model's adapter reads it. */
export interface Trial {
  readonly changes: object
}

/**
 * A server refuses the form of a request, not its question: in another form the same question may be answered. A caller may
 * make one more call by `again`, as a call of its own; otherwise this is an error like any other.
 */
export class ParameterRefused extends PermanentError {
  /** Has the question asked once more, in its turn: one call at a time finds out what a model takes. */
  readonly again: <Result>(ask: (trial: Trial) => Promise<Result>, signal: AbortSignal) => Promise<Result>
  constructor(message: string, again: ParameterRefused['again']) {
    super('rejected', message)
    this.again = again
  }
}

/** May succeed later. Only the queue retries: code that throws this has not retried by itself. */
export class RetryLaterError extends Error {
  override readonly name = 'RetryLaterError'
  readonly code: FailureCode
  /** Shortest wait before the next try, in ms; undefined: the queue's back-off decides. */
  readonly delayMs: number | undefined
  /**
   * False if the wait costs no attempt: the other side is busy, or imposed it (Retry-After), or one of our own rules did (a budget,
   * a limit, the breaker, a question already in flight, a stop).
   */
  readonly costsAttempt: boolean
  /**
   * Set if the ask waits until a model of its chain answers again, by why none does, or until its verdict can be published: that
   * wait does not count towards its case's deadline.
   */
  readonly awaits: OutageReason | 'load' | 'publication' | undefined
  /** Whether the wait grows with how long the ask has waited; not where others are answered meanwhile. */
  readonly grows: boolean
  /** Of an `image`: its place among the images of its message, from 0, once it is known. */
  imageAt: number | undefined
  /** Says what the server said of it, for whoever runs this alone: no journal and no client gets it. Undefined where it said nothing. */
  saidByServer: (() => string) | undefined
  constructor(
    code: FailureCode,
    message: string,
    wait: {
      delayMs?: number
      costsAttempt?: boolean
      awaits?: OutageReason | 'load' | 'publication'
      grows?: boolean
      cause?: unknown
    } = {},
  ) {
    super(message, wait.cause === undefined ? undefined : { cause: wait.cause })
    this.code = code
    this.delayMs = wait.delayMs
    this.costsAttempt = wait.costsAttempt ?? true
    this.awaits = wait.awaits
    this.grows = wait.grows ?? true
  }
}

/**
 * A status of a refused request that says nothing of the question (TGI: 424): an outage, until two endpoints refuse the question so,
 * or two others are answered meanwhile.
 */
export class UnknownRefusal extends RetryLaterError {
  /** The error once it is known to be this question's. */
  ofQuestion(): PermanentError {
    return new PermanentError('rejected', `${this.message}: so is no other question`, { cause: this })
  }
}

/** The message of an error for whoever runs this, with what the server said of it in its own words. */
export function withServersWords(error: Error): string {
  const isOfServer = error instanceof PermanentError || error instanceof RetryLaterError
  const said = isOfServer ? (error.saidByServer?.() ?? '') : ''
  return said === '' ? error.message : `${error.message}: the server says "${said}"`
}

/** A person has to change something: settings, arguments, a server that is down. The message names the change. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
}
