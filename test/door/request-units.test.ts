import { expect, test } from 'vitest'
import { requestUnits } from '../../src/door/request-units.ts'

test.each([
  ['a request that carries nothing', {}, 1],
  ['an empty list', { messages: 0 }, 1],
  ['a post with two comments', { messages: 3 }, 3],
  ['a score by two calls, and a debate', { scoreCalls: 2, debates: 1 }, 3],
])('%s costs its key %o: %i', (_, parts, units) => {
  expect(requestUnits(parts)).toBe(units)
})
