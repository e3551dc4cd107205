import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { timeLimits } from '../../src/models/time-limits.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const NEVER = 120_000

function setUp(leastMs: number | null = 1_000) {
  const limits = timeLimits({ leastMs }, Date.now)
  const watch = (change: { kind?: string; attempt?: number; last?: boolean } = {}) => {
    const cuts: number[] = []
    const done = limits.watch({ kind: 'stance', attempt: 1, last: false, ...change, cut: (ms) => cuts.push(ms) })
    return { cuts, done }
  }
  /** Answers of so many ms, one after the other. */
  const answers = (...times: number[]) => {
    for (const ms of times) watch().done(ms)
  }
  /** How long a call may take, to the tenth of a second; null for one that is not cut. */
  const limitOf = (change: Parameters<typeof watch>[0] = {}) => {
    const { cuts, done } = watch(change)
    const began = Date.now()
    while (cuts.length === 0 && Date.now() - began < NEVER) vi.advanceTimersByTime(100)
    done()
    return cuts.length === 0 ? null : Date.now() - began
  }
  return { watch, answers, limitOf }
}

const ten = [900, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 2_000]

describe('a call', () => {
  test('is remembered with the kinds of some hundred tenants, the one that was answered longest ago being forgotten first', () => {
    const { watch, answers, limitOf } = setUp()
    answers(...ten)
    for (let n = 0; n < 4_999; n++) watch({ kind: `other ${n}` }).done(1)
    expect(limitOf()).toBe(6_000)
    watch({ kind: 'one more' }).done(1)
    expect(limitOf()).toBeNull()
  })

  test('may take three times as long as nine of ten of its kind, and is cut once', () => {
    const { answers, limitOf, watch } = setUp()
    answers(...ten)
    expect(limitOf()).toBe(6_000)
    const { cuts } = watch()
    vi.advanceTimersByTime(60_000)
    expect(cuts).toEqual([6_000])
  })

  test('may take four times as long at each further try, and as long as any at the last', () => {
    const { answers, limitOf } = setUp()
    answers(...ten)
    expect(limitOf({ attempt: 2 })).toBe(24_000)
    expect(limitOf({ attempt: 3 })).toBe(96_000)
    expect(limitOf({ last: true })).toBeNull()
  })

  test.each([
    ['too few of its kind have been answered', () => setUp(), ten.slice(0, 7), {}],
    ['the operator wants none', () => setUp(null), ten, {}],
    ['others are of another kind', () => setUp(), ten, { kind: 'judge' }],
  ])('has no limit of its own where %s', (_, make, times, change) => {
    const { answers, limitOf } = make()
    answers(...times)
    expect(limitOf(change)).toBeNull()
  })

  test('is not cut before the least, however quick its kind is', () => {
    const { answers, limitOf } = setUp()
    answers(...ten.map(() => 20))
    expect(limitOf()).toBe(1_000)
  })

  test('that was begun before anything was known is cut when it is', () => {
    const { answers, watch } = setUp()
    const { cuts } = watch()
    vi.advanceTimersByTime(20_000)
    expect(cuts).toEqual([])
    answers(...ten)
    vi.advanceTimersByTime(100)
    expect(cuts).toEqual([6_000])
  })

  test('that has ended is not cut', () => {
    const { answers, watch } = setUp()
    answers(...ten)
    const [first, second] = [watch(), watch()]
    first.done(500)
    second.done()
    vi.advanceTimersByTime(60_000)
    expect([first.cuts, second.cuts]).toEqual([[], []])
  })

  test('is given the time in which this process stood still', () => {
    const { answers, watch } = setUp()
    answers(...ten)
    const { cuts } = watch()
    vi.advanceTimersByTime(1_000)
    vi.setSystemTime(Date.now() + 30_000)
    vi.advanceTimersByTime(4_500)
    expect(cuts).toEqual([])
    vi.advanceTimersByTime(500)
    expect(cuts).toEqual([6_000])
  })
})

test('the limit follows a model that becomes slower: second tries are answered, and count', () => {
  const { answers, limitOf, watch } = setUp()
  answers(...ten)
  for (let n = 0; n < 20; n++) watch({ attempt: 2 }).done(15_000)
  expect(limitOf()).toBe(45_000)
})

test('calls that were not answered do not count', () => {
  const { answers, limitOf, watch } = setUp()
  answers(...ten)
  for (let n = 0; n < 50; n++) {
    const { done } = watch()
    done()
    done(60_000)
  }
  expect(limitOf()).toBe(6_000)
})
