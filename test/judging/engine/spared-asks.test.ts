import { expect, it } from 'vitest'
import { RetryLaterError } from '../../../src/contracts/facts/errors.ts'
import { undecided } from '../../../src/contracts/facts/verdict.ts'
import { failedAttempt } from '../../../src/judging/engine/failed-attempt.ts'
import { faultsOf } from '../../../src/judging/engine/faults.ts'

const HOUR = 3_600_000
const stopped = new AbortController()
stopped.abort()

/** What comes of an error of an ask that has been held for so long, in ms. */
function became(error: RetryLaterError, { spared = true, heldMs = 0, signal = new AbortController().signal } = {}) {
  return failedAttempt(error, { signal, last: false, heldMs }, { deadline: HOUR, now: 0, spared }).next
}

const held = (code: RetryLaterError['code'], more: ConstructorParameters<typeof RetryLaterError>[2] = {}) =>
  new RetryLaterError(code, 'w', { costsAttempt: false, delayMs: 1_000, ...more })

it('what can be done without waits for no model that is away, for no money, and 10 s for its turn', () => {
  const away = held('unavailable', { awaits: 'unreachable' })
  expect([became(away), became(away, { spared: false })]).toEqual(['fail', 'retry'])
  expect(became(held('operator', { awaits: 'key' }))).toBe('fail')
  expect([became(held('budget')), became(held('budget'), { spared: false })]).toEqual(['fail', 'retry'])
  expect([became(held('limited')), became(held('limited'), { heldMs: 9_500 })]).toEqual(['retry', 'fail'])
  // Its own attempts, a stop, and a topic that takes nothing are as for every ask.
  expect(became(new RetryLaterError('timeout', 'w'))).toBe('retry')
  expect(became(away, { signal: stopped.signal })).toBe('retry')
  expect(became(held('operator', { awaits: 'publication' }), { heldMs: HOUR / 2 })).toBe('retry')
})

it('its failure is no fault of a verdict that is degraded by something else', () => {
  const failed = { stage: 'decide', failed: { code: 'timeout', detail: '' }, calls: [] }
  const faults = (spared: boolean) =>
    faultsOf({
      record: { comments: { accepted: 0, cap: 0, late: 0, author: 0 } },
      ruling: undecided('pictures left out'),
      asked: [{ key: '0.0', ask: spared ? { spared } : {} }],
      journal: new Map([['0.0', failed as never]]), // All of an entry that is read.
      lostCalls: [],
    })
  expect([faults(true), faults(false)]).toEqual([['evidence'], ['model']])
})
