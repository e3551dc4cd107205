import { expect, test } from 'vitest'
import { weightedSlots } from '../../../src/contracts/facts/slots.ts'

/** Runs tasks of these weights, and notes which of them run together. */
async function run(weights: readonly number[], most: number, failing: number | null = null) {
  const slots = weightedSlots(most)
  const atWork = new Set<number>()
  const together: number[][] = []
  const ends = await Promise.allSettled(
    weights.map((weight, nth) =>
      slots.run(weight, async () => {
        atWork.add(nth)
        together.push([...atWork])
        await new Promise((resolve) => setTimeout(resolve, 1))
        atWork.delete(nth)
        if (nth === failing) throw new Error(`no ${nth}`)
        return nth
      }),
    ),
  )
  return { ends: ends.map((end) => (end.status === 'fulfilled' ? end.value : 'failed')), together }
}

test('small tasks run side by side, large ones alone, and all in order', async () => {
  const weights = [1, 1, 1, 9, 1, 20, 0, 1]
  const { ends, together } = await run(weights, 10)
  expect(ends).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  for (const some of together)
    expect(some.length === 1 || some.reduce((sum, nth) => sum + (weights[nth] ?? 0), 0) <= 10).toBe(true)
  expect(together).toContainEqual([0, 1, 2])
  expect(together).toContainEqual([5])
  expect(together.map((some) => some.at(-1))).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
})

test('one that fails leaves its place', async () => {
  expect((await run([10, 10, 10], 10, 0)).ends).toEqual(['failed', 1, 2])
})
