import { RetryLaterError } from '../domain/errors.ts'

/** One of our own rules put the call off: nothing was asked, nothing is owed, and no attempt is used up. */
export class CallDeferred extends RetryLaterError {}

/** The breaker keeps calls away from this model; another of the chain may be asked. */
export class ModelAvoided extends CallDeferred {}
