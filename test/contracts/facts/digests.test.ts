import { describe, expect, test } from 'vitest'
import { digests } from '../../../src/contracts/facts/digests.ts'

describe('digests of long texts', () => {
  const made: string[] = []
  const digestOf = digests((text) => {
    made.push(text.slice(0, 3))
    return `digest of ${text.slice(0, 3)}`
  })
  const long = (nth: number, characters = 10_000) => `${nth}`.padStart(3, '0').padEnd(characters, 'a')

  test('are made once while they are among the latest', () => {
    for (let times = 0; times < 3; times++)
      for (const nth of [1, 2]) expect(digestOf(long(nth))).toBe(`digest of 00${nth}`)
    expect(made.splice(0)).toEqual(['001', '002'])
  })

  test('are forgotten, the oldest first, beyond what a giant thread holds', () => {
    for (let nth = 3; nth <= 601; nth++) digestOf(long(nth))
    made.splice(0)
    digestOf(long(2))
    expect(made).toEqual([])
    digestOf(long(1))
    expect(made).toEqual(['001'])
  })

  test('are made each time of a text that is too long to be found by itself', () => {
    made.splice(0)
    for (let times = 0; times < 2; times++) digestOf(long(700, 20_000))
    expect(made).toEqual(['700', '700'])
  })
})
