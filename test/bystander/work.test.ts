import { describe, expect, test } from 'vitest'
import { counted, total } from './counted.ts'
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
