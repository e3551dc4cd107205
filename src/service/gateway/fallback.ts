import type { Ask } from '../domain/ask.ts'
import { entryOf } from '../domain/entry-of.ts'
import { type FailureCode, PermanentError, RetryLaterError } from '../domain/errors.ts'
import type { ChatMessage } from '../domain/verdict.ts'
import type { AskModel } from './ask-model.ts'
import type { Breaker } from './breaker.ts'
import { type AskContext, askerOf } from './context.ts'
import { CallDeferred, ModelAvoided } from './deferred.ts'
import type { Paid } from './paid.ts'

/** Models by PROTOCOL.ROLE or ROLE, in order of preference; `default` for other roles. */
export type Roles = Readonly<Record<string, readonly string[]>>

/** Whether another model of the chain is asked where an endpoint's filter refused a question. */
export type OnFiltered = 'stop' | 'next'

/** The models for a role's asks, in order of preference. */
export function chainOf(roles: Roles, protocol: string, role: string): readonly string[] {
  return entryOf(roles, `${protocol}.${role}`) ?? entryOf(roles, role) ?? roles.default ?? []
}

/** The models that one ask tries in turn, each once. */
export interface FallbackChain {
  readonly first: string
  /** Asks this model. `ask` may be a subset of the ask's batch. */
  pay(ask: Ask, messages: readonly ChatMessage[], model: string): Promise<Paid>
  /** The model to ask after another failed with this error; null if the error is the ask's own, or no model is left. */
  instead(error: unknown, model: string): string | null
}

/** Throws if the breaker blocks every model of the chain: the ask is tried again when one may be called. */
export function avoided(
  breakers: Pick<Breaker, 'preferred'>,
  { role }: Ask,
  chain: readonly string[],
  { attempt, asker }: { readonly attempt: number; readonly asker: string },
): (retryInMs: number) => never {
  return (retryInMs) => {
    const delayMs = Math.min(retryInMs, breakers.preferred(chain, attempt, asker).retryInMs)
    const why = `no model available for role ${role} (circuit breakers open)`
    throw new ModelAvoided('unavailable', why, { delayMs, costsAttempt: false })
  }
}

export function fallbackChain(
  deps: {
    askModel: AskModel
    breakers: Pick<Breaker, 'preferred'>
    onFiltered: OnFiltered
    endpointOf: (model: string) => string
  },
  ask: Ask,
  chain: readonly string[],
  context: AskContext,
): FallbackChain {
  const { askModel, breakers, onFiltered, endpointOf } = deps
  const isApart = (one: string, other: string) => endpointOf(one) !== endpointOf(other)
  const asker = askerOf({ ...context, tenant: context.subject.tenant })
  const refused = avoided(breakers, ask, chain, { attempt: context.attempt, asker })
  let left = chain
  return {
    first: breakers.preferred(chain, context.attempt, asker).model,
    async pay(asked, messages, model) {
      const others = left.some((other) => other !== model)
      const apart = left.some((other) => isApart(other, model))
      const paid = await askModel(asked, model, messages, { ...context, others, apart }, refused)
      // A filter refuses with an error, or in an answer. What was paid for stands in the ask's calls.
      if (paid.failed?.code === FILTERED && others && onFiltered === 'next')
        throw new PermanentError(FILTERED, paid.failed.detail)
      return paid
    },
    instead(error, model) {
      const noneHere = error instanceof PermanentError && error.elsewhere === 'endpoint'
      left = left.filter((other) => (noneHere ? isApart(other, model) : other !== model))
      if (left.length === 0 || !anotherMayDoBetter(error, onFiltered)) return null
      const next = breakers.preferred(left, 1, asker)
      return next.retryInMs === 0 ? next.model : null
    },
  }
}

/** Asks the first model, then any other that may do better, until one has answered. */
export async function payInTurn(chain: FallbackChain, ask: Ask, messages: readonly ChatMessage[]): Promise<Paid> {
  for (let model = chain.first; ; ) {
    try {
      return await chain.pay(ask, messages, model)
    } catch (error) {
      const next = chain.instead(error, model)
      if (next === null) throw error
      model = next
    }
  }
}

/** If another model can be asked, a wait longer than this, in ms, is not waited for. */
const LONG_WAIT_MS = 10_000

const FILTERED: FailureCode = 'content-filter'

function anotherMayDoBetter(error: unknown, onFiltered: OnFiltered): boolean {
  if (error instanceof CallDeferred) return error instanceof ModelAvoided
  if (error instanceof PermanentError)
    return error.code === FILTERED ? onFiltered === 'next' : error.elsewhere !== undefined
  return error instanceof RetryLaterError && (error.delayMs ?? 0) > LONG_WAIT_MS
}
