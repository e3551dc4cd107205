import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sentencesAnswer } from '../../../src/door/scoring/attributes.ts'
import { sentencesOf } from '../../../src/door/scoring/pieces.ts'

const partsOf = (text: string) => sentencesOf(text).map(({ begin, end }) => text.slice(begin, end))

describe('the sentences of a text', () => {
  test('are told in scripts that have other signs, without the space around them', () => {
    expect(partsOf(' You left.  Why? ')).toEqual(['You left.', 'Why?'])
    expect(partsOf('你好。再见！')).toEqual(['你好。', '再见！'])
    expect(partsOf('नमस्ते। ठीक है।')).toEqual(['नमस्ते।', 'ठीक है।'])
    expect(partsOf('no sign at all')).toEqual(['no sign at all'])
    expect(partsOf(' \n\t ')).toEqual([])
  })

  test('hold all of it, in order, in at most thirty parts', () => {
    const texts = fc.array(fc.constantFrom('A. ', 'Oh! ', '\n', ' ', 'b c ', '😀. ', '。', '\u0301', '"', '(X.) '), {
      maxLength: 300,
    })
    fc.assert(
      fc.property(texts, (words) => {
        const text = words.join('')
        const parts = sentencesOf(text)
        expect(parts.length).toBeLessThanOrEqual(30)
        for (const [at, { begin, end }] of parts.entries()) {
          expect(begin).toBeGreaterThanOrEqual(parts[at - 1]?.end ?? 0)
          expect(text.slice(begin, end).trim()).toBe(text.slice(begin, end))
          expect(end).toBeGreaterThan(begin)
        }
        expect(partsOf(text).join('').replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''))
      }),
    )
    expect(sentencesOf('It is so. '.repeat(61))).toHaveLength(21)
  })
})

test('an answer has one entry for each sentence, in their order', () => {
  const rated = { toxicity: 1, severeToxicity: 1, identityAttack: 1, insult: 1, profanity: 1, threat: 1 }
  const answered = (...numbers: number[]) =>
    sentencesAnswer(2, 'perspective').safeParse({ sentences: numbers.map((sentence) => ({ sentence, ...rated })) })
      .success
  expect([answered(1, 2), answered(2, 1), answered(1), answered(1, 1), answered(1, 2, 3)]).toEqual([
    true,
    false,
    false,
    false,
    false,
  ])
})
