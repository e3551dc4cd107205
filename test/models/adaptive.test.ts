import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { adaptiveLimit, type CallEnd } from '../../src/models/adaptive.ts'

const MOST = 64
const SECOND = 1_000

/** A simulated model, as it is from a moment on. Shares are of calls, 0 to 1. */
interface Model {
  /** Calls at once; what is beyond them is turned away at once, or `waits`, so that all take longer. */
  readonly places?: number
  readonly waits?: boolean
  readonly ms?: number
  readonly refused?: number
  readonly hung?: number
  /** Until a call that hangs is given up. */
  readonly hungMs?: number
  /** How long it takes to turn one away. */
  readonly refusalMs?: number
}

/** Numbers from 0 to 1 that look random and are always the same. */
function draws(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** As many calls at once as the limit allows, for as long as is said; how many were answered, and the limit over time. */
function simulated(seed = 1) {
  const draw = draws(seed)
  let now = 0
  let inModel = 0
  const adaptive = adaptiveLimit({ most: MOST, tolerance: 2 }, () => now)
  const calls: { until: number; end: (end: CallEnd) => void; how: CallEnd; taken: boolean }[] = []

  function begin({ places = Infinity, waits = false, ms = 200, refused = 0, hung = 0, ...model }: Model): void {
    const end = adaptive.begin('opinion')
    const luck = draw()
    const full = inModel >= places
    const add = (lasts: number, how: CallEnd, taken = false) => calls.push({ until: now + lasts, end, how, taken })
    if (luck < refused || (full && !waits)) add(model.refusalMs ?? 5, 'overloaded')
    else if (luck < refused + hung) add(model.hungMs ?? SECOND, 'other')
    else {
      inModel++
      add(ms * Math.max(1, inModel / places) * (0.8 + 0.4 * draw()), 'answered', true)
    }
  }

  return {
    adaptive,
    run(seconds: number, model: Model = {}, wanted = Infinity) {
      const limits: number[] = []
      const until = now + seconds * SECOND
      let answered = 0
      while (now < until) {
        while (adaptive.inFlight < Math.min(adaptive.limit, wanted)) begin(model)
        calls.sort((a, b) => a.until - b.until)
        const next = calls.shift()
        if (next === undefined) throw new Error('nothing is in flight')
        now = next.until
        if (next.taken) inModel--
        if (next.how === 'answered') answered++
        next.end(next.how)
        limits.push(adaptive.limit)
      }
      return { answered, limits, least: Math.min(...limits), most: Math.max(...limits) }
    },
  }
}

const healthy = simulated().run(60).answered

describe('a slightly faulty model', () => {
  test.each([0.02, 0.05, 0.1, 0.2, 0.3])(
    'and turns away %d of all calls keeps nearly all of its goodput',
    (refused) => {
      for (const seed of [1, 2, 3]) expect(simulated(seed).run(60, { refused }).answered).toBeGreaterThan(0.9 * healthy)
    },
  )

  test.each([0.02, 0.05, 0.1, 0.2])('and hangs with %d of them keeps all places', (hung) => {
    const { least, answered } = simulated().run(60, { hung })
    expect(least).toBe(MOST)
    const [lasts, lost] = [200, (hung / (1 - hung)) * SECOND]
    expect(answered / healthy).toBeGreaterThan((0.95 * lasts) / (lasts + lost))
  })

  test('and says 429 to some and hangs with others is no worse than both together', () => {
    expect(simulated().run(60, { refused: 0.05, hung: 0.05 }).answered).toBeGreaterThan(0.7 * healthy)
  })
})

describe.each([50, 200, 2_000])('a model with less room than calls, each of %i ms', (ms) => {
  test.each([1, 8, 30])(
    'is backed off from within a second to its %i places, used, and found again within ten',
    (places) => {
      const { run } = simulated()
      run(20, { ms })
      // What it has taken by then may still be answered.
      run(ms / SECOND, { ms, places })
      run(1, { ms, places })
      const { answered, least, most } = run(30, { ms, places })
      expect(most).toBeLessThanOrEqual(Math.ceil(places * 1.5))
      expect(least).toBeGreaterThanOrEqual(Math.min(places, Math.floor(places * 0.7)))
      expect(answered / ((30 * SECOND * places) / ms)).toBeGreaterThan(0.9)
      const { limits } = run(ms === 2_000 ? 20 : 10, { ms })
      expect(limits.at(-1)).toBe(MOST)
    },
  )
})

describe('the adaptive limit', () => {
  test('begins at what is configured, and stays there while all goes well', () => {
    const { least } = simulated().run(10)
    expect(least).toBe(MOST)
  })

  test('does not rise while it is not used', () => {
    const { adaptive, run } = simulated()
    run(5, { places: 8 })
    const before = adaptive.limit
    run(30, {}, 2)
    expect(adaptive.limit).toBe(before)
    run(10)
    expect(adaptive.limit).toBe(MOST)
  })

  test('gives way to rising latency, before anything is refused', () => {
    const { run } = simulated()
    run(20)
    run(3, { places: 8, waits: true })
    const { limits, answered } = run(10, { places: 8, waits: true })
    expect(limits.toSorted((a, b) => a - b)[Math.floor(limits.length / 2)]).toBeLessThanOrEqual(32)
    expect(answered / ((10 * SECOND * 8) / 200)).toBeGreaterThan(0.8)
  })

  test('takes back a fall that did not make calls quicker: the model is slow by itself', () => {
    const { adaptive, run } = simulated()
    run(20)
    const { least } = run(10, { ms: 800 })
    expect(least).toBeLessThan(MOST)
    expect(adaptive.limit).toBe(MOST)
    expect(run(20, { ms: 800 }).least).toBe(MOST)
  })

  test('compares a call with its own kind only', () => {
    let now = 0
    const adaptive = adaptiveLimit({ most: 32, tolerance: 2 }, () => now)
    for (let n = 0; n < 400; n++) {
      const slow = n >= 200
      const end = adaptive.begin(slow ? 'judge' : 'stance')
      now += slow ? 20_000 : 500
      end('answered')
    }
    expect(adaptive.limit).toBe(32)
  })

  test('takes nothing from refusals, aborts and faults, nor from a second end of the same call', () => {
    let now = 0
    const adaptive = adaptiveLimit({ most: 32, tolerance: 2 }, () => now)
    const ends = Array.from({ length: 200 }, () => adaptive.begin('judge'))
    now += SECOND
    for (const end of ends) end('other')
    for (const end of ends) end('overloaded')
    expect([adaptive.limit, adaptive.inFlight]).toEqual([32, 0])
  })

  test('falls for many overloads, and once for all calls that were in flight then', () => {
    let now = 0
    const adaptive = adaptiveLimit({ most: 32, tolerance: 2 }, () => now)
    const ends = Array.from({ length: 64 }, () => adaptive.begin('judge'))
    now += SECOND
    for (const end of ends.slice(0, 60)) end('overloaded')
    const after = adaptive.limit
    expect(after).toBeLessThan(32)
    now += SECOND
    for (const end of ends.slice(60)) end('overloaded')
    expect(adaptive.limit).toBe(after)
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
