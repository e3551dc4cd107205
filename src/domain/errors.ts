/** Why an ask, a case or a message could not be finished. A closed list: these are values of metric labels. */
export type FailureCode =
  | 'unreadable'
  | 'refused'
  | 'content-filter'
  | 'rejected'
  | 'unavailable'
  | 'timeout'
  | 'rate-limited'
  | 'deadline'
  | 'aborted'
  | 'limited'
  | 'budget'
  | 'library'
  | 'image'

/** How one call to a model ended: with a readable answer, with a named failure, or with an unexpected error. */
export type CallOutcome = 'answered' | 'error' | FailureCode

/** It will not work however often it is tried. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError'
  readonly code: FailureCode
  /** Set where another model may do better: with this question, or because this model answers none at all. */
  readonly elsewhere: 'question' | 'model' | undefined
  constructor(code: FailureCode, message: string, options: ErrorOptions & { elsewhere?: 'question' | 'model' } = {}) {
    super(message, options)
    this.code = code
    this.elsewhere = options.elsewhere
  }
}

/** It may work later. Only the queue retries: code that throws this has not retried by itself. */
export class RetryLaterError extends Error {
  override readonly name = 'RetryLaterError'
  readonly code: FailureCode
  /** Shortest wait before the next try, in ms; undefined leaves it to the queue's back-off. */
  readonly delayMs: number | undefined
  /** False for a wait that somebody else imposed (Retry-After): it costs no attempt. */
  readonly costsAttempt: boolean
  constructor(
    code: FailureCode,
    message: string,
    wait: { delayMs?: number; costsAttempt?: boolean; cause?: unknown } = {},
  ) {
    super(message, wait.cause === undefined ? undefined : { cause: wait.cause })
    this.code = code
    this.delayMs = wait.delayMs
    this.costsAttempt = wait.costsAttempt ?? true
  }
}

/** A person has to change something: settings, arguments, a server that is not there. The message says what. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
}
