import { PermanentError, RetryLaterError } from '../../src/contracts/facts/errors.ts'
import { breaker, type Pass } from '../../src/models/breaker.ts'
import { ModelAvoided } from '../../src/models/context.ts'
import { outageDeferral } from '../../src/models/model-outage.ts'
import { GATEWAY } from '../support/parts.ts'

/** How a model ends a call. */
export type End = 'answers' | 'fails' | 'hangs' | 'quota' | 'model'

const ENDS = {
  fails: { outcome: 'unavailable', ms: 200, error: () => new RetryLaterError('unavailable', 'status 503') },
  hangs: { outcome: 'timeout', ms: 60_000, error: () => new RetryLaterError('timeout', 'no answer') },
  quota: {
    outcome: 'operator',
    ms: 200,
    error: () => new PermanentError('rejected', 'status 429', { operatorAction: 'quota' }),
  },
  model: {
    outcome: 'operator',
    ms: 200,
    error: () => new PermanentError('rejected', 'status 404', { operatorAction: 'model' }),
  },
} as const

/**
 * A process with `asks` asks, each of its own case, that are tried as a stage's queue would, by simulated time: what became of
 * them after `seconds`, and what that cost.
 */
export function simulateOutage(given: {
  readonly asks: number
  readonly seconds: number
  readonly chain?: readonly string[]
  readonly ends: (model: string, atSeconds: number, ask: number) => End
  /** Whose each ask is; by itself, each is of a case of its own. */
  readonly asker?: (ask: number) => string
  /** When each ask begins, in seconds. */
  readonly begins?: (ask: number) => number
}) {
  const { asks, seconds, chain = ['small'], ends, begins = () => 0, asker = (ask) => `case ${ask}` } = given
  const [attempts, slots, answerMs] = [5, 64, 1_000]
  let now = 1_000_000
  let seed = 42
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed / 2_147_483_648
  }
  const breakers = breaker({ settings: GATEWAY.breaker, clock: () => now, random })
  const deferral = outageDeferral({ breakers, clock: () => now, random })
  const totals = { answered: 0, failed: 0, tries: 0, calls: 0, lastAnswered: 0 }
  const start = now
  const later: { at: number; run: () => void }[] = []
  const after = (ms: number, run: () => void) => {
    const one = { at: now + ms, run }
    let [low, high] = [0, later.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((later[middle]?.at ?? 0) > one.at) high = middle
      else low = middle + 1
    }
    later.splice(low, 0, one)
  }
  let busy = 0
  const waiting: (() => void)[] = []
  const inSlot = (run: () => void) => {
    if (busy >= slots) return void waiting.push(run)
    busy++
    run()
  }
  const leaveSlot = () => {
    busy--
    const next = waiting.shift()
    if (next === undefined) return
    busy++
    next()
  }

  function attempt(ask: number, tries: number): void {
    totals.tries++
    const context = {
      caseId: `case ${ask}`,
      askId: `case ${ask}/0/0.0`,
      last: tries + 1 >= attempts,
      deadline: Number.POSITIVE_INFINITY,
      accountKey: asker(ask),
    }
    const beganAt = now
    const next = (thrown: unknown) => {
      const error = deferral.errorFor(thrown, chain, context)
      if (error instanceof RetryLaterError && !error.costsAttempt)
        return after(error.delayMs ?? 0, () => inSlot(() => attempt(ask, tries)))
      if (error instanceof RetryLaterError && !context.last)
        return after(1_000 * 2 ** tries, () => inSlot(() => attempt(ask, tries + 1)))
      totals.failed++
    }
    const call = (pass: Pass, left: readonly string[]) => {
      totals.calls++
      const end = ends(pass.model, (now - start) / 1_000, ask)
      if (end === 'answers')
        return after(answerMs, () => {
          breakers.note(pass, 'answered', { accountKey: context.accountKey })
          deferral.answered(chain, context, beganAt)
          totals.answered++
          totals.lastAnswered = (now - start) / 1_000
          leaveSlot()
        })
      const { outcome, ms, error } = ENDS[end]
      after(ms, () => {
        const thrown = error()
        const mend = thrown instanceof PermanentError ? thrown.operatorAction : undefined
        breakers.note(pass, outcome, { accountKey: context.accountKey, action: mend, why: thrown.message })
        const others = left.filter((model) => model !== pass.model)
        const turn = breakers.preferred(others.length === 0 ? chain : others, 1, context.accountKey)
        if (mend !== undefined && others.length > 0 && turn.retryInMs === 0) return begin(turn.model, others)
        leaveSlot()
        next(thrown)
      })
    }
    const begin = (model: string, left: readonly string[]) => {
      const allowed = breakers.allow(model, context.accountKey)
      if (allowed.ok) return call(allowed.pass, left)
      leaveSlot()
      next(new ModelAvoided('unavailable', 'no model', { delayMs: allowed.retryInMs, costsAttempt: false }))
    }
    begin(breakers.preferred(chain, tries + 1, context.accountKey).model, chain)
  }

  for (let ask = 0; ask < asks; ask++) after(begins(ask) * 1_000, () => inSlot(() => attempt(ask, 0)))
  for (let one = later.shift(); one !== undefined; one = later.shift()) {
    if (one.at - start > seconds * 1_000) break
    now = one.at
    one.run()
  }
  return { ...totals, waiting: asks - totals.answered - totals.failed }
}
