import { expect, test } from 'vitest'
import { type End, simulateOutage } from './outage-simulation.ts'

/** Whether the nth call is one of this share. */
const sometimes = (share: number) => {
  let calls = 0
  return () => Math.floor(++calls * share) > Math.floor((calls - 1) * share)
}

test.each<[string, End]>([
  ['has no quota', 'quota'],
  ['does not answer', 'fails'],
  ['hangs', 'hangs'],
])(
  'a thousand asks that wait while the model %s cost some forty tries a second, few calls, and are all answered',
  (_, end) => {
    const { answered, failed, tries, calls, lastAnswered } = simulateOutage({
      asks: 1_000,
      seconds: 900,
      ends: (__, seconds) => (seconds < 300 ? end : 'answers'),
    })
    expect([answered, failed]).toEqual([1_000, 0])
    expect(calls).toBeLessThan(1_000 + 150)
    expect(tries).toBeLessThan(300 * 45)
    expect(lastAnswered).toBeLessThan(300 + 240)
  },
)

test('an endpoint that answers one call in twenty ends no ask, and answers all when it is well again', () => {
  const isAnswered = sometimes(0.05)
  const { answered, failed } = simulateOutage({
    asks: 300,
    seconds: 1_200,
    begins: (ask: number) => ask,
    ends: (_, seconds) => (seconds > 400 || isAnswered() ? 'answers' : 'fails'),
  })
  expect([answered, failed]).toEqual([300, 0])
})

test('one of four keys without quota costs asks no more than its share', () => {
  const isRefused = sometimes(0.25)
  const { answered, calls, lastAnswered } = simulateOutage({
    asks: 600,
    seconds: 400,
    begins: (ask: number) => ask / 5,
    ends: () => (isRefused() ? 'quota' : 'answers'),
  })
  expect(answered).toBe(600)
  expect(calls).toBeLessThanOrEqual(800)
  expect(lastAnswered).toBeLessThan(140)
})

test('quota gone for the first of a chain defers nothing, and the first is asked for it now and then', () => {
  const { answered, failed, tries, calls } = simulateOutage({
    asks: 500,
    seconds: 300,
    chain: ['small', 'large'],
    begins: (ask: number) => ask / 5,
    ends: (model) => (model === 'small' ? 'quota' : 'answers'),
  })
  expect([answered, failed, tries]).toEqual([500, 0, 500])
  expect(calls).toBeLessThan(530)
})

test.each<[string, End]>([
  ['fails', 'fails'],
  ['is told that there is no such model', 'model'],
])(
  'after an outage that deferred them all, a question that always %s ends by its own doing, and no other does',
  (_, end) => {
    const { answered, failed } = simulateOutage({
      asks: 300,
      seconds: 1_200,
      begins: (ask: number) => ask / 2,
      ends: (__, seconds, ask) => (ask < 3 ? end : seconds < 100 ? 'fails' : 'answers'),
    })
    expect([answered, failed]).toEqual([297, 3])
  },
)
