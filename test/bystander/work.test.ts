import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { commentMessage } from '../../src/contracts/facts/messages.ts'
import { readValue } from '../../src/contracts/facts/read-value.ts'
import { asJson } from '../../src/door/perspective-requests.ts'
import { misspeltAlike, readAhead, sameWords } from '../../src/protocols/rumor/near-identical.ts'
import { counted, total } from './counted.ts'
import { ALIKE, LARGE_MESSAGES, MESSAGES } from './registry.ts'
import { ALL, OTHER_WAYS, WAYS } from './ways.ts'

describe.each(WAYS)('a text that is $name costs in proportion to its length', ({ most, read }) => {
  test.each(ALL)('$name', ({ make }) => {
    const work = (characters: number) => total(counted(() => read(make(characters))))
    const [once, twice] = [work(20_000), work(40_000)]
    expect(twice).toBeLessThanOrEqual(2.2 * once + 20_000)
    expect(twice).toBeLessThanOrEqual(most * 40_000)
  })
})

describe.each(OTHER_WAYS)('$name costs in proportion to its length', ({ most, cases, read }) => {
  test.each(cases)('$name', ({ make }) => {
    const work = (characters: number) => total(counted(() => read(make(characters))))
    const [once, twice] = [work(20_000), work(40_000)]
    expect(twice).toBeLessThanOrEqual(2.2 * once + 20_000)
    expect(twice).toBeLessThanOrEqual(most * 40_000)
  })
})

describe('a message as large as one may be costs at most ten for a byte', () => {
  const LARGEST = 2 ** 20
  test.each([...MESSAGES, ...LARGE_MESSAGES])('$name', ({ make }) => {
    const json = make(LARGEST)
    const reads = OTHER_WAYS.filter(({ name }) => name === 'a post' || name === 'a comment').map(({ read }) => read)
    for (const read of reads) expect(total(counted(() => read(json)))).toBeLessThanOrEqual(10 * LARGEST)
  })
})

// Steps of a pattern can't be counted: one that tries each quotation mark anew takes ten minutes for a MiB of them, a good one 10 ms.
describe('text that is no JSON, of quotation marks in a string that does not end, is read to its end', () => {
  const ends = (read: () => unknown) => runInNewContext('read()', { read }, { timeout: 20_000 })
  test.each(['\\"', '\\\n"', '\\\\', '"'])('%j', (part) => {
    const text = (bytes: number) => `{"id":"${part.repeat(bytes / part.length)}`
    const limits = { maxMessageBytes: 2 ** 21, maxAhead: 1 }
    expect(ends(() => readValue(Buffer.from(text(2 ** 20)), commentMessage, limits, 0))).toMatchObject({ ok: false })
    expect(ends(() => asJson(text(2 ** 22)))).toMatch(/^\{"id":"/)
  })
})

describe('a giant thread is grouped without being read again where its texts were read before', () => {
  test.each(ALIKE)('$name', ({ make }) => {
    const comments = Array.from({ length: 500 }, (_, nth) => ({ id: `c${nth}`, text: make(nth), createdAt: nth }))
    for (const { text } of comments) readAhead(text)
    const characters = comments.reduce((sum, { text }) => sum + text.length, 0)
    const work = counted(() => misspeltAlike(sameWords(comments)))
    expect(total(work)).toBeLessThanOrEqual(5 * characters)
  })
})
