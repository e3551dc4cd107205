import { expect, test } from 'vitest'
import { z } from 'zod'
import { firstOf } from '../../../src/contracts/facts/first-of.ts'

test('only the first entries of a long list are looked at, whatever the others are', () => {
  let looked = 0
  const entry = z.custom<number>((value) => {
    looked++
    return typeof value === 'number'
  })
  const list = firstOf(2, entry)
  expect(list.parse([1, 2, ...Array.from({ length: 100_000 }, () => 'no number')])).toEqual([1, 2])
  expect(looked).toBe(2)
  expect(list.safeParse(['no number']).success).toBe(false)
  expect(list.safeParse('no list').success).toBe(false)
})
