import { entryOf } from '../contracts/facts/entry-of.ts'
import { type CallOutcome, ParameterRefused, PermanentError, RetryLaterError } from '../contracts/facts/errors.ts'
import type { Filtered } from '../contracts/facts/filtered.ts'
import { noUsage } from '../contracts/facts/verdict.ts'
import { NOTHING } from '../contracts/ports/budgets.ts'
import { msSince } from '../contracts/ports/clock.ts'
import type { ModelReply, ModelRequest, Tier } from '../contracts/ports/model.ts'
import type { Unmetered } from '../contracts/ports/report.ts'
import type { Pass, PassFailure } from './breaker.ts'
import type { AskContext, Settled } from './context.ts'
import { type Charge, chargeOf, spentOn } from './cost.ts'
import { hasOthers, hasOthersApart } from './fallback.ts'
import { breakpointsIn, jsonSchema } from './format.ts'
import type { Slot } from './model-slots.ts'
import type { GatewayState } from './parts.ts'
import { readReply, withExpected } from './read-answer.ts'
import type { Reservation } from './reservations.ts'
import { withThoughtsApart } from './thinking.ts'
import { tierOf, timeoutOf } from './time-limits.ts'

/** A call in flight. */
export interface Flight {
  readonly pass: Pass
  readonly reservation: Reservation
  /** The tier that it asks for. */
  readonly tier: Tier | undefined
  /** Longest wait for its answer, in ms. */
  readonly timeoutMs: number
  /** That wait, had the case's deadline not shortened it. */
  readonly longestMs: number
  /** Aborted when the ask is aborted, or when the call takes too long for its stage. */
  readonly stopping: AbortController
  readonly stop: () => void
  readonly startedAt: number
  readonly paceEnded: ReturnType<Slot['adaptive']['begin']>
  readonly unwatch: ReturnType<Slot['times']['watch']>
  /** The error of a call that was cut off. */
  cutOff: Error | null
}

/** Begins a call: from here on the endpoint may charge for it, and it is cut off when it takes far longer than usual. */
export function beginCall({ settings, clock }: GatewayState, context: AskContext, reservation: Reservation): Flight {
  const { signal, attempt, last, now } = context
  const { pass, slot } = now
  if (pass === null || slot === null) throw new Error('a call without a pass or a slot')
  reservation.spent = reservation.atMost
  const startedAt = clock()
  const tier = tierOf(settings, context.protocol, now.ask.role)
  const longestMs = timeoutOf(settings, tier)
  // A tier has a pace of its own.
  const kind = tier === undefined ? now.ask.stage : `${now.ask.stage} ${tier}`
  const stopping = new AbortController()
  const stop = () => stopping.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const flight: Flight = {
    ...{ pass, reservation, tier, longestMs, stopping, stop, startedAt },
    timeoutMs: Math.min(longestMs, Math.max(1, context.deadline - startedAt)),
    paceEnded: slot.adaptive.begin(kind),
    unwatch: slot.times.watch({
      ...{ kind, attempt, last },
      cut(afterMs) {
        const why = `call cut off after ${afterMs} ms, the limit derived from this stage's recent answers`
        flight.cutOff = new RetryLaterError('timeout', why)
        stopping.abort(flight.cutOff)
      },
    }),
    cutOff: null,
  }
  return flight
}

/** What is sent to the model's adapter. */
export function requestOf(gateway: GatewayState, context: AskContext, flight: Flight): ModelRequest {
  const { ask, messages, thinkingTokens, trial } = context.now
  const { model } = flight.pass
  const { effort } = gateway.settings.thinkingOf(model)
  return {
    ...{ model, messages, temperature: ask.temperature, maxTokens: ask.maxTokens },
    ...(thinkingTokens === 0 ? {} : { thinkingTokens }),
    ...(effort === null ? {} : { effort }),
    ...(ask.draw === undefined ? {} : { draw: ask.draw }),
    answer: { name: ask.stage, schema: jsonSchema(ask.answer) },
    ...(ask.expected === undefined ? {} : { probabilities: true as const }),
    ...(ask.repeated ? { breakpoints: breakpointsIn(ask) } : {}),
    ...(hasOthers(context) ? {} : { alone: true }),
    ...(hasOthersApart(gateway, context) ? { apart: true } : {}),
    ...(trial === null ? {} : { trial }),
    ...(flight.tier === undefined ? {} : { tier: flight.tier }),
    callId: flight.reservation.callId,
    timeoutMs: flight.timeoutMs,
    signal: flight.stopping.signal,
  }
}

/** Reads what the model said. Its real usage takes the place of what was reserved. */
export function answered(gateway: GatewayState, context: AskContext, flight: Flight, said: ModelReply): Settled {
  const { settings, clock } = gateway
  const { ask, messages, thinkingTokens } = context.now
  const { pass, reservation } = flight
  reservation.counted = true
  const reply = withThoughtsApart(said, messages)
  context.now.reply = reply
  const mostTokens = reservation.atMost.tokens
  const given = { messages, mostWritten: ask.maxTokens + thinkingTokens, mostTokens }
  const { charge, unmetered } = chargeOf(reply, entryOf(settings.prices, pass.model), given)
  reservation.spent = spentOn(charge, reservation.atMost)
  const reading = readReply(reply, ask.answer)
  endCall(gateway, context, flight, reading.readable ? 'answered' : reading.code, { reply, charge, unmetered })
  return {
    ...(reading.readable
      ? { answer: withExpected(ask, reading.answer, reply.probabilities) }
      : { answer: null, failed: { code: reading.code, detail: reading.why } }),
    raw: settings.keepThoughts ? withThoughts(reply) : reply.text,
    model: reply.model,
    usage: { ...noUsage(), calls: 1, ...charge },
    ms: msSince(clock, flight.startedAt),
    memo: false,
    ...(reply.remarks === undefined || reply.remarks.length === 0 ? {} : { remarks: [...new Set(reply.remarks)] }),
  }
}

/** Returns the error to throw for what the call threw: the cut-off, if it was cut off. */
export function failed(gateway: GatewayState, context: AskContext, flight: Flight, thrown: unknown): unknown {
  const { reservation } = flight
  const error = context.signal.aborted ? thrown : (flight.cutOff ?? thrown)
  const refusal = error instanceof PermanentError ? error : undefined
  const outcome = outcomeOf(error)
  const isFree = FREE.has(outcome)
  reservation.counted = !isFree || outcome === 'rate-limited'
  if (isFree) reservation.spent = NOTHING
  // A model that refuses is left alone only if another can be asked or the ask is held; otherwise each ask must fail with
  // its name at once.
  const mend = hasOthers(context) || gateway.settings.holds ? refusal?.mend : undefined
  endCall(gateway, context, flight, outcome, {
    again: error instanceof ParameterRefused,
    failure: { mend, why: error instanceof Error ? error.message : '' },
    ...(refusal === undefined ? {} : { filtered: refusal.filtered }),
  })
  return error
}

/**
 * Tells how the call ended to the model's pace and breaker, to the ask's list of calls, and to the report. `failure`: what
 * the breaker is told of a failed call. `again`: another call is made under the same pass. `filtered`: what a filter found.
 * `charge`: what an answer has cost, and `unmetered` why that is an estimate.
 */
function endCall(
  { breakers, clock, report, unmeteredCalls }: GatewayState,
  context: AskContext,
  flight: Flight,
  outcome: CallOutcome,
  how: {
    readonly reply?: ModelReply
    readonly charge?: Charge
    readonly unmetered?: Unmetered | null
    readonly failure?: Pick<PassFailure, 'mend' | 'why'>
    readonly again?: boolean
    readonly filtered?: readonly Filtered[]
  },
): void {
  const { pass, cutOff, timeoutMs, longestMs } = flight
  const { reply, charge, unmetered = null, failure, again = false, filtered = reply?.filtered ?? [] } = how
  const { protocol, caseId, asker, signal } = context
  const { stage } = context.now.ask
  const { model } = pass
  const { callId } = flight.reservation
  const ms = msSince(clock, flight.startedAt)
  signal.removeEventListener('abort', flight.stop)
  flight.unwatch(reply === undefined ? undefined : ms)
  flight.paceEnded(outcome === 'answered' ? 'answered' : outcome === 'rate-limited' ? 'overloaded' : 'other')
  // A timeout that the case's deadline shortened says nothing about the model.
  const byDeadline = outcome === 'timeout' && cutOff === null && timeoutMs < longestMs
  if (!again) breakers.note(pass, byDeadline ? 'deadline' : outcome, { asker, ...failure })
  context.calls.push({
    ...{ id: callId, outcome, model, startedAt: flight.startedAt, ms },
    ...(charge === undefined ? {} : { spent: charge }),
    ...(outcome === 'content-filter' ? { filtered: { model, found: [...filtered] } } : {}),
  })
  report('call:ended', {
    ...{ protocol, stage, model, outcome, seconds: ms / 1000, caseId, callId },
    promptTokens: charge?.promptTokens ?? 0,
    completionTokens: charge?.completionTokens ?? 0,
    thinkingTokens: charge?.thinkingTokens ?? 0,
    costUsd: charge?.costUsd ?? 0,
    ...(unmetered === null ? {} : { unmetered }),
  })
  if (unmetered !== null) unmeteredCalls(model, unmetered)
  if (outcome === 'content-filter') report('call:filtered', { protocol, stage, model, caseId, found: filtered })
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

function withThoughts({ text, thoughts }: ModelReply): string | null {
  return thoughts === undefined ? text : `<think>${thoughts}</think>\n${text ?? ''}`
}
