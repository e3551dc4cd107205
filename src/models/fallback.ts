import { entryOf } from '../contracts/facts/entry-of.ts'
import { type FailureCode, PermanentError, RetryLaterError, UnknownRefusal } from '../contracts/facts/errors.ts'
import { OTHER_SCALE } from '../contracts/facts/scales.ts'
import type { Pass } from './breaker.ts'
import { type AskContext, type AskResult, CallDeferred, ModelAvoided } from './context.ts'
import type { GatewaySettings, GatewayState } from './parts.ts'
import { scalesOf } from './scales.ts'

/** The model whose turn it is, and in `remaining` those of its chain that may still be asked, itself among them, in order of preference. */
export interface ModelChoice {
  readonly chain: readonly string[]
  readonly remaining: readonly string[]
  readonly model: string
  /** The endpoint that has refused the question with a status that says nothing of it. */
  readonly unknownAt?: string
}

/** A pass that was acquired, and the function that releases it. */
export interface TakenPass {
  readonly pass: Pass
  readonly release: () => void
}

/** The models for a role's asks, in order of preference. */
export function chainOf(roles: GatewaySettings['roles'], protocol: string, role: string): readonly string[] {
  return entryOf(roles, `${protocol}.${role}`) ?? entryOf(roles, role) ?? roles.default ?? []
}

/**
 * Every model of the chain may be asked that keeps to the question's scales; the breaker chooses the one with the first turn. Throws
 * `PermanentError` (rejected) if no model is set for the role, or none keeps to them. Nor is a remembered answer of such a model taken:
 * it may mean the opposite.
 */
export function firstChoice(
  { settings, breakers }: GatewayState,
  { ask, attempt, accountKey }: AskContext,
  chain: readonly string[],
): ModelChoice {
  if (chain.length === 0) throw new PermanentError('rejected', `no model is set for the role ${ask.role}`)
  const scales = scalesOf(ask.answer)
  const isKept = (model: string) => !settings.withoutScalesOf(model).some((scale) => scales.includes(scale))
  const remaining = scales.length === 0 ? chain : chain.filter(isKept)
  if (remaining.length === 0) throw new PermanentError('rejected', OTHER_SCALE)
  return { chain, remaining, model: breakers.preferred(remaining, attempt, accountKey).model }
}

/**
 * Gives the turn to the next model, after this one failed. Throws the error where another would not help (a limit, a budget, a named
 * wait of at most `LONG_WAIT_MS`), or none may be called now; throws that it is the question's, where a second endpoint does not know
 * what to say of it either.
 */
export function fallBack(
  { settings, breakers }: GatewayState,
  { accountKey }: AskContext,
  { chain, remaining, model, unknownAt }: ModelChoice,
  error: unknown,
): ModelChoice {
  const { endpointOf } = settings
  const isUnknown = error instanceof UnknownRefusal
  if (isUnknown && unknownAt !== undefined && unknownAt !== endpointOf(model)) throw error.ofQuestion()
  const noneHere = error instanceof PermanentError && error.elsewhere === 'endpoint'
  const mayBeAsked = (other: string) => (noneHere ? endpointOf(other) !== endpointOf(model) : other !== model)
  const others = remaining.filter(mayBeAsked)
  if (others.length === 0 || !anotherMayDoBetter(error, settings.onFiltered)) throw error
  const next = breakers.preferred(others, 1, accountKey)
  if (next.retryInMs > 0) throw error
  const at = unknownAt ?? (isUnknown ? endpointOf(model) : undefined)
  return { chain, remaining: others, model: next.model, ...(at === undefined ? {} : { unknownAt: at }) }
}

/** Whether another model can be asked instead of the one whose turn it is; and whether one of another endpoint can. */
export function hasOthers({ remaining, model }: ModelChoice): boolean {
  return remaining.some((other) => other !== model)
}

export function hasOthersApart({ settings: { endpointOf } }: GatewayState, { remaining, model }: ModelChoice): boolean {
  return remaining.some((other) => endpointOf(other) !== endpointOf(model))
}

/** Takes a pass to call the model whose turn it is. Throws `ModelAvoided` where the breaker blocks it. */
export function acquirePass(gateway: GatewayState, context: AskContext, { chain, model }: ModelChoice): TakenPass {
  const { breakers } = gateway
  const allowed = breakers.allow(model, context.accountKey)
  if (!allowed.ok) throw avoidedError(gateway, context, chain, allowed.retryInMs)
  const { pass } = allowed
  // Only the first note of a pass counts: this one, if no call was made.
  return { pass, release: () => breakers.note(pass, 'not-made') }
}

/** The error where a model may not be called for so long, in ms: the ask is tried again when one of its chain may be. */
export function avoidedError(
  { breakers }: GatewayState,
  { attempt, accountKey, ask }: AskContext,
  chain: readonly string[],
  retryInMs: number,
): ModelAvoided {
  const delayMs = Math.min(retryInMs, breakers.preferred(chain, attempt, accountKey).retryInMs)
  const why = `no model available for role ${ask.role} (circuit breakers open)`
  return new ModelAvoided('unavailable', why, { delayMs, costsAttempt: false })
}

/** Throws `PermanentError` (content-filter) if an endpoint's filter refused the question, and another model is to be asked for that. What was paid for stands in the ask's calls. */
export function throwIfFiltered({ settings }: GatewayState, choice: ModelChoice, { failed }: AskResult): void {
  // A filter refuses with an error, or in an answer.
  if (failed?.code === FILTERED && settings.onFiltered === 'next' && hasOthers(choice))
    throw new PermanentError(FILTERED, failed.detail)
}

/** If another model can be asked, a wait longer than this, in ms, is not waited for. */
const LONG_WAIT_MS = 10_000

const FILTERED: FailureCode = 'content-filter'

function anotherMayDoBetter(error: unknown, onFiltered: GatewaySettings['onFiltered']): boolean {
  if (error instanceof CallDeferred) return error instanceof ModelAvoided
  if (error instanceof PermanentError)
    return error.code === FILTERED ? onFiltered === 'next' : error.elsewhere !== undefined
  // Nobody knows how long a busy one will be that names no wait.
  if (!(error instanceof RetryLaterError)) return false
  if (error instanceof UnknownRefusal) return true
  return error.delayMs === undefined ? error.code === 'rate-limited' : error.delayMs > LONG_WAIT_MS
}
