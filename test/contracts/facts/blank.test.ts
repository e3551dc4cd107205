import { describe, expect, test } from 'vitest'
import { isBlank } from '../../../src/contracts/facts/blank.ts'

describe('a text that shows nothing', () => {
  test.each([
    ['nothing', ''],
    ['white space', ' \n\t\u00a0\u2003\u3000\u0085'],
    ['zero-width characters', '\u200b\u200c\u200d\u2060\ufeff'],
    ['soft hyphens', '\u00ad\u00ad'],
    ['variation selectors', '\ufe0e\ufe0f\u{e0100}'],
    ['tags', '\u{e0001}\u{e0068}\u{e0069}\u{e007f}'],
    ['directions', '\u202e\u2066\u2069\u061c'],
    ['fillers', '\u3164\uffa0\u115f\u2800'],
    ['controls', '\u0000\u0007\u009f'],
  ])('is one of %s', (_, text) => {
    expect(isBlank(text)).toBe(true)
    expect(isBlank(`${text}.${text}`)).toBe(false)
  })

  test.each(['a', '0', '👍🏽', '☹️', '🏴\u{e0067}\u{e007f}', '\u0301', '؀'])('is none with %s in it', (text) => {
    expect(isBlank(`\u200b${text}\ufe0f`)).toBe(false)
  })

  test('is told in time that grows with its length', () => {
    expect(isBlank('\u200b \n'.repeat(300_000))).toBe(true)
  })
})
