import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { readAnswer } from '../../src/models/read-answer.ts'
import { assessment, briefAnswer, paperReport as report } from '../../src/protocols/safety/answers.ts'
import { lessonAnswer } from '../../src/protocols/safety/curation.ts'

/** What the gateway makes of this answer; 'unreadable' where it asks once more. */
function read<Answer>(schema: z.ZodType<Answer>, answer: unknown): Answer | 'unreadable' {
  const reading = readAnswer(JSON.stringify(answer), schema)
  return reading.readable ? reading.answer : 'unreadable'
}

const REPORT = {
  reasoning: 'it sells a weapon',
  evidence: ['a rifle for sale'],
  rule: 'confirmation' as const,
  categories: ['weapons'],
  score: 0.9,
  label: 'unsafe' as const,
}
const compared = (precedent: number, change: object = {}) => ({
  precedent,
  keyCues: ['a price'],
  differences: 'none',
  ...change,
})
const brief = (...precedents: unknown[]) => ({ summary: 's', precedents, patterns: 'p' })

describe('an arbiter’s report', () => {
  test.each([
    [1.0000000000000002, 1],
    [-1e-9, 0],
  ])('with a score that misses the end of the scale by rounding (%d) is read', (score, meant) => {
    expect(read(report, { ...REPORT, score })).toEqual({ ...REPORT, score: meant })
    expect(read(assessment, { reasoning: 'r', score })).toEqual({ reasoning: 'r', score: meant })
  })

  test.each([[['a rifle for sale', '']], [['', 'a rifle for sale', ' \n']], [[null, 'a rifle for sale']]])(
    'with an empty entry of evidence loses that entry alone: %j',
    (evidence) => {
      expect(read(report, { ...REPORT, evidence, categories: ['', 'weapons'] })).toEqual(REPORT)
    },
  )

  test('with evidence that is no text, or a score on another scale, can’t be read', () => {
    expect(read(report, { ...REPORT, evidence: [{ quote: 'a' }] })).toBe('unreadable')
    expect(read(report, { ...REPORT, evidence: 'a rifle' })).toBe('unreadable')
    expect(read(report, { ...REPORT, score: 9 })).toBe('unreadable')
  })
})

describe('a brief', () => {
  test.each([
    ['no differences', compared(2, { differences: null })],
    ['key cues that are none', compared(2, { keyCues: 'a price' })],
    ['nothing but its number', { precedent: 2 }],
    ['nothing at all', null],
  ])('with %s for one precedent loses that entry alone', (_, bad) => {
    expect(read(briefAnswer(3), brief(compared(1), bad, compared(3)))).toEqual(brief(compared(1), compared(3)))
  })

  test('with an empty cue loses that cue alone', () => {
    const cues = compared(1, { keyCues: ['', 'a price', null] })
    expect(read(briefAnswer(2), brief(cues))).toEqual(brief(compared(1)))
  })

  test.each([
    ['a number twice', [compared(1), compared(2), compared(2)]],
    ['numbers from 0', [compared(0), compared(1), compared(2)]],
    ['one precedent too many', [compared(1), compared(2), compared(3), compared(4)]],
    ['a number twice, once with nothing to read', [compared(1), compared(2), compared(2, { differences: null })]],
    ['an entry without a number', [compared(1), { keyCues: ['a price'], differences: 'none' }]],
    ['half a number', [compared(1), compared(2.5)]],
  ])('with %s can’t be read: nobody knows which precedent is meant', (_, entries) => {
    expect(read(briefAnswer(3), brief(...entries))).toBe('unreadable')
  })

  test('of which no entry can be read can’t be read', () => {
    expect(read(briefAnswer(2), brief({ precedent: 1 }, { precedent: 2 }))).toBe('unreadable')
    expect(read(briefAnswer(2), brief())).toBe('unreadable')
  })
})

test('an empty key cue of the curator’s costs the others nothing', () => {
  expect(read(lessonAnswer, { reasoning: 'r', keyCues: ['a', ''], summary: 's' })).toEqual({
    reasoning: 'r',
    keyCues: ['a'],
    summary: 's',
  })
  expect(read(lessonAnswer, { reasoning: 'r', keyCues: ['', ' '], summary: 's' })).toBe('unreadable')
})
