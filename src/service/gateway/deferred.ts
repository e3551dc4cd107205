import { RetryLaterError } from '../domain/errors.ts'

/** One of our own rules deferred the call: nothing was sent, nothing is owed, and no attempt is used up. */
export class CallDeferred extends RetryLaterError {}

/** The breaker blocks calls to this model; another of the chain may be asked. */
export class ModelAvoided extends CallDeferred {}
