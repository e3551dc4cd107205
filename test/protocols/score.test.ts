import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { jsonSchema } from '../../src/models/format.ts'
import { readAnswer } from '../../src/models/read-answer.ts'
import { boundedScore, wholeScore } from '../../src/protocols/answer-fields.ts'

const read = <Answer>(schema: z.ZodType<Answer>, value: unknown) => {
  const parsed = schema.safeParse(value)
  return parsed.success ? parsed.data : 'unreadable'
}

describe('a score on a scale', () => {
  const stance = boundedScore(-1, 1)

  test.each([
    [1.0000000000000002, 1],
    [-1.0000000000000002, -1],
    [1.000001, 1],
    [-1.0000005, -1],
  ])('that misses the end by rounding is the end: %d', (given, score) => {
    expect(read(stance, given)).toBe(score)
    expect(read(boundedScore(0, 1), -1e-9)).toBe(0)
  })

  test.each([1.00001, -1.00001, 1.1, 2, 80, Number.POSITIVE_INFINITY, Number.NaN, null, undefined, '1', [1], true])(
    'that is beyond it, or no number, is no score: %o',
    (given) => {
      expect(read(stance, given)).toBe('unreadable')
    },
  )

  test('within the scale stays as it is', () => {
    fc.assert(
      fc.property(fc.double({ min: -1, max: 1, noNaN: true }), (score) => {
        expect(read(stance, score)).toBe(score)
      }),
    )
  })

  test('has the JSON Schema of a number with these bounds', () => {
    expect(jsonSchema(z.object({ reason: z.string(), score: stance }))).toEqual(
      jsonSchema(z.object({ reason: z.string(), score: z.number().min(-1).max(1) })),
    )
    expect(jsonSchema(z.object({ score: wholeScore(1, 5) }))).toEqual(
      jsonSchema(z.object({ score: z.int().min(1).max(5) })),
    )
  })

  test.each([
    ['{"score": "1.0000000000000002"}', 1],
    ['{"score": "0,8"}', 0.8],
    ['{"score": "80%"}', 0.8],
    ['{"score": "8/10"}', 0.8],
    ['{"score": 1.0000000000000002}', 1],
    ['Score: 0.5', 0.5],
  ])('is read in the ways in which models write numbers: %s', (text, score) => {
    expect(readAnswer(text, z.object({ score: boundedScore(0, 1) }))).toEqual({ readable: true, answer: { score } })
  })
})

describe('a whole score', () => {
  const rating = wholeScore(1, 5)

  test.each([
    [4.0000001, 4],
    [3.9999999, 4],
    [5.0000000001, 5],
    [1, 1],
  ])('is a whole number that lost nothing but rounding: %d', (given, score) => {
    expect(read(rating, given)).toBe(score)
  })

  test.each([4.5, 4.00001, 0, 6, 0.5, '4', null])(
    'is nothing between two, beyond the scale or of another type: %o',
    (given) => {
      expect(read(rating, given)).toBe('unreadable')
    },
  )

  test('is read from a part of its own scale', () => {
    expect(readAnswer('{"score": "4/5"}', z.object({ score: rating }))).toEqual({
      readable: true,
      answer: { score: 4 },
    })
  })
})
