import type { Ask } from '../contracts/facts/ask.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { type CallOutcome, ParameterRefused, PermanentError, RetryLaterError } from '../contracts/facts/errors.ts'
import type { FilterRefusal } from '../contracts/facts/filtered.ts'
import { noUsage } from '../contracts/facts/verdict.ts'
import { NOTHING } from '../contracts/ports/budgets.ts'
import { msSince } from '../contracts/ports/clock.ts'
import type { ModelReply, ModelRequest, QuestionPlace, Tier } from '../contracts/ports/model.ts'
import type { UnmeteredReason } from '../contracts/ports/report.ts'
import type { CallEnd } from './adaptive.ts'
import type { Pass, PassFailure } from './breaker.ts'
import type { CallReservation, CallUse } from './call-reservations.ts'
import type { AskContext, AskResult, ModelPrompt } from './context.ts'
import { type Charge, chargeOf, spentOn } from './cost.ts'
import { hasOthers, hasOthersApart, type ModelChoice } from './fallback.ts'
import { breakpointsIn, jsonSchema } from './format.ts'
import type { ModelSlot } from './model-slots.ts'
import type { GatewayState } from './parts.ts'
import { replyTo, withExpected, withOptions } from './read-answer.ts'
import { withThoughtsApart } from './thinking.ts'
import { tierOf, timeoutOf } from './time-limits.ts'

/** The pass and the slot with which a model may be called. */
export interface Admission {
  readonly pass: Pass
  readonly slot: ModelSlot
}

/** A call in flight. */
export interface CallInFlight {
  readonly pass: Pass
  readonly prompt: ModelPrompt
  readonly reservation: CallReservation
  /** The tier that it asks for. */
  readonly tier: Tier | undefined
  /** Longest wait for its answer, in ms. */
  readonly timeoutMs: number
  /** That wait, had the case's deadline not shortened it. */
  readonly longestMs: number
  readonly startedAt: number
  /** Aborted when the ask is aborted, or when the call takes too long for its stage. */
  readonly signal: AbortSignal
  /** The error of a call that was cut off; null if it was not. */
  readonly cutOff: () => Error | null
  /** Ends its time limit, and tells the model's pace how it ended; `answeredMs`: how long an answered one took, in ms. */
  readonly end: (end: CallEnd, answeredMs: number | undefined) => void
}

/** A model's reply and what it cost (`charge`); `unmetered`: why that is an estimate. */
export interface PricedReply {
  readonly reply: ModelReply
  readonly charge: Charge
  readonly unmetered: UnmeteredReason | null
  readonly use: CallUse
}

/** A call that the model answered, readably or not. */
export interface AnsweredCall {
  readonly settled: AskResult
  readonly reply: ModelReply
}

/** A call that threw: the error to throw for it, and what it used. */
export interface FailedCall {
  readonly error: unknown
  readonly use: CallUse
}

/** Begins a call: from here on the endpoint may charge for it, and it is cut off when it takes far longer than usual. */
export function beginCall(
  { settings, clock }: GatewayState,
  { protocol, subject, signal, attempt, last, deadline }: AskContext,
  { pass, slot }: Admission,
  prompt: ModelPrompt,
  reservation: CallReservation,
): CallInFlight {
  const { stage, role } = prompt.ask
  const startedAt = clock()
  const tier = tierOf(settings, protocol, role)
  const longestMs = timeoutOf(settings, tier)
  // A tier has a pace of its own.
  const kind = tier === undefined ? stage : `${stage} ${tier}`
  const stopping = new AbortController()
  const stop = () => stopping.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  let cutOff: Error | null = null
  const timeoutMs = Math.min(longestMs, Math.max(1, deadline - startedAt))
  const endPace = slot.adaptive.begin(kind)
  const unwatch = slot.times.watch({
    // Short questions of one tenant must not shorten the time that another's long ones have.
    kind: `${kind} ${subject.tenant}`,
    attempt,
    last,
    cut(afterMs) {
      const why = `call cut off after ${afterMs} ms, the limit derived from recent answers of this stage and tenant`
      cutOff = new RetryLaterError('timeout', why)
      stopping.abort(cutOff)
    },
  })
  return {
    pass,
    prompt,
    reservation,
    tier,
    timeoutMs,
    longestMs,
    startedAt,
    signal: stopping.signal,
    cutOff: () => cutOff,
    end(end, answeredMs) {
      signal.removeEventListener('abort', stop)
      unwatch(answeredMs)
      endPace(end)
    },
  }
}

/** The request to the model's adapter. */
export function requestOf(
  gateway: GatewayState,
  context: AskContext,
  choice: ModelChoice,
  { pass, prompt, reservation, tier, timeoutMs, signal }: CallInFlight,
): ModelRequest {
  const { ask, messages, thinkingTokens, trial } = prompt
  const { model } = pass
  const { effort } = gateway.settings.thinkingOf(model)
  return {
    model,
    messages,
    temperature: ask.temperature,
    maxTokens: ask.maxTokens,
    ...(thinkingTokens === 0 ? {} : { thinkingTokens }),
    ...(effort === null ? {} : { effort }),
    draw: ask.draw,
    answer: { name: ask.stage, schema: jsonSchema(ask.answer) },
    ...(ask.expected === undefined && (ask.decision === undefined || ask.fromDecided !== undefined)
      ? {}
      : { probabilities: true as const }),
    ...(ask.decision === undefined ? {} : { decision: ask.decision }),
    ...(ask.repeated ? { breakpoints: breakpointsIn(ask) } : {}),
    ...(hasOthers(choice) ? {} : { alone: true }),
    ...(hasOthersApart(gateway, choice) ? { apart: true } : {}),
    trial: trial ?? undefined,
    ...(tier === undefined ? {} : { tier }),
    of: questionPlace(context, ask),
    callId: reservation.callId,
    timeoutMs,
    signal,
  }
}

function questionPlace({ protocol, subject }: AskContext, { stage, role, label, about = [] }: Ask): QuestionPlace {
  return { protocol, subject: subject.postId, stage, role: label === undefined ? role : `${role} ${label}`, about }
}

/** The model's reply with its thoughts apart, and its cost: the real usage takes the place of what was reserved. */
export function priceReply(
  { settings }: GatewayState,
  { pass, prompt, reservation: { atMost } }: CallInFlight,
  raw: ModelReply,
): PricedReply {
  const { ask, messages, thinkingTokens } = prompt
  const reply = withThoughtsApart(raw, messages)
  const given = { messages, mostWritten: ask.maxTokens + thinkingTokens, mostTokens: atMost.tokens }
  const { charge, unmetered } = chargeOf(reply, entryOf(settings.prices, pass.model), given)
  return { reply, charge, unmetered, use: { spent: spentOn(charge, atMost), counted: true } }
}

/** Reads what the model said, and ends the call. Never throws: unreadable, refused and filtered answers are in `settled.failed`. */
export function readCall(
  gateway: GatewayState,
  context: AskContext,
  flight: CallInFlight,
  { reply, charge, unmetered }: PricedReply,
): AnsweredCall {
  const { settings, clock } = gateway
  const { ask } = flight.prompt
  const reading = replyTo(ask, reply)
  endCall(gateway, context, flight, reading.readable ? 'answered' : reading.code, { reply, charge, unmetered })
  const settled: AskResult = {
    ...(reading.readable
      ? { answer: withOptions(ask, withExpected(ask, reading.answer, reply.probabilities), reply) }
      : { answer: null, failed: { code: reading.code, detail: reading.why } }),
    raw: settings.keepThoughts ? withThoughts(reply) : reply.text,
    model: reply.model,
    usage: { ...noUsage(), calls: 1, ...charge },
    ms: msSince(clock, flight.startedAt),
    memo: false,
    ...(reply.remarks === undefined || reply.remarks.length === 0 ? {} : { remarks: [...new Set(reply.remarks)] }),
  }
  return { settled, reply }
}

/**
 * Ends a call that threw. The error to throw for it is the cut-off, if it was cut off. `use`: what it used until then; the returned one says whether
 * budgets and limits count it. Never throws.
 */
export function failCall(
  gateway: GatewayState,
  context: AskContext,
  choice: ModelChoice,
  flight: CallInFlight,
  use: CallUse,
  thrown: unknown,
): FailedCall {
  const error = context.signal.aborted ? thrown : (flight.cutOff() ?? thrown)
  const refusal = error instanceof PermanentError ? error : undefined
  const outcome = outcomeOf(error)
  const isFree = FREE.has(outcome)
  // A model that refuses is left alone only if another can be asked or the ask waits for it; otherwise each ask must fail with
  // its name at once.
  const operatorAction = hasOthers(choice) || gateway.settings.defersInOutage ? refusal?.operatorAction : undefined
  endCall(gateway, context, flight, outcome, {
    again: error instanceof ParameterRefused,
    failure: {
      action: operatorAction,
      why: error instanceof Error ? error.message : '',
      cutOff: flight.cutOff() !== null,
    },
    ...(refusal === undefined ? {} : { filtered: refusal.filtered }),
  })
  const { protocol, caseId } = context
  gateway.refused(error, { protocol, stage: flight.prompt.ask.stage, model: flight.pass.model, caseId })
  return { error, use: { spent: isFree ? NOTHING : use.spent, counted: !isFree || outcome === 'rate-limited' } }
}

/**
 * Tells how the call ended to the model's pace and breaker, to the ask's list of calls, and to the report. `failure`: what
 * the breaker gets about a failed call. `again`: another call is made under the same pass. `filtered`: what a filter found.
 * `charge`: what an answer has cost, and `unmetered` why that is an estimate.
 */
function endCall(
  { breakers, clock, report, unmeteredCalls }: GatewayState,
  context: AskContext,
  flight: CallInFlight,
  outcome: CallOutcome,
  how: {
    readonly reply?: ModelReply
    readonly charge?: Charge
    readonly unmetered?: UnmeteredReason | null
    readonly failure?: Pick<PassFailure, 'action' | 'why' | 'cutOff'>
    readonly again?: boolean
    readonly filtered?: readonly FilterRefusal[]
  },
): void {
  const { pass, prompt, startedAt, timeoutMs, longestMs } = flight
  const { reply, charge, unmetered = null, failure, again = false, filtered = reply?.filtered ?? [] } = how
  const { protocol, caseId, accountKey } = context
  const { stage } = prompt.ask
  const { model } = pass
  const { callId } = flight.reservation
  const ms = msSince(clock, startedAt)
  const end = outcome === 'answered' ? 'answered' : outcome === 'rate-limited' ? 'overloaded' : 'other'
  flight.end(end, reply === undefined ? undefined : ms)
  // A timeout that the case's deadline shortened reveals nothing about the model.
  const byDeadline = outcome === 'timeout' && flight.cutOff() === null && timeoutMs < longestMs
  if (!again) breakers.note(pass, byDeadline ? 'deadline' : outcome, { accountKey, ...failure })
  context.addCall({
    id: callId,
    outcome,
    model,
    startedAt,
    ms,
    spent: charge,
    ...(outcome === 'content-filter' ? { filtered: { model, found: [...filtered] } } : {}),
  })
  report('call:ended', {
    protocol,
    stage,
    model,
    outcome,
    seconds: ms / 1000,
    caseId,
    callId,
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
  if (error instanceof PermanentError) return error.operatorAction === undefined ? error.code : 'operator'
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
