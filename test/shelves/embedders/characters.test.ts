import { expect, test } from 'vitest'
import { readPart, weakByLength } from '../../../src/shelves/embedders/characters.ts'

test('the beginning and end of a long text are embedded, and the rest is reported', () => {
  const words = Array.from({ length: 3_000 }, (_, at) => `word${at}`).join(' ')
  const text = `${words} They must all be hanged.`
  const part = readPart(text)
  expect(part.length).toBeLessThanOrEqual(4_000)
  expect(part).toMatch(/^word0 word1 [\s\S]*They must all be hanged\.$/)
  const left = Number(/\[cut: (\d+)/.exec(part)?.[1])
  expect(weakByLength(text)).toBe(`beginning and end were compared: ${left} of ${text.length} characters were not`)
})

test('nothing is missing of a text that is long only by padding', () => {
  const text = `A sign.${' '.repeat(9_000)}They must all be hanged.`
  expect(readPart(text)).toContain('They must all be hanged.')
  expect(weakByLength(text)).toBeNull()
  expect(weakByLength('short')).toBeNull()
  expect(readPart('short')).toBe('short')
})
