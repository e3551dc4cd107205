import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { adaptiveLimit, type CallEnd } from '../../src/gateway/adaptive.ts'

const SETTINGS = { most: 32, tolerance: 2 }

/**
 * A simulated model with this many places: what goes beyond them waits its turn (`slow`) or is refused at once (`busy`).
 * Asks as many calls as the limit allows, for as long as is said, and notes the limit on the way.
 */
function simulated(given: { places: number; beyond: 'slow' | 'busy'; most?: number; ms?: number }) {
  const { beyond, ms = 1_000 } = given
  let now = 0
  let places = given.places
  const adaptive = adaptiveLimit({ ...SETTINGS, most: given.most ?? SETTINGS.most }, () => now)
  const calls: { until: number; end: (end: CallEnd) => void; how: CallEnd }[] = []
  const seen: number[] = []

  function begin(): void {
    const end = adaptive.begin('judge')
    const over = calls.length >= places
    if (over && beyond === 'busy') calls.push({ until: now + 10, end, how: 'overloaded' })
    else calls.push({ until: now + (over ? (ms * (calls.length + 1)) / places : ms), end, how: 'answered' })
  }

  return {
    adaptive,
    seen,
    /** Runs until this many calls have ended. */
    run(ends: number, wanted = Number.POSITIVE_INFINITY) {
      seen.length = 0
      for (let n = 0; n < ends; n++) {
        while (adaptive.inFlight < Math.min(adaptive.limit, wanted)) begin()
        calls.sort((a, b) => a.until - b.until)
        const next = calls.shift()
        if (next === undefined) throw new Error('nothing is in flight')
        now = next.until
        next.end(next.how)
        seen.push(adaptive.limit)
      }
      return seen
    },
    withPlaces(count: number) {
      places = count
    },
  }
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

describe('the adaptive limit', () => {
  test('begins at what is configured, and stays there while all goes well', () => {
    const { run } = simulated({ places: 100, beyond: 'busy' })
    expect(new Set(run(500))).toEqual(new Set([32]))
  })

  test('halves at an overload, and once for all calls that were in flight then', () => {
    const adaptive = adaptiveLimit(SETTINGS, () => 0)
    const ends = Array.from({ length: 32 }, () => adaptive.begin('judge'))
    for (const end of ends.slice(0, 20)) end('overloaded')
    expect(adaptive.limit).toBe(16)
    adaptive.begin('judge')('overloaded')
    expect(adaptive.limit).toBe(8)
  })

  test('rises by one for each full round of answered calls', () => {
    const adaptive = adaptiveLimit(SETTINGS, () => 0)
    adaptive.begin('judge')('overloaded')
    for (let round = 16; round < 20; round++) {
      expect(adaptive.limit).toBe(round)
      const ends = Array.from({ length: round + 1 }, () => adaptive.begin('judge'))
      for (const end of ends) end('answered')
    }
  })

  test('does not rise while it is not used', () => {
    const { adaptive, run } = simulated({ places: 100, beyond: 'busy' })
    adaptive.begin('judge')('overloaded')
    run(500, 4)
    expect(adaptive.limit).toBe(16)
  })

  test('settles about what a busy model takes', () => {
    const { run } = simulated({ places: 10, beyond: 'busy' })
    run(300)
    const seen = run(2_000)
    expect(Math.max(...seen)).toBeLessThanOrEqual(11)
    expect(Math.min(...seen)).toBeGreaterThanOrEqual(5)
    expect(mean(seen)).toBeGreaterThan(6)
  })

  test('finds its way back when the model can take more again', () => {
    const model = simulated({ places: 4, beyond: 'busy' })
    model.run(500)
    expect(model.adaptive.limit).toBeLessThanOrEqual(5)
    model.withPlaces(100)
    model.run(2_000)
    expect(model.adaptive.limit).toBe(32)
  })

  test('gives way to rising latency, before anything is refused', () => {
    const model = simulated({ places: 100, beyond: 'slow' })
    model.run(300)
    model.withPlaces(8)
    const seen = model.run(200)
    expect(Math.min(...seen)).toBeLessThanOrEqual(16)
    expect(mean(seen)).toBeLessThan(24)
  })

  test('compares a call with its own kind only', () => {
    let now = 0
    const adaptive = adaptiveLimit(SETTINGS, () => now)
    for (let n = 0; n < 400; n++) {
      const slow = n >= 200
      const end = adaptive.begin(slow ? 'judge' : 'stance')
      now += slow ? 20_000 : 500
      end('answered')
    }
    expect(adaptive.limit).toBe(32)
  })

  test('gets used to a model that has become slower for good', () => {
    const model = { ms: 100 }
    let now = 0
    const adaptive = adaptiveLimit(SETTINGS, () => now)
    const round = () => {
      const ends = Array.from({ length: adaptive.limit }, () => adaptive.begin('judge'))
      now += model.ms
      for (const end of ends) end('answered')
    }
    for (let n = 0; n < 50; n++) round()
    model.ms = 500
    for (let n = 0; n < 20; n++) round()
    expect(adaptive.limit).toBeLessThan(32)
    for (let n = 0; n < 300; n++) round()
    expect(adaptive.limit).toBe(32)
  })

  test('takes nothing from refusals, aborts and faults, nor from a second end of the same call', () => {
    const adaptive = adaptiveLimit(SETTINGS, () => 0)
    const end = adaptive.begin('judge')
    end('other')
    end('overloaded')
    expect([adaptive.limit, adaptive.inFlight]).toEqual([32, 0])
  })

  test('is a whole number from one to what is configured, whatever happens', () => {
    const event = fc.record({
      how: fc.constantFrom<CallEnd>('answered', 'overloaded', 'other'),
      ms: fc.nat(100_000),
      begins: fc.nat(5),
    })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 64 }), fc.array(event, { maxLength: 200 }), (most, events) => {
        let now = 0
        const adaptive = adaptiveLimit({ most, tolerance: 2 }, () => now)
        const open: ((end: CallEnd) => void)[] = []
        for (const { how, ms, begins } of events) {
          for (let n = 0; n < begins; n++) open.push(adaptive.begin('judge'))
          now += ms
          open.shift()?.(how)
          expect(Number.isInteger(adaptive.limit)).toBe(true)
          expect(adaptive.limit).toBeGreaterThanOrEqual(1)
          expect(adaptive.limit).toBeLessThanOrEqual(most)
          expect(adaptive.inFlight).toBe(open.length)
        }
      }),
    )
  })
})
