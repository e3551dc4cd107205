import { expect, test } from 'vitest'
import { type End, simulateOutage } from './outage-simulation.ts'

// One account's questions fail whenever they are asked, as at an endpoint whose firewall refuses what they quote; others', of
// which one comes every 20 s, are answered whenever they are asked.

const OTHERS = 40
const EVERY_S = 20

function simulate(asks: number, end: End) {
  const isOwn = (ask: number) => ask < asks
  const beginsAt = (ask: number) => (isOwn(ask) ? ask * 0.05 : 20 + (ask - asks) * EVERY_S)
  const waited: number[] = []
  const totals = simulateOutage({
    asks: asks + OTHERS,
    seconds: 1_800,
    begins: beginsAt,
    asker: (ask) => (isOwn(ask) ? 'one' : `other ${ask}`),
    ends: (_, seconds, ask) => {
      if (isOwn(ask)) return end
      waited.push(seconds - beginsAt(ask))
      return 'answers'
    },
  })
  return { ...totals, waited: waited.toSorted((a, b) => b - a) }
}

test.each<[string, End, number]>([
  ['refused as if there were no such model', 'model', 20],
  ['refused as if there were no such model', 'model', 400],
  ['ended by an error', 'fails', 20],
  ['ended by an error', 'fails', 400],
  ['never answered', 'hangs', 20],
  ['never answered', 'hangs', 400],
])('one account whose questions are %s (%s, %d asks) keeps nobody else from the model for long', (_, end, asks) => {
  const { waited, calls } = simulate(asks, end)
  expect(waited).toHaveLength(OTHERS)
  // A cool-down, the time within which waiting asks come back, and calls of the account's that hang in all slots.
  expect(waited[0]).toBeLessThan(30 + 30 + 2 * 60)
  expect(waited[OTHERS / 2]).toBeLessThan(60)
  expect(calls).toBeLessThan(OTHERS + 20 * asks)
})

test('nor does a quota that is spent for one account alone', () => {
  const { waited, calls } = simulate(100, 'quota')
  expect(waited).toHaveLength(OTHERS)
  expect(waited[0]).toBeLessThan(90)
  expect(calls).toBeLessThan(1_000)
})
