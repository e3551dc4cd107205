import { describe, expect, test } from 'vitest'
import { digests } from '../../src/domain/digests.ts'

describe('digests of long texts', () => {
  const made: number[] = []
  const digestOf = digests((text) => {
    made.push(text.length)
    return `digest of ${text.length}`
  })
  const long = (characters: number) => 'a'.repeat(characters)

  test('are made once while they are among the latest', () => {
    for (let times = 0; times < 3; times++)
      for (const characters of [2_000_000, 1_000_000])
        expect(digestOf(long(characters))).toBe(`digest of ${characters}`)
    expect(made.splice(0)).toEqual([2_000_000, 1_000_000])
  })

  test('are forgotten, the oldest first, beyond what a giant thread holds', () => {
    digestOf(long(4_000_000))
    expect(made.splice(0)).toEqual([4_000_000])
    digestOf(long(1_000_000))
    expect(made).toEqual([])
    digestOf(long(2_000_000))
    expect(made).toEqual([2_000_000])
  })
})
