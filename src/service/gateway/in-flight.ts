import type { Ask } from '../domain/ask.ts'
import { type CallOutcome, RetryLaterError } from '../domain/errors.ts'
import type { Filtered } from '../domain/filtered.ts'
import type { Clock } from '../ports/clock.ts'
import type { ModelReply, Tier } from '../ports/model.ts'
import type { Report, Unmetered } from '../ports/report.ts'
import type { Breaker, Pass, PassFailure } from './breaker.ts'
import { askerOf, type CallContext } from './context.ts'
import type { Charge } from './cost.ts'
import type { Guards } from './model-slots.ts'
import { type TierSettings, tierOf, timeoutOf } from './tiers.ts'

/** A call that has begun. */
export interface CallInFlight {
  /** The tier that it asks for. */
  readonly tier?: Tier
  /** Longest wait for its answer, in ms. */
  readonly timeoutMs: number
  /** Aborted when the ask is aborted, or when the call takes too long for its stage. */
  readonly signal: AbortSignal
  readonly elapsedMs: number
  /** The error to throw for what the call threw: the cut-off, if it was cut off. */
  errorOf(thrown: unknown): unknown
  /**
   * Reports how the call ended to the model's pace and breaker, to the ask's list of calls, and to the report. `failure`:
   * what the breaker is told of a failed call. `again`: another call is made under the same pass. `filtered`: what a filter
   * found. `charge`: what an answer has cost, and `unmetered` why that is an estimate.
   */
  ended(
    outcome: CallOutcome,
    how?: {
      readonly reply?: ModelReply
      readonly charge?: Charge
      readonly unmetered?: Unmetered | null
      readonly failure?: Pick<PassFailure, 'mend' | 'why'>
      readonly again?: boolean
      readonly filtered?: readonly Filtered[]
    },
  ): void
}

export function callsInFlight(deps: {
  breakers: Pick<Breaker, 'note'>
  settings: TierSettings
  clock: Clock
  report: Report
}) {
  const { breakers, settings, clock, report } = deps
  const unmeteredCalls = unmeteredReports(report, clock)
  return (id: string, ask: Ask, pass: Pass, context: CallContext, { adaptive, times }: Guards): CallInFlight => {
    const started = clock()
    const tier = tierOf(settings, context.protocol, ask.role)
    const longestMs = timeoutOf(settings, tier)
    const timeoutMs = Math.min(longestMs, Math.max(1, context.deadline - started))
    // A tier has a pace of its own.
    const kind = tier === undefined ? ask.stage : `${ask.stage} ${tier}`
    const paceEnded = adaptive.begin(kind)
    const stopping = new AbortController()
    const stop = () => stopping.abort(context.signal.reason)
    context.signal.addEventListener('abort', stop, { once: true })
    if (context.signal.aborted) stop()
    let tooLong: Error | null = null
    const unwatch = times.watch({
      kind,
      attempt: context.attempt,
      last: context.last,
      cut(afterMs) {
        const why = `call cut off after ${afterMs} ms, the limit derived from this stage's recent answers`
        tooLong = new RetryLaterError('timeout', why)
        stopping.abort(tooLong)
      },
    })
    return {
      ...(tier === undefined ? {} : { tier }),
      timeoutMs,
      signal: stopping.signal,
      get elapsedMs() {
        return clock() - started
      },
      errorOf: (thrown) => (context.signal.aborted ? thrown : (tooLong ?? thrown)),
      ended(
        outcome,
        { reply, charge, unmetered = null, failure, again = false, filtered = reply?.filtered ?? [] } = {},
      ) {
        const ms = clock() - started
        context.signal.removeEventListener('abort', stop)
        unwatch(reply === undefined ? undefined : ms)
        paceEnded(outcome === 'answered' ? 'answered' : outcome === 'rate-limited' ? 'overloaded' : 'other')
        // A timeout that the case's deadline shortened says nothing about the model.
        const byDeadline = outcome === 'timeout' && tooLong === null && timeoutMs < longestMs
        if (!again) breakers.note(pass, byDeadline ? 'deadline' : outcome, { asker: askerOf(context), ...failure })
        context.calls.push({
          ...{ id, outcome },
          ...(charge === undefined ? {} : { spent: charge }),
          ...(outcome === 'content-filter' ? { filtered: { model: pass.model, found: [...filtered] } } : {}),
        })
        report('call:ended', {
          protocol: context.protocol,
          stage: ask.stage,
          model: pass.model,
          outcome,
          seconds: ms / 1000,
          promptTokens: charge?.promptTokens ?? 0,
          completionTokens: charge?.completionTokens ?? 0,
          thinkingTokens: charge?.thinkingTokens ?? 0,
          costUsd: charge?.costUsd ?? 0,
          ...(unmetered === null ? {} : { unmetered }),
          ...{ caseId: context.caseId, callId: id },
        })
        if (unmetered !== null) unmeteredCalls(pass.model, unmetered)
        if (outcome === 'content-filter')
          report('call:filtered', {
            ...{ protocol: context.protocol, stage: ask.stage, model: pass.model, caseId: context.caseId },
            found: filtered,
          })
      },
    }
  }
}

/** A model whose usage is not known is named once in this time. */
const NAMED_AGAIN_MS = 3_600_000

/** Reports that a model's usage is not known, and why: once in an hour for each reason. */
function unmeteredReports(report: Report, clock: Clock) {
  const named = new Map<string, number>()
  return (model: string, why: Unmetered): void => {
    const last = named.get(`${why} ${model}`)
    if (last !== undefined && clock() - last < NAMED_AGAIN_MS) return
    named.set(`${why} ${model}`, clock())
    report('model:unmetered', { model, why })
  }
}
