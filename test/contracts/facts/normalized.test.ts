import { globSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { neutralized } from '../../../src/contracts/facts/neutralized.ts'
import { MOST_MARKS, normalized, withoutLongRuns } from '../../../src/contracts/facts/normalized.ts'
import { ORDINARY } from '../../bystander/registry.ts'

const FORMS = ['NFC', 'NFD', 'NFKC', 'NFKD'] as const

describe('a text in a normalisation form', () => {
  test.each(ORDINARY)('is as Unicode has it: $name', ({ make }) => {
    for (const form of FORMS) expect(normalized(make(2_000), form)).toBe(make(2_000).normalize(form))
  })

  test('keeps thirty marks in a row, and no more', () => {
    const marks = (count: number) => `a${'\u0315'.repeat(count)}b`
    expect(withoutLongRuns(marks(MOST_MARKS))).toBe(marks(30))
    expect(withoutLongRuns(marks(31))).toBe(marks(30))
    expect(withoutLongRuns(marks(100_000) + marks(100_000))).toBe(marks(30) + marks(30))
  })

  test('is bounded for every character that can become a mark at its beginning', () => {
    const found: string[] = []
    for (let code = 0; code <= 0x10_ffff; code++) {
      const character = String.fromCodePoint(code)
      if (!character.isWellFormed()) continue
      const [first = ''] = character.normalize('NFKD')
      if (/\p{M}/u.test(first)) found.push(character)
    }
    expect(found.length).toBeGreaterThan(800)
    // The two become a mark that has no class, and a letter: such marks are never put in order.
    expect(found.filter((mark) => withoutLongRuns(mark.repeat(40)) === mark.repeat(40))).toEqual(['\u0e33', '\u0eb3'])
  })

  test('is made here alone, so that each is bounded', () => {
    const files = globSync(['src/**/*.ts', 'consumers/*.ts', 'producers/*.ts', 'config/*.ts'], { cwd: PROJECT })
    expect(files.length).toBeGreaterThan(300)
    const found = files.filter((file) => readFileSync(`${PROJECT}/${file}`, 'utf8').includes('.normalize('))
    expect(found).toEqual(['src/contracts/facts/normalized.ts'])
  })
})

test('a neutralized text stays as it is however its marks are piled', () => {
  const piles = fc
    .array(
      fc.tuple(
        fc.constantFrom('\u0315', '\u0323', '\u0344', '\u0345', '\uff9e', '\u200d', '\u034f', 'a', '\u09c7', '\u09be'),
        fc.nat(40),
      ),
      { maxLength: 8 },
    )
    .map((pieces) => pieces.map(([piece, count]) => piece.repeat(count)).join(''))
  fc.assert(
    fc.property(piles, (text) => {
      expect(neutralized(neutralized(text))).toBe(neutralized(text))
    }),
    { numRuns: 3_000 },
  )
})
