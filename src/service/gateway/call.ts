import { randomUUID } from 'node:crypto'
import type { Ask } from '../domain/ask.ts'
import { entryOf } from '../domain/entry-of.ts'
import { type CallOutcome, ParameterRefused, PermanentError, RetryLaterError, type Trial } from '../domain/errors.ts'
import type { ChatMessage } from '../domain/verdict.ts'
import { type Amount, type Budgets, NOTHING } from '../ports/budgets.ts'
import type { Clock } from '../ports/clock.ts'
import type { Limits } from '../ports/limits.ts'
import type { Model, ModelReply } from '../ports/model.ts'
import type { Report } from '../ports/report.ts'
import type { Breaker, Pass } from './breaker.ts'
import type { CallContext } from './context.ts'
import { type Charge, chargeOf, type Price, spentOn, upperBound } from './cost.ts'
import { withExpected } from './expected-number.ts'
import { breakpointsIn, jsonSchema } from './format.ts'
import { callsInFlight } from './in-flight.ts'
import type { Guards } from './model-slots.ts'
import { type ReplyReading, readReply } from './read-answer.ts'
import { type Reservation, type ReservationSettings, reservations } from './reservations.ts'
import { type ThinkingSettings, withThoughtsApart } from './thinking.ts'
import { tierOf } from './tiers.ts'

export interface CallSettings extends ReservationSettings, ThinkingSettings {
  /** By model; a model without a price is free. */
  readonly prices: Readonly<Record<string, Price>>
  /** Most tokens that one image can count as. */
  readonly imageTokens: number
  /** Whether an ask that no model of its chain answers is held until one does; otherwise each fails with its name at once. */
  readonly holds: boolean
}

/** The result of one call. */
export interface CallAnswer {
  readonly reply: ModelReply
  readonly charge: Charge
  readonly reading: ReplyReading<unknown>
  readonly ms: number
}

/** Calls models, within budgets and limits. */
export interface Calls {
  /**
   * Makes one call, and one more for each parameter that the model refuses. Its upper bound is reserved first and replaced by the real usage afterwards. Throws `CallDeferred`
   * if it must wait, at no attempt's cost, `PermanentError` if waiting does not help, and whatever the model throws.
   */
  call(
    ask: Ask,
    pass: Pass,
    messages: readonly ChatMessage[],
    context: CallContext,
    guards: Guards,
    thinkingTokens: number,
  ): Promise<CallAnswer>
  /** Throws like `call` if there is no room for the call now. What is prepared for it afterwards reserves nothing. */
  checkRoom(
    ask: Ask,
    model: string,
    messages: readonly ChatMessage[],
    context: CallContext,
    thinkingTokens: number,
  ): Promise<void>
}

export function modelCalls(deps: {
  model: Model
  limits: Limits
  budgets: Budgets
  breakers: Pick<Breaker, 'note'>
  settings: CallSettings
  clock: Clock
  report: Report
}): Calls {
  const { model, settings, clock } = deps
  const reserve = reservations(deps)
  const begin = callsInFlight(deps)
  const priceOf = (name: string) => entryOf(settings.prices, name)

  function reserveFor(
    id: string,
    ask: Ask,
    name: string,
    messages: readonly ChatMessage[],
    { deadline, protocol, tenant, caseId, askId }: CallContext,
    thinkingTokens: number,
  ): { atMost: Amount; reserving: Promise<Reservation> } {
    if (deadline <= clock()) throw new PermanentError('deadline', "the case's deadline has passed")
    const { imageTokens } = settings
    const tier = tierOf(settings, protocol, ask.role)
    const atMost = upperBound(withRoom(ask, thinkingTokens), messages, priceOf(name), { imageTokens, tier })
    return { atMost, reserving: reserve({ id, model: name, tenant, caseId, askId, atMost }) }
  }

  const once =
    (
      ask: Ask,
      pass: Pass,
      messages: readonly ChatMessage[],
      context: CallContext,
      guards: Guards,
      thinkingTokens: number,
    ) =>
    async (trial?: Trial): Promise<CallAnswer> => {
      const id = randomUUID()
      const { effort } = settings.thinkingOf(pass.model)
      const { atMost, reserving } = reserveFor(id, ask, pass.model, messages, context, thinkingTokens)
      const reserved = await reserving
      let spent = NOTHING
      // Providers also count the calls that they reject.
      let counted = false
      try {
        reserved.check()
        await context.mayAsk?.()
        // From here on the endpoint may charge for the call.
        spent = atMost
        const flight = begin(id, ask, pass, context, guards)
        try {
          const said = await model.complete({
            model: pass.model,
            messages,
            temperature: ask.temperature,
            maxTokens: ask.maxTokens,
            ...(thinkingTokens === 0 ? {} : { thinkingTokens }),
            ...(effort === null ? {} : { effort }),
            ...(ask.draw === undefined ? {} : { draw: ask.draw }),
            answer: { name: ask.stage, schema: jsonSchema(ask.answer) },
            ...(ask.expected === undefined ? {} : { probabilities: true as const }),
            ...(ask.repeated ? { breakpoints: breakpointsIn(ask) } : {}),
            ...(context.others ? {} : { alone: true }),
            ...(context.apart === true ? { apart: true } : {}),
            ...(trial === undefined ? {} : { trial }),
            ...(flight.tier === undefined ? {} : { tier: flight.tier }),
            callId: id,
            timeoutMs: flight.timeoutMs,
            signal: flight.signal,
          })
          counted = true
          const reply = withThoughtsApart(said, messages)
          const given = { messages, mostWritten: ask.maxTokens + thinkingTokens, mostTokens: atMost.tokens }
          const { charge, unmetered } = chargeOf(reply, priceOf(pass.model), given)
          spent = spentOn(charge, atMost)
          const reading = readReply(reply, ask.answer)
          flight.ended(reading.readable ? 'answered' : reading.code, { reply, charge, unmetered })
          const whole = reading.readable
            ? { ...reading, answer: withExpected(ask, reading.answer, reply.probabilities) }
            : reading
          return { reply, charge, reading: whole, ms: flight.elapsedMs }
        } catch (thrown) {
          const error = flight.errorOf(thrown)
          const refusal = error instanceof PermanentError ? error : undefined
          const outcome = outcomeOf(error)
          counted = !FREE.has(outcome) || outcome === 'rate-limited'
          if (FREE.has(outcome)) spent = NOTHING
          // A model that refuses is left alone only if another can be asked or the ask is held; otherwise each ask must
          // fail with its name at once.
          const mend = context.others || settings.holds ? refusal?.mend : undefined
          flight.ended(outcome, {
            again: error instanceof ParameterRefused,
            failure: { mend, why: error instanceof Error ? error.message : '' },
            ...(refusal === undefined ? {} : { filtered: refusal.filtered }),
          })
          throw error
        }
      } finally {
        reserved.settle(spent, counted)
      }
    }

  return {
    async call(ask, pass, messages, context, guards, thinkingTokens) {
      const call = once(ask, pass, messages, context, guards, thinkingTokens)
      const asked = (trial?: Trial): Promise<CallAnswer> =>
        call(trial).catch((error: unknown) => {
          if (error instanceof ParameterRefused) return error.again(asked, context.signal)
          throw error
        })
      return asked()
    },

    async checkRoom(ask, name, messages, context, thinkingTokens) {
      const reserved = await reserveFor(randomUUID(), ask, name, messages, context, thinkingTokens).reserving
      try {
        reserved.check()
      } finally {
        // Awaited, so that the call itself does not find its own room still taken.
        await reserved.release()
      }
    },
  }
}

function outcomeOf(error: unknown): CallOutcome {
  if (error instanceof PermanentError) return error.mend === undefined ? error.code : 'operator'
  return error instanceof RetryLaterError ? error.code : 'error'
}

/** Endpoints bill answers, not errors. */
const FREE: ReadonlySet<CallOutcome> = new Set<CallOutcome>([
  'rate-limited',
  'rejected',
  'operator',
  'unavailable',
  'content-filter',
])

/** An ask that may take as many tokens more for thoughts. */
function withRoom(ask: Ask, thinkingTokens: number): Ask {
  return thinkingTokens === 0 ? ask : { ...ask, maxTokens: ask.maxTokens + thinkingTokens }
}
