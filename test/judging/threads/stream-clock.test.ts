import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StreamMark } from '../../../src/contracts/ports/threads.ts'
import { advanceMark, type StreamClockSettings, streamTime, UNREAD } from '../../../src/judging/threads/stream-clock.ts'

const settings: StreamClockSettings = { idleAfter: 5_000, atEnd: 'wall-pace' }
const WALL = Date.parse('2026-05-01T12:00:00Z')
const NOON = Date.parse('2025-01-01T12:00:00Z')
const YEAR_3000 = Date.parse('3000-01-01T00:00:00Z')
const YEAR_1970 = 0

const read = (...times: number[]): StreamMark => times.reduce(advanceMark, UNREAD)
const idleSince = (endSince: number, mark: StreamMark, seenAt = WALL): StreamMark => ({ ...mark, endSince, seenAt })
const timeOf = (marks: StreamMark[], wall = WALL, atEnd = settings.atEnd) =>
  streamTime(marks, wall, { ...settings, atEnd })

describe('a partition’s mark', () => {
  test('holds the newest and the second-newest time, in whatever order they come', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer(), { minLength: 2 }), (times) => {
        const [newest, second] = [...times].sort((a, b) => b - a)
        expect(read(...times)).toEqual({ newest, second, endSince: null, seenAt: 0 })
      }),
    )
  })

  test('is the same after a batch that is read again', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20 })), (times) => {
        expect([...times, ...times].reduce(advanceMark, UNREAD)).toEqual(read(...times))
        expect(times.reduce(advanceMark, read(...times))).toEqual(read(...times))
      }),
    )
  })

  test('never goes back', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.integer(), (times, one) => {
        const before = read(...times)
        const after = advanceMark(before, one)
        expect(after.newest ?? 0).toBeGreaterThanOrEqual(before.newest ?? Number.NEGATIVE_INFINITY)
        if (before.second !== null) expect(after.second ?? 0).toBeGreaterThanOrEqual(before.second)
      }),
    )
  })
})

describe('the stream’s clock', () => {
  test('is the second-newest time of a partition', () => {
    expect(timeOf([read(NOON, NOON + 1_000, NOON + 2_000)])).toBe(NOON + 1_000)
  })

  test('is the least over all partitions that are being read', () => {
    expect(timeOf([read(NOON + 8, NOON + 9), read(NOON + 1, NOON + 2), read(NOON + 5, NOON + 6)])).toBe(NOON + 1)
  })

  test('stands still before there are any, and while one has not been read', () => {
    expect(timeOf([])).toBe(Number.NEGATIVE_INFINITY)
    expect(timeOf([read(NOON, NOON + 1), UNREAD])).toBe(Number.NEGATIVE_INFINITY)
    expect(timeOf([read(NOON, NOON + 1), read(NOON)])).toBe(Number.NEGATIVE_INFINITY)
    expect(timeOf([read(NOON, NOON + 1), UNREAD], WALL, 'finish')).toBe(Number.NEGATIVE_INFINITY)
  })

  test('is not thrown forward by one message from the year 3000', () => {
    expect(timeOf([read(NOON, NOON + 1_000, YEAR_3000)])).toBe(NOON + 1_000)
    expect(timeOf([read(YEAR_3000, NOON, NOON + 1_000)])).toBe(NOON + 1_000)
  })

  test('is not thrown back by one message from 1970', () => {
    expect(timeOf([read(NOON, NOON + 1_000, YEAR_1970)])).toBe(NOON)
    expect(timeOf([read(YEAR_1970, NOON, NOON + 1_000)])).toBe(NOON)
  })

  test('is never past the wall clock, though many messages say so', () => {
    expect(timeOf([read(YEAR_3000, YEAR_3000 + 1, YEAR_3000 + 2)])).toBe(WALL)
  })

  describe('where a partition has been read to its end', () => {
    const slow = read(NOON, NOON + 1)
    const quick = read(NOON + 100, NOON + 101)

    test('waits for it no longer after idleAfter', () => {
      expect(timeOf([idleSince(WALL - 4_999, slow), quick])).toBe(NOON)
      expect(timeOf([idleSince(WALL - 5_000, slow), quick])).toBe(NOON + 100)
    })

    test('waits for it again when its end has not been seen for a while: its reader may be away', () => {
      expect(timeOf([idleSince(WALL - 60_000, slow, WALL - 10_000), quick])).toBe(NOON + 100)
      expect(timeOf([idleSince(WALL - 60_000, slow, WALL - 10_001), quick])).toBe(NOON)
    })

    test('waits no longer for one that never had a message', () => {
      expect(timeOf([idleSince(WALL - 5_000, UNREAD), quick])).toBe(NOON + 100)
    })
  })

  describe('with every partition idle', () => {
    const slow = read(NOON - 3, NOON - 2)
    const quick = read(NOON - 1, NOON)

    test('goes on at wall pace from where the stream ended', () => {
      const idle = [idleSince(WALL - 65_000, slow), idleSince(WALL - 60_000 - 5_000, quick)]
      const first = timeOf(idle)
      expect(first).toBeGreaterThanOrEqual(NOON - 1 + 60_000)
      expect(first).toBeLessThanOrEqual(NOON + 60_000)
      expect(timeOf(idle, WALL + 1_234)).toBe(first + 1_234)
    })

    test('counts from the partition that fell idle last', () => {
      const now = timeOf([idleSince(WALL - 500_000, slow), idleSince(WALL - 5_000, quick)])
      expect(now).toBeGreaterThanOrEqual(NOON - 1)
      expect(now).toBeLessThanOrEqual(NOON)
    })

    test('waits for those whose end was not seen after the last one had come to its own', () => {
      const [before, after] = [WALL - 6_001, WALL - 5_999]
      const last = idleSince(WALL - 6_000, quick)
      expect(timeOf([idleSince(WALL - 9_000, slow, before), last], WALL, 'finish')).toBe(NOON - 3)
      expect(timeOf([idleSince(WALL - 9_000, slow, after), last], WALL, 'finish')).toBe(Number.POSITIVE_INFINITY)
    })

    test('stands still when its readers were away, whatever they had read to the end before', () => {
      const away = [idleSince(WALL - 90_000, slow, WALL - 60_000), idleSince(WALL - 90_000, quick, WALL - 60_000)]
      expect(timeOf(away, WALL, 'finish')).toBe(NOON - 3)
    })

    test('goes on from the only message there is', () => {
      expect(timeOf([idleSince(WALL - 6_000, read(NOON)), idleSince(WALL - 6_000, UNREAD)])).toBe(NOON + 1_000)
    })

    test('stands still where there never was a message', () => {
      expect(timeOf([idleSince(WALL - 60_000, UNREAD)])).toBe(Number.NEGATIVE_INFINITY)
    })

    test('is not thrown forward by one message from the year 3000, in a stream of the past', () => {
      const marks = [idleSince(WALL - 65_000, slow), idleSince(WALL - 65_000, read(NOON - 1, NOON, YEAR_3000))]
      expect(timeOf(marks)).toBeLessThanOrEqual(NOON + 60_000)
    })

    test('is not thrown forward by one message that is the only one of its partition', () => {
      const marks = [idleSince(WALL - 65_000, quick), idleSince(WALL - 65_000, read(WALL))]
      expect(timeOf(marks)).toBeLessThanOrEqual(NOON + 60_000)
    })

    test('makes everything due at once where the stream is to be finished', () => {
      expect(timeOf([idleSince(WALL - 5_000, slow), idleSince(WALL - 5_000, UNREAD)], WALL, 'finish')).toBe(
        Number.POSITIVE_INFINITY,
      )
      expect(timeOf([idleSince(WALL - 5_000, slow), idleSince(WALL - 4_999, quick)], WALL, 'finish')).toBe(NOON - 1)
    })
  })

  const instant = fc.oneof(
    fc.integer({ min: WALL - 10_000, max: WALL + 10_000 }),
    fc.integer({ min: 0, max: YEAR_3000 }),
  )
  /** A mark as reading makes it: there is no second-newest without a newest. */
  const mark = fc
    .tuple(fc.array(instant, { maxLength: 4 }), fc.option(fc.integer({ min: WALL - 20_000, max: WALL + 1_000 })))
    .map(([times, endSince]) => ({ ...times.reduce(advanceMark, UNREAD), endSince, seenAt: endSince ?? 0 }))
  const seenNow = (marks: readonly StreamMark[], now: number) => marks.map((mark) => ({ ...mark, seenAt: now }))

  test('never passes the wall clock unless it is finishing', () => {
    fc.assert(
      fc.property(fc.array(mark), fc.constantFrom('wall-pace', 'finish'), (marks, atEnd) => {
        const now = timeOf(marks, WALL, atEnd)
        if (now !== Number.POSITIVE_INFINITY) expect(now).toBeLessThanOrEqual(WALL)
        else {
          expect(atEnd).toBe('finish')
          expect(marks.every(({ endSince }) => endSince !== null && WALL - endSince >= 5_000)).toBe(true)
        }
      }),
    )
  })

  test('never goes back while nothing comes and time passes', () => {
    fc.assert(
      fc.property(fc.array(mark, { minLength: 1 }), fc.nat(30_000), fc.nat(30_000), (marks, soon, later) => {
        const [then, now] = [WALL + soon, WALL + soon + later]
        expect(timeOf(seenNow(marks, now), now)).toBeGreaterThanOrEqual(timeOf(seenNow(marks, then), then))
      }),
    )
  })
})
