import fc from 'fast-check'
import { expect, test } from 'vitest'
import { piecesOf } from '../../../src/door/scoring/pieces.ts'

const between = fc.constantFrom(' ', '\n', ' '.repeat(40), '。 ', ' 😀 ')

test('pieces hold every word of a text whole, split no character, and none is too long', () => {
  fc.assert(
    fc.property(fc.array(between, { maxLength: 600 }), fc.integer({ min: 170, max: 900 }), (spaces, most) => {
      const said = spaces.map((_, nth) => `word${nth}end`)
      const pieces = piecesOf(said.map((word, nth) => `${word}${spaces[nth]}`).join(''), most)
      for (const piece of pieces) {
        expect(piece.length).toBeLessThanOrEqual(most)
        expect(piece.isWellFormed()).toBe(true)
      }
      const shown = new Set(pieces.flatMap((piece) => piece.split(/[^a-z0-9]+/)))
      expect(said.filter((word) => !shown.has(word))).toEqual([])
    }),
  )
})

test('a text without spaces is in pieces, too, and a short one stays as it is', () => {
  const text = Array.from({ length: 1_000 }, (_, nth) => String.fromCodePoint(0x4e00 + nth)).join('')
  const pieces = piecesOf(text, 300)
  expect(new Set(pieces.join(''))).toEqual(new Set(text))
  expect(pieces.every(({ length }) => length <= 300)).toBe(true)
  expect(piecesOf(`a${' '.repeat(50)}b`, 90)).toEqual([`a${' '.repeat(50)}b`])
})
