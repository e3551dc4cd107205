import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { loadSettings } from '../../config/load.ts'
import { checkScale } from '../../src/app/commands/model-scales.ts'
import { type PlainPair, plainPairs, roleQuestions } from '../../src/app/commands/role-questions.ts'
import { readReply } from '../../src/models/read-answer.ts'
import { scaledNumbers, scalesOf } from '../../src/models/scales.ts'
import { boundedScore, probability, wholeScore } from '../../src/protocols/answer-fields.ts'

const SETTINGS = loadSettings({ OPENAI_API_KEY: 'none' })
const PAIRS = plainPairs(SETTINGS)
/** Every form of every role, by the role's name and what tells the form from others of the role. */
const FORMS = new Map(
  [...PAIRS.map(({ role, higher }) => ({ role, ask: higher.ask })), ...roleQuestions(SETTINGS)].map(
    ({ role, ask }) =>
      [`${role} ${ask.stage} ${JSON.stringify(z.toJSONSchema(ask.answer)).length}`, ask.answer] as const,
  ),
)
const SCORING = PAIRS.filter(({ higher }) => scalesOf(higher.ask.answer).length > 0)

type Json = { readonly [keyword: string]: unknown }

/** An answer in this form, in which `numberFor` gives each score of this form. */
function answerIn(json: Json, numberFor: (form: Json) => unknown): unknown {
  const { type, enum: words, properties, items, minItems, maxItems } = json
  if (Array.isArray(words)) return words.at(-1)
  if (type === 'object')
    return Object.fromEntries(
      Object.entries(properties as Record<string, Json>).map(([key, one]) => [
        key,
        // A number that only counts is no score.
        key === 'comment' || key === 'sentence' ? 1 : answerIn(one, numberFor),
      ]),
    )
  if (type === 'array')
    return Array.from({ length: Math.min(Number(minItems ?? 1), Number(maxItems ?? 1)) }, () =>
      answerIn(items as Json, numberFor),
    )
  return type === 'number' || type === 'integer' ? numberFor(json) : 'word'
}

/** What stands at this part of a form's scale. */
function onScale({ type, minimum, maximum }: Json, position: number): number {
  const number = Number(minimum) + position * (Number(maximum) - Number(minimum))
  return type === 'integer' ? Math.round(number) : number
}

/** Rules and labels that go together. */
function ruled(given: unknown): unknown {
  const one = given as { rule?: string; label?: string }
  if (one.rule !== undefined) one.label = one.rule === 'confirmation' ? 'unsafe' : 'safe'
  return given
}

const read = (given: unknown, schema: z.ZodType) => readReply({ text: JSON.stringify(given), finish: 'stop' }, schema)

test('every role is asked about plain texts that gives a score, or a label', () => {
  const asked = new Set(PAIRS.map(({ role, higher }) => `${role} ${higher.ask.stage}`))
  expect([...asked].toSorted()).toEqual([
    'counterspeech.scorer score',
    'hate.judge judge',
    'hate.perspective perspective',
    'moderator score',
    'rumor.debater debate',
    'rumor.debater opinion',
    'rumor.judge judge',
    'rumor.scorer stance',
    'rumor.scorer subjectivity',
    'safety.arbiter arbitrate',
    'safety.loose loose',
    'safety.strict strict',
  ])
  expect(SCORING.filter(({ role }) => role === 'moderator')).toHaveLength(7)
})

test.each([...FORMS])('answers on the right scale are read as %s, harmless ones among them', (_, schema) => {
  const json = z.toJSONSchema(schema) as Json
  const position = fc.oneof(fc.constantFrom(0, 0.01, 1), fc.double({ min: 0, max: 1, noNaN: true }))
  let [refused, asked] = [0, 0]
  fc.assert(
    fc.property(fc.infiniteStream(position), (positions) => {
      const given = ruled(answerIn(json, (form) => onScale(form, positions.next().value ?? 0)))
      asked++
      if (!read(given, schema).readable) refused++
    }),
    { numRuns: 1_000 },
  )
  expect(asked).toBe(1_000)
  expect(refused / asked).toBeLessThanOrEqual(0.001)
})

test.each(SCORING.map(({ role, higher }) => [role, higher.ask.answer] as const))(
  'a set with one score beyond its scale is not read as %s, and the scale is said',
  (_, schema) => {
    const given = ruled(answerIn(z.toJSONSchema(schema) as Json, (form) => onScale(form, 0)))
    const [first] = scaledNumbers(given, schema)
    if (first === undefined) throw new Error('no score')
    const last = first.path.at(-1) ?? ''
    const holder = first.path.slice(0, -1).reduce<unknown>((at, key) => (at as Json)[key], given) as Record<
      string,
      number
    >
    holder[last] = 250
    expect(read(given, schema)).toMatchObject({
      readable: false,
      why: `${first.path.join('.')}: not on its scale, ${first.scale}`,
    })
  },
)

/** What a model that means another scale gives for a part of it. */
const OTHER_SCALES: Readonly<Record<string, (position: number) => unknown>> = {
  '0 to 1': (position) => position,
  '0 to 1, in whole numbers': (position) => Math.round(position),
  '0 to 1, in tenths': (position) => Math.round(position * 10) / 10,
  '-1 to 1': (position) => 2 * position - 1,
  '-1, 0, 1': (position) => Math.round(2 * position - 1),
  '1 to 5': (position) => Math.round(1 + 4 * position),
  '0 to 5': (position) => Math.round(5 * position),
  '1 to 10': (position) => Math.round(1 + 9 * position),
  '0 to 10': (position) => Math.round(10 * position),
  '0 to 10, with fractions': (position) => 10 * position,
  '0 to 100': (position) => Math.round(100 * position),
  '-100 to 100': (position) => Math.round(200 * position - 100),
  'percents as text': (position) => `${Math.round(100 * position)}%`,
  'numbers of ten as text': (position) => `${Math.round(10 * position)}/10`,
  'the opposite order': (position) => 1 - position,
  'the opposite order, of a hundred': (position) => Math.round(100 * (1 - position)),
}

describe.each(Object.entries(OTHER_SCALES))('a model that scores on %s', (_, numberOf) => {
  /** Its answer in a form where a score that is this part of the right scale would be right. */
  const answerAt = (schema: z.ZodType, position: number) =>
    read(ruled(answerIn(z.toJSONSchema(schema) as Json, () => numberOf(position))), schema)
  const highest = (answer: unknown, schema: z.ZodType) => {
    const scores = scaledNumbers(answer, schema).filter(({ isAside }) => !isAside)
    return Math.max(...scores.map(({ position }) => position))
  }

  test.each(SCORING.map((pair) => [pair.role, pair] as const))(
    'is met as %s by doctor, or never gives the opposite',
    async (__, pair: PlainPair) => {
      const schema = pair.higher.ask.answer
      const met = await checkScale(pair, async (ask) => {
        const reading = answerAt(schema, ask === pair.higher.ask ? 0.97 : 0.03)
        return reading.readable ? { answer: reading.answer, why: null } : { answer: null, why: reading.why }
      })
      // Nothing rests on its scores then (models/fallback.ts).
      if (met !== null && met.why !== null) return
      for (const position of [0, 0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99, 1]) {
        const reading = answerAt(schema, position)
        if (!reading.readable) continue
        const at = highest(reading.answer, schema)
        // In whole numbers of a small scale the middle may be rounded to either side.
        expect(position < 0.5 ? at <= 0.5 : at >= 0.5, `${position} is read as ${at}`).toBe(true)
      }
    },
  )
})

describe('a model that answers in words', () => {
  const WORDS = PAIRS.filter(({ higher }) => scalesOf(higher.ask.answer).length === 0)

  test.each(WORDS.map((pair) => [pair.role, pair] as const))(
    'is named as %s where it answers the wrong way round, and not where it answers right, or both alike',
    async (_, pair) => {
      const [field = '', { enum: offered = [] } = {}] =
        Object.entries(
          (z.toJSONSchema(pair.higher.ask.answer).properties ?? {}) as Record<string, { enum?: string[] }>,
        ).find(([, form]) => Array.isArray(form.enum)) ?? []
      const wordFor = (words: readonly string[]) => offered.find((one) => words.includes(one.toLowerCase()))
      const [high, low] = [wordFor(pair.higher.words), wordFor(pair.lower.words)]
      if (high === undefined || low === undefined) throw new Error(`no words: ${offered.join()}`)
      const said = async (higher: string, lower: string) =>
        (
          await checkScale(pair, async (ask) => ({
            answer: { [field]: ask === pair.higher.ask ? higher : lower },
            why: null,
          }))
        )?.why
      expect(await said(low, high)).toContain('the other way round')
      for (const [higher, lower] of [
        [high, low],
        [high, high],
        [low, low],
      ] as const)
        expect(await said(higher, lower)).toBeNull()
      expect(await said('no word of the form', low)).toBeUndefined()
    },
  )
})

test('a probability of a hundred shows that the score beside it is of a hundred, and alone costs only itself', () => {
  const both = z.object({ score: boundedScore(0, 1), probability })
  expect(read({ score: 1, probability: 95 }, both)).toMatchObject({ readable: false })
  expect(read({ score: 1, probability: 0.95 }, both)).toMatchObject({ readable: true })
  expect(read({ probability: 95 }, z.object({ probability }))).toEqual({
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

test.each<[string, (nth: number) => number, boolean]>([
  ['fractions of one', (nth) => (nth === 0 ? 0.97 : 0.02), false],
  ['running sums of fractions of one', (nth) => [0.97, 1.72, 3.41, 3.85][nth] ?? 3.85, false],
  ['fractions of a hundred', (nth) => [97.5, 12.25][nth] ?? 0.5, true],
  ['a fraction beside whole ones', (nth) => [2, 1.5][nth] ?? 0, true],
  ['nothing but noughts and ones', (nth) => nth % 2, true],
])('the door’s scores are read as readers of a hundred only where they can be: %s', (_, numberFor, readable) => {
  for (const { higher } of SCORING.filter(({ role }) => role === 'moderator')) {
    const schema = higher.ask.answer
    let nth = 0
    const given = answerIn(z.toJSONSchema(schema) as Json, () => numberFor(nth++))
    expect(read(given, schema).readable).toBe(readable)
  }
})
