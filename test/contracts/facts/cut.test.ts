import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cut, withoutPadding } from '../../../src/contracts/facts/cut.ts'

/** Texts with words, runs, line ends, characters of two halves, and halves alone. */
const anyText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.lorem({ maxCount: 12, mode: 'sentences' }),
      fc.constantFrom('\u{1f600}\u{1f680}', '\n', ' ', 'unsafe ', '[cut: 12 more characters]\n', '\ud800', '\udc00'),
      fc
        .tuple(fc.constantFrom('a', ' ', '\n', '\u{1f600}', '<', ' \n'), fc.integer({ min: 1, max: 400 }))
        .map(([piece, times]) => piece.repeat(times)),
    ),
    { maxLength: 60 },
  )
  .map((pieces) => pieces.join(''))
const bound = fc.integer({ min: 100, max: 4_000 })
const place = fc.option(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), { nil: undefined })

/** The text and its cut, over many of each. */
const always = (holds: (text: string, most: number, at: number | undefined) => void) =>
  fc.assert(
    fc.property(anyText, bound, place, (text, most, at) => {
      holds(text, most, at)
    }),
    { numRuns: 2_000 },
  )

const MARK = /\n\[(?:cut|squeezed): (\d+) (?:more characters\]\n|characters of padding\]$)/g

describe('padding', () => {
  test('is what a pattern would find', () => {
    always((text) => {
      const expected = text.replace(/(\s{16})\s+/gu, '$1').replace(/((.)\2{15})\2+/gsu, '$1')
      expect(withoutPadding(text)).toBe(expected)
    })
  })

  test('may be of any white space', () => {
    for (let point = 0; point <= 0x1_0000; point++) {
      const run = String.fromCodePoint(point).repeat(9)
      const text = `a${run} ${run}b`
      if (withoutPadding(text) !== text.replace(/(\s{16})\s+/gu, '$1')) expect.fail(point.toString(16))
    }
  })
})

describe('a cut', () => {
  test('is never longer than its bound, and is well-formed wherever anything was left out', () => {
    always((text, most, at) => {
      const kept = cut(text, most, at)
      expect(kept.text.length).toBeLessThanOrEqual(most)
      if (text.length > most) expect(kept.text.isWellFormed()).toBe(true)
    })
  })

  test('leaves a text as it is that is short enough, and so does the next cut', () => {
    always((text, most, at) => {
      if (text.length <= most) expect(cut(text, most, at)).toEqual({ text, left: 0 })
      const { text: once } = cut(text, most, at)
      expect(cut(once, most, at)).toEqual({ text: once, left: 0 })
    })
  })

  test('keeps beginning and end', () => {
    fc.assert(
      fc.property(fc.lorem({ maxCount: 60, mode: 'sentences' }), bound, place, (text, most, at) => {
        const kept = cut(text, most, at).text
        expect(kept.slice(0, 15)).toBe(text.slice(0, 15))
        expect(kept.slice(-15)).toBe(text.slice(-15))
      }),
    )
    const text = Array.from({ length: 2_000 }, (_, at) => `word${at}`).join(' ')
    for (const most of [200, 1_000, 5_000])
      for (const at of [undefined, 0, 0.5, 0.999]) {
        const { text: kept } = cut(text, most, at)
        expect(kept.startsWith('word0 word1 word2')).toBe(true)
        expect(kept.endsWith('word1998 word1999')).toBe(true)
        expect(kept.length).toBeGreaterThan(most - 3 * 40)
      }
  })

  test('counts what is missing: the marks and the text around them add up to the whole', () => {
    const plain = fc
      .array(
        fc.oneof(
          fc.lorem({ maxCount: 12, mode: 'sentences' }),
          fc.constantFrom('\u{1f600}\u{1f680}', '\n', 'z'.repeat(300), ' '.repeat(90)),
        ),
        { maxLength: 60 },
      )
      .map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(plain, bound, place, (text, most, at) => {
        const { text: kept, left } = cut(text, most, at)
        const marks = [...kept.matchAll(MARK)]
        const shown = kept.length - marks.reduce((sum, [mark]) => sum + mark.length, 0)
        expect(shown + marks.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(text.length)
        const cuts = marks.filter(([mark]) => mark.includes('[cut:'))
        expect(cuts.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(left)
      }),
      { numRuns: 1_000 },
    )
  })

  test.each([' ', '\n', 'a', '\u{1f600}', ' \n\t'])('squeezes %j first, so that it pushes nothing out', (padding) => {
    const kept = cut(`Dear all.${padding.repeat(50_000)}Hang them.`, 1_000)
    expect(kept.text).toMatch(/^Dear all\.[\s\S]*Hang them\.\n\[squeezed: \d+ characters of padding\]$/)
    expect(kept.left).toBe(0)
  })

  test('halves no word whose end is near: half of `unsafe` is another word', () => {
    const words = Array.from({ length: 500 }, () => 'unsafe').join(' ')
    for (let most = 1_000; most < 1_060; most++)
      for (const at of [undefined, 0, 0.3, 0.7])
        expect(
          cut(words, most, at)
            .text.replace(MARK, ' ')
            .replace(/unsafe/g, '')
            .trim(),
        ).toBe('')
  })

  test('takes a text of a megabyte in no time worth naming', () => {
    for (const piece of ['a'.repeat(16), 'a'.repeat(15).concat('b'), ' '.repeat(15).concat('x'), '\u{1f600}'])
      expect(cut(piece.repeat(2 ** 16), 8_000).text.length).toBeLessThanOrEqual(8_000)
  })
})
