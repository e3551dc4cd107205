import { expect, test } from 'vitest'
import { requestUnits } from '../../src/door/request-units.ts'

test.each([
  ['a request that carries nothing', {}, 1],
  ['an empty list', { messages: 0 }, 1],
  ['a post with two comments', { messages: 3 }, 3],
  ['a question of a post that may take 22 calls', { messages: 1, calls: 22 }, 23],
  ['a score by two calls, of which one shows three images', { calls: 2, images: 3 }, 5],
])('%s costs its key %o: %i', (_, parts, units) => {
  expect(requestUnits(parts)).toBe(units)
})
