import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { loadSettings } from '../../config/load.ts'
import { scalePairs } from '../../src/app/commands/role-questions.ts'
import { readReply } from '../../src/models/read-answer.ts'
import { scaledNumbers, scalesOf } from '../../src/models/scales.ts'
import { boundedScore, probability, wholeScore } from '../../src/protocols/answer-fields.ts'

const ROLES = scalePairs(loadSettings({ OPENAI_API_KEY: 'none' }))

type Json = { readonly [keyword: string]: unknown }

/** An answer in this form, with the next of these positions for each score on its scale. */
function answerIn(json: Json, next: () => number): unknown {
  const { type, enum: words, properties, items, minimum, maximum, minItems } = json
  if (Array.isArray(words)) return words.at(-1)
  if (type === 'object')
    return Object.fromEntries(
      Object.entries(properties as Record<string, Json>).map(([key, one]) => [key, answerIn(one, next)]),
    )
  if (type === 'array') return Array.from({ length: Number(minItems ?? 1) }, () => answerIn(items as Json, next))
  if (type !== 'number' && type !== 'integer') return 'word'
  const number = Number(minimum) + next() * (Number(maximum) - Number(minimum))
  return type === 'integer' ? Math.round(number) : number
}

test.each(ROLES.map(({ role, higher }) => [role, higher.ask.answer] as const))(
  'answers on the right scale are read as %s, harmless ones among them',
  (_, schema) => {
    const json = z.toJSONSchema(schema) as Json
    const position = fc.oneof(fc.constantFrom(0, 0.01, 1), fc.double({ min: 0, max: 1, noNaN: true }))
    let [refused, asked] = [0, 0]
    fc.assert(
      fc.property(fc.infiniteStream(position), (positions) => {
        const given = answerIn(json, () => positions.next().value ?? 0) as { rule?: string; label?: string }
        if (given.rule !== undefined) given.label = given.rule === 'confirmation' ? 'unsafe' : 'safe'
        asked++
        if (!readReply({ text: JSON.stringify(given), finish: 'stop' }, schema).readable) refused++
      }),
      { numRuns: 1_000 },
    )
    expect(asked).toBe(1_000)
    expect(refused / asked).toBeLessThanOrEqual(0.001)
  },
)

test.each(ROLES.map(({ role, higher }) => [role, higher.ask.answer] as const))(
  'a set with one score beyond its scale is not read as %s, and the scale is said',
  (_, schema) => {
    const given = answerIn(z.toJSONSchema(schema) as Json, () => 0) as { rule?: string; label?: string }
    if (given.rule !== undefined) given.label = given.rule === 'confirmation' ? 'unsafe' : 'safe'
    const [first] = scaledNumbers(given, schema)
    if (first === undefined) throw new Error('no score')
    const last = first.path.at(-1) ?? ''
    const holder = first.path.slice(0, -1).reduce<unknown>((at, key) => (at as Json)[key], given) as Record<
      string,
      number
    >
    holder[last] = 250
    const read = readReply({ text: JSON.stringify(given), finish: 'stop' }, schema)
    expect(read).toMatchObject({ readable: false, why: `${first.path.join('.')}: not on its scale, ${first.scale}` })
  },
)

test('a probability of a hundred shows that the score beside it is of a hundred, and alone costs only itself', () => {
  const read = (schema: z.ZodType, answer: object) =>
    readReply({ text: JSON.stringify(answer), finish: 'stop' }, schema)
  const both = z.object({ score: boundedScore(0, 1), probability })
  expect(read(both, { score: 1, probability: 95 })).toMatchObject({ readable: false })
  expect(read(both, { score: 1, probability: 0.95 })).toMatchObject({ readable: true })
  expect(read(z.object({ probability }), { probability: 95 })).toEqual({
    readable: true,
    answer: { probability: null },
  })
})

test('the scales of a form are those of its scores', () => {
  const form = z.object({
    score: wholeScore(1, 5),
    all: z.array(z.object({ comment: z.int().min(1).max(3), score: boundedScore(-1, 1) })),
    probability,
  })
  expect(scalesOf(form)).toEqual(['1 to 5', '-1 to 1'])
})
