import { expect, it } from 'vitest'
import { knownFor } from '../../src/console/known-for.ts'

/** A question that takes so long to answer, in ms, and how often it was answered. */
function asked(ms: number) {
  let [now, times] = [0, 0]
  const known = knownFor(
    60_000,
    () => now,
    async (of: string) => {
      times++
      await Promise.resolve()
      now += ms
      return of
    },
  )
  return {
    async after(passed: number) {
      now += passed
      await known('a')
      await Promise.resolve()
      return times
    },
  }
}

it('what is answered quickly is known for as long as was said', async () => {
  const { after } = asked(100)
  expect([await after(0), await after(59_000), await after(2_000)]).toEqual([1, 1, 2])
})

it('what takes long to answer is known for twenty times as long', async () => {
  const { after } = asked(10_000)
  expect([await after(0), await after(180_000), await after(9_000), await after(2_000)]).toEqual([1, 1, 1, 2])
})

it('of few questions answers are known, however many are asked', async () => {
  const made: number[] = []
  const known = knownFor(
    60_000,
    () => 0,
    async (of: number) => made.push(of),
  )
  for (const of of [...Array(21).keys(), 20, 0]) await known(of)
  expect(made).toEqual([...Array(21).keys(), 0])
})
