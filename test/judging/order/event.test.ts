import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { aheadByReach, urgencyOf } from '../../../src/judging/threads/head-start.ts'
import { simulateEvent } from './event.ts'

const [MINUTE, HOUR] = [60_000, 3_600_000]

describe('the urgency of due work', () => {
  const reach = fc.double({ min: 0, max: 1e300, noNaN: true })
  const ageMs = fc.nat({ max: 1e9 })
  const cost = fc.double({ min: 1, max: 100, noNaN: true })

  it('rises with reach, with the cost of the protocol and with age', () => {
    fc.assert(
      fc.property(reach, reach, ageMs, ageMs, cost, cost, (r1, r2, age, more, c1, c2) => {
        const [low, high] = [Math.min(r1, r2), Math.max(r1, r2)]
        const [cheap, dear] = [Math.min(c1, c2), Math.max(c1, c2)]
        const protocols = [{ lateCost: cheap }]
        const least = urgencyOf({ ageMs: age, reach: low, protocols })
        expect(urgencyOf({ ageMs: age, reach: high, protocols })).toBeGreaterThanOrEqual(least)
        expect(urgencyOf({ ageMs: age, reach: low, protocols: [{ lateCost: dear }, {}] })).toBeGreaterThanOrEqual(least)
        expect(urgencyOf({ ageMs: age + more, reach: low, protocols })).toBe(least + more)
      }),
    )
  })

  it('is that of a post which came an hour earlier, for twice the reach or twice the cost', () => {
    expect(urgencyOf({ ageMs: 0, reach: 2_047 })).toBe(urgencyOf({ ageMs: HOUR, reach: 1_023 }))
    expect(urgencyOf({ ageMs: 0, protocols: [{ lateCost: 4 }] })).toBe(urgencyOf({ ageMs: 2 * HOUR }))
  })

  it('has an end, so that nothing waits for ever', () => {
    expect(aheadByReach(Number.MAX_VALUE)).toBe(33 * HOUR)
  })
})

describe('an event in which ten times as much comes as can be judged, for ten minutes', () => {
  it.each([1, 2, 3])(
    'serves at least 0.95 of the reach that could be served in time, and loses nothing: seed %i',
    async (seed) => {
      const event = { seed, perSecond: 1, load: 10, forMs: 10 * MINUTE, inTimeMs: MINUTE }
      const { posts, served, byUrgency, asItCame, othersWaitMs } = await simulateEvent(event)
      expect(served).toBe(posts)
      expect(byUrgency).toBeGreaterThanOrEqual(0.95)
      expect(byUrgency).toBeLessThanOrEqual(1)
      expect(asItCame, 'as it came').toBeLessThan(0.5)
      expect(othersWaitMs, 'of another tenant').toBeLessThanOrEqual(10_000)
    },
  )
})
