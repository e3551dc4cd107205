import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CheckpointSettings, dueAt, firstDue } from '../../../src/judging/threads/checkpoints.ts'

const settings: CheckpointSettings = { counts: [10], ages: [15, 60, 360], finalAge: 1440 }
const BORN = 1_000

const MINUTE = 60_000

describe('checkpoints', () => {
  test('a new post is first due at the first age', () => {
    expect(firstDue(BORN, settings)).toBe(BORN + 15)
  })

  test('a new post is first due at the final age where that comes first, or no age is set', () => {
    expect(firstDue(BORN, { ...settings, ages: [] })).toBe(BORN + 1440)
    expect(firstDue(BORN, { ...settings, finalAge: 10 })).toBe(BORN + 10)
  })

  test.each([
    [0, false, 15],
    [14, false, 15],
    [15, false, 60],
    [59, false, 60],
    [200, false, 360],
    [360, false, 1440],
    [1439, false, 1440],
  ])('at age %i: final %s, next due at age %i', (age, final, next) => {
    expect(dueAt(BORN, BORN + age, settings)).toEqual({ final, nextDue: BORN + next })
  })

  test.each([1440, 5000])('at age %i: final, and nothing more is due', (age) => {
    expect(dueAt(BORN, BORN + age, settings)).toEqual({ final: true, nextDue: null })
  })

  test('a thread that is due by its count while the clock stands still is next due at its first age', () => {
    expect(dueAt(BORN, Number.NEGATIVE_INFINITY, settings)).toEqual({ final: false, nextDue: BORN + 15 })
  })

  test('when the stream is finished everything is final', () => {
    expect(dueAt(BORN, Number.POSITIVE_INFINITY, settings)).toEqual({ final: true, nextDue: null })
  })

  test('an age at or beyond the final one is no checkpoint', () => {
    const late = { ...settings, ages: [15, 1440, 2000] }
    expect(dueAt(BORN, BORN + 15, late)).toEqual({ final: false, nextDue: BORN + 1440 })
  })

  test('whatever the ages: due times rise, and after each age once comes the final one', () => {
    const anyAges = fc
      .uniqueArray(fc.integer({ min: 1, max: 5_000 }), { maxLength: 8 })
      .map((ages) => ages.sort((a, b) => a - b))
    fc.assert(
      fc.property(anyAges, fc.integer({ min: 1, max: 5_000 }), fc.nat(), (ages, finalAge, born) => {
        const rules = { counts: [], ages, finalAge }
        const passed: number[] = []
        for (let due: number | null = firstDue(born, rules); due !== null; due = dueAt(born, due, rules).nextDue) {
          expect(due).toBeGreaterThan(passed.at(-1) ?? Number.NEGATIVE_INFINITY)
          passed.push(due)
        }
        expect(passed).toEqual([...ages.filter((age) => age < finalAge), finalAge].map((age) => born + age))
      }),
    )
  })

  test('a post from before 1970 is due when the clock starts, and not at once', () => {
    const rules = { counts: [], ages: [MINUTE], finalAge: 24 * 60 * MINUTE }
    expect(firstDue(-10 * MINUTE, rules)).toBe(1)
    expect(dueAt(-10 * MINUTE, 1, rules)).toEqual({ final: false, nextDue: 24 * 60 * MINUTE - 10 * MINUTE })
  })
})
