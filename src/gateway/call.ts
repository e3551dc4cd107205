import { randomUUID } from 'node:crypto'
import type { Ask } from '../domain/ask.ts'
import type { Call } from '../domain/case.ts'
import { entryOf } from '../domain/entry-of.ts'
import { type FailureCode, PermanentError, RetryLaterError } from '../domain/errors.ts'
import type { ChatMessage } from '../domain/verdict.ts'
import { type Amount, type Budgets, NOTHING, type Refused } from '../ports/budgets.ts'
import type { Clock } from '../ports/clock.ts'
import type { Limits, LimitsOf, Ticket } from '../ports/limits.ts'
import type { Model, ModelReply } from '../ports/model.ts'
import type { Report } from '../ports/report.ts'
import { type AdaptiveLimit, adaptiveLimit } from './adaptive.ts'
import type { Breaker, Pass } from './breaker.ts'
import { jsonSchema, schemaLine } from './format.ts'
import { type Heard, readReply } from './read-answer.ts'
import { type Slots, slots } from './slots.ts'
import { type TimeLimits, timeLimits } from './time-limits.ts'

/** US dollars per million tokens. */
export interface Price {
  readonly prompt: number
  readonly cached: number
  readonly completion: number
}

export interface CallSettings {
  /** Calls in flight at once from this process. */
  readonly slots: number
  /** Longest wait for one call, in ms. */
  readonly callTimeoutMs: number
  /** A stage's calls are not cut off before this, in ms, however quick they are as a rule; null: only `callTimeoutMs` counts. */
  readonly minTimeoutMs: number | null
  /** By model; a model without a price costs nothing. */
  readonly prices: Readonly<Record<string, Price>>
  /** What all processes together may ask: by model and by tenant; `default` for those that are not named. */
  readonly limits: {
    readonly models: Readonly<Record<string, LimitsOf>>
    readonly tenants: Readonly<Record<string, LimitsOf>>
  }
  /** Fewer calls in flight to a model when they take this many times as long as usual; null: never adapt. */
  readonly latencyTolerance: number | null
  /** Wait for a budget to renew, or do without. */
  readonly whenSpent: 'hold' | 'degrade'
  /** Most that one image can count as, in tokens. */
  readonly imageTokens: number
}

/** What this process has learnt of a model, and its places. */
export interface Guards {
  readonly adaptive: AdaptiveLimit
  readonly places: Slots
  readonly times: TimeLimits
}

/** Who makes a call, and for what. */
export interface Calling {
  readonly protocol: string
  readonly tenant: string
  readonly caseId: string
  /** Names the ask, the same at each try. */
  readonly askId: string
  /** 1 for the first attempt; the nth prefers the nth model of the role's chain. */
  readonly attempt: number
  /** The ask has failed if this attempt does. */
  readonly last: boolean
  /** Another model can be asked instead. */
  readonly others: boolean
  readonly signal: AbortSignal
  /** ms since 1970; no call is begun after it, and one in flight is cut off. */
  readonly deadline: number
  /** Every call is written down here as soon as it has ended, also when it throws. */
  readonly calls: Call[]
}

/** What came back of one call. */
export interface Answered {
  readonly reply: ModelReply
  readonly reading: Heard<unknown>
  readonly ms: number
}

/** One of our own rules kept the call from being made: nothing was asked, and nothing is owed. */
export class NotMade extends RetryLaterError {}

/**
 * Makes one call to a model, within what may be spent and asked: the budgets' room first, then the limits', both put right by
 * the real usage. Throws `NotMade` where it must wait, without an attempt's cost, and `PermanentError` where no waiting
 * helps.
 */
export function callOnce(deps: {
  model: Model
  limits: Limits
  budgets: Budgets
  breakers: Breaker
  settings: CallSettings
  clock: Clock
  report: Report
}) {
  const { model, limits, budgets, breakers, settings, clock, report } = deps
  const places = slots(() => settings.slots)
  const byModel = new Map<string, Guards>()

  function guardsOf(name: string): Guards {
    const known = byModel.get(name)
    if (known !== undefined) return known
    const tolerance = settings.latencyTolerance ?? Number.POSITIVE_INFINITY
    const adaptive = adaptiveLimit({ most: settings.slots, tolerance }, clock)
    const made = {
      adaptive,
      times: timeLimits({ leastMs: settings.minTimeoutMs }, clock),
      places: slots(() => (settings.latencyTolerance === null ? settings.slots : adaptive.limit)),
    }
    byModel.set(name, made)
    return made
  }

  async function call(
    ask: Ask,
    pass: Pass,
    messages: readonly ChatMessage[],
    calling: Calling,
    { adaptive, times }: Guards,
  ): Promise<Answered> {
    const name = pass.model
    const id = randomUUID()
    if (calling.deadline <= clock()) throw new PermanentError('deadline', "the case's deadline has passed")
    const atMost = boundOf(ask, messages, entryOf(settings.prices, name), settings.imageTokens)
    const [money, room] = await reserve(id, name, atMost, calling)
    let spent = NOTHING
    // Providers count the calls that they turn away.
    let counted = false
    try {
      for (const reserved of [money, room]) if (reserved.status === 'rejected') throw reserved.reason
      const started = clock()
      const timeoutMs = Math.min(settings.callTimeoutMs, Math.max(1, calling.deadline - started))
      // From here on the endpoint may charge.
      spent = atMost
      const end = adaptive.begin(ask.stage)
      const stopping = new AbortController()
      const stop = () => stopping.abort(calling.signal.reason)
      calling.signal.addEventListener('abort', stop, { once: true })
      if (calling.signal.aborted) stop()
      let tooLong: Error | null = null
      const unwatch = times.watch({
        kind: ask.stage,
        attempt: calling.attempt,
        last: calling.last,
        cut(afterMs) {
          const why = `no answer within ${afterMs} ms, where nearly all of the stage take a third of it`
          tooLong = new RetryLaterError('timeout', why)
          stopping.abort(tooLong)
        },
      })
      const ended = (outcome: string, reply?: ModelReply, lost = false) => {
        calling.signal.removeEventListener('abort', stop)
        unwatch(reply === undefined ? undefined : clock() - started)
        end(outcome === 'answered' ? 'answered' : outcome === 'rate-limited' ? 'overloaded' : 'other')
        // A wait that the case's deadline cut short says nothing of the model.
        const byDeadline = outcome === 'timeout' && tooLong === null && timeoutMs < settings.callTimeoutMs
        breakers.note(pass, byDeadline ? 'deadline' : lost ? 'unavailable' : outcome)
        const charge = reply === undefined ? undefined : chargeOf(reply, entryOf(settings.prices, name))
        calling.calls.push({ id, outcome, ...(charge === undefined ? {} : { spent: charge }) })
        report('call:ended', {
          protocol: calling.protocol,
          stage: ask.stage,
          model: name,
          outcome,
          seconds: (clock() - started) / 1000,
          promptTokens: charge?.promptTokens ?? 0,
          completionTokens: charge?.completionTokens ?? 0,
          costUsd: charge?.costUsd ?? 0,
        })
      }
      try {
        const reply = await model.complete({
          model: name,
          messages,
          temperature: ask.temperature,
          maxTokens: ask.maxTokens,
          answer: { name: ask.stage, schema: jsonSchema(ask.answer) },
          callId: id,
          timeoutMs,
          signal: stopping.signal,
        })
        counted = true
        spent = spentOn(reply, atMost, entryOf(settings.prices, name))
        const reading = readReply(reply, ask.answer)
        ended(reading.readable ? 'answered' : reading.code, reply)
        return { reply, reading, ms: clock() - started }
      } catch (thrown) {
        const error: unknown = calling.signal.aborted ? thrown : (tooLong ?? thrown)
        const outcome = error instanceof RetryLaterError || error instanceof PermanentError ? error.code : 'error'
        counted = !FREE.has(outcome) || outcome === 'rate-limited'
        if (FREE.has(outcome)) spent = NOTHING
        // With another to ask, a model that is not there is left alone; without, each ask fails with its name at once.
        ended(outcome, undefined, calling.others && error instanceof PermanentError && error.elsewhere === 'model')
        throw error
      }
    } finally {
      // A pass counts once: where no call was made, this gives it back.
      breakers.note(pass, 'not-made')
      const trouble = (where: string) => (error: unknown) => report('trouble:met', { where, error })
      const ticket = room.status === 'fulfilled' ? room.value : null
      if (ticket !== null)
        void (counted ? limits.settle(ticket, spent.tokens) : limits.refund(ticket)).catch(trouble('limits'))
      if (money.status === 'fulfilled') void budgets.settle(id, spent).catch(trouble('budgets'))
    }
  }

  /**
   * Runs what must be done before a call can be made, while the call has room: where it has none, nothing is done. All that
   * was set aside is given back, and the call sets it aside anew.
   */
  async function withRoom<Result>(
    ask: Ask,
    name: string,
    messages: readonly ChatMessage[],
    calling: Calling,
    task: () => Promise<Result>,
  ): Promise<Result> {
    const id = randomUUID()
    if (calling.deadline <= clock()) throw new PermanentError('deadline', "the case's deadline has passed")
    const atMost = boundOf(ask, messages, entryOf(settings.prices, name), settings.imageTokens)
    const reserved = await reserve(id, name, atMost, calling)
    const [money, room] = reserved
    try {
      for (const one of reserved) if (one.status === 'rejected') throw one.reason
      return await task()
    } finally {
      const ticket = room.status === 'fulfilled' ? room.value : null
      // Waited for: the call would else find its own room taken.
      const given = await Promise.allSettled([
        ticket === null ? null : limits.refund(ticket),
        money.status === 'fulfilled' ? budgets.settle(id, NOTHING) : null,
      ])
      for (const one of given)
        if (one.status === 'rejected') report('trouble:met', { where: 'gateway', error: one.reason })
    }
  }

  /** Asked for together, in one round trip: what was granted in vain is the caller's to give back. */
  function reserve(id: string, name: string, atMost: Amount, calling: Calling) {
    return Promise.allSettled([reserveMoney(id, atMost, calling), reserveRoom(name, atMost.tokens, calling)])
  }

  async function reserveMoney(ticket: string, atMost: Amount, { caseId, tenant }: Calling): Promise<void> {
    const leaseMs = settings.callTimeoutMs + LEASE_SPARE_MS
    const reserved = await budgets.reserve({ ticket, caseId, tenant, atMost, leaseMs })
    if (reserved.granted) return
    report('budget:refused', { scope: reserved.scope, unit: reserved.unit, why: reserved.why })
    throw refusedBy(reserved, settings.whenSpent)
  }

  async function reserveRoom(name: string, tokens: number, { tenant, askId }: Calling): Promise<Ticket | null> {
    const { models, tenants } = settings.limits
    const scopes = [
      { name: `model:${name}`, limits: entryOf(models, name) ?? models.default ?? {} },
      { name: `tenant:${tenant}`, limits: entryOf(tenants, tenant) ?? tenants.default ?? {} },
    ].filter(({ limits: of }) => Object.keys(of).length > 0)
    if (scopes.length === 0) return null
    const reserved = await limits.reserve(scopes, { asker: askId, tokens })
    if (reserved.granted) return reserved.ticket
    report('call:limited', { scope: reserved.scope.split(':', 1)[0] ?? '', waitMs: reserved.waitMs })
    const wait = { delayMs: reserved.waitMs, costsAttempt: false }
    throw new NotMade('limited', `the limit of ${reserved.scope} is reached`, wait)
  }

  return {
    /** Runs `task` while one of the model's places, and one of the process's, is this ask's. */
    withPlace<Result>(name: string, signal: AbortSignal, task: (guards: Guards) => Promise<Result>): Promise<Result> {
      const own = guardsOf(name)
      return own.places.run(signal, () => places.run(signal, () => task(own)))
    },
    call,
    withRoom,
    get busy() {
      return places.busy
    },
    get waiting() {
      return [...byModel.values()].reduce((sum, own) => sum + own.places.waiting, places.waiting)
    },
  }
}

/** A reservation outlives the longest call by this much. */
const LEASE_SPARE_MS = 30_000
/** A held ask comes again at least this often: a limit may have been raised, and a hold must not look like the deadline. */
const LONGEST_HOLD_MS = 30_000
/** Endpoints bill answers, not errors. */
const FREE: ReadonlySet<string> = new Set<FailureCode>(['rate-limited', 'rejected', 'unavailable', 'content-filter'])

function refusedBy({ scope, unit, why, renewsInMs }: Refused, whenSpent: CallSettings['whenSpent']): Error {
  const what = `the ${scope} budget in ${unit} (${why})`
  if (renewsInMs === null || (whenSpent === 'degrade' && why !== 'in-flight')) return new PermanentError('budget', what)
  return new NotMade('budget', what, { delayMs: Math.min(renewsInMs, LONGEST_HOLD_MS), costsAttempt: false })
}

/** Above any tokenizer's count: a token of a byte-level vocabulary is at least one byte. Put right by the real usage. */
function boundOf(ask: Ask, messages: readonly ChatMessage[], price: Price | undefined, imageTokens: number): Amount {
  const text = messages.reduce((sum, { content }) => sum + Buffer.byteLength(content) + 16, 16)
  const images = messages.reduce((sum, { images: shown = [] }) => sum + shown.length, 0)
  const prompt = text + images * imageTokens + Buffer.byteLength(schemaLine(ask.answer))
  const usd =
    price === undefined ? 0 : (prompt * Math.max(price.prompt, price.cached) + ask.maxTokens * price.completion) / 1e6
  return { tokens: prompt + ask.maxTokens, usd }
}

/** An endpoint that reports no usage is not free. */
function spentOn(reply: ModelReply, atMost: Amount, price: Price | undefined): Amount {
  const tokens = reply.promptTokens + reply.completionTokens
  return tokens === 0 ? atMost : { tokens, usd: costOf(reply, price) }
}

/** What an answer is charged with. */
export function chargeOf(reply: ModelReply, price: Price | undefined): NonNullable<Call['spent']> {
  const { promptTokens, cachedTokens, completionTokens } = reply
  return { promptTokens, cachedTokens, completionTokens, costUsd: costOf(reply, price) }
}

/** US dollars; cached prompt tokens are a part of the prompt tokens. */
function costOf(reply: ModelReply, price: Price | undefined): number {
  if (price === undefined) return 0
  const fresh = Math.max(0, reply.promptTokens - reply.cachedTokens)
  return (fresh * price.prompt + reply.cachedTokens * price.cached + reply.completionTokens * price.completion) / 1e6
}
