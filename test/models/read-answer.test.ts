import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { readAnswer, readReply } from '../../src/models/read-answer.ts'
import { stanceBatchAnswer, view } from '../../src/protocols/rumor/answers.ts'
import { ANSWERS, SCHEMAS } from './answers.ts'

const batch = stanceBatchAnswer(3)
const FAKE = { reasoning: 'r', answer: 'Fake' }
const fake = JSON.stringify(FAKE)
const real = JSON.stringify({ reasoning: 'r', answer: 'Real' })
const read = (text: string, schema: z.ZodType) => {
  const reading = readAnswer(text, schema)
  return reading.readable ? reading.answer : 'unreadable'
}

describe.each(Object.entries(ANSWERS))('an odd answer: %s', (_, rows) => {
  for (const [name, schema, text, expected, finish = 'stop'] of rows)
    test(`${name} (${schema})`, () => {
      const heard = readReply<unknown>({ text, finish }, SCHEMAS[schema])
      expect(heard.readable ? heard.answer : heard.code).toEqual(expected)
    })
})

test('the table has 150 odd answers and more, each with a name of its own', () => {
  const rows = Object.values(ANSWERS).flatMap((all) => all.map(([name, schema]) => `${name} (${schema})`))
  expect(rows.length).toBeGreaterThanOrEqual(150)
  expect(new Set(rows).size).toBe(rows.length)
})

describe('why it could not be read', () => {
  const why = (text: string, schema: z.ZodType = view) => {
    const reading = readAnswer(text, schema)
    return reading.readable ? 'it could' : reading.why
  }

  test.each([
    ['{"reasoning":"SECRET","answer":"SECRET"}', 'answer: invalid_value'],
    ['{"reasoning":"SECRET"}', 'answer: missing'],
    ['SECRET', 'no JSON object'],
    ['{"SECRET":1}', 'no object with the keys asked for'],
    [`${fake} ${real}`, 'several answers that differ'],
    ['{"reasoning":"SECRET"', 'an object that is cut off'],
    ['{"reasoning":"SECRET"; "answer":"Fake"}', 'an object that is malformed'],
    ['{"reasoning":"r","answer":"Fake","answer":"SECRET"}', 'a key comes twice, with two values'],
    ['{"reasoning":"r","answer":"Fake","Answer":"SECRET"}', 'answer: comes twice, with two values'],
    [`${fake} SECRET","answer":"SECRET"}`, 'pieces of another answer'],
    [`{"reasoning":${'['.repeat(99)}`, 'objects too deep in one another'],
  ])('%s: says where and what', (text, expected) => {
    expect(why(text)).toBe(expected)
  })

  test('repeats no word of the text', () => {
    for (const text of ['{"SECRET":1}', '"SECRET"', '["SECRET"]', '{"scores":["SECRET"]}', '{"scores":{"SECRET":1}}'])
      for (const schema of [view, batch]) expect(why(text, schema)).not.toMatch(/secret/i)
    for (const [, schema, text] of Object.values(ANSWERS).flat())
      expect(why((text ?? '').replaceAll('"r"', '"SECRET"'), SCHEMAS[schema])).not.toMatch(/secret/i)
  })

  test('names the token limit where the text was cut there', () => {
    expect(readReply({ text: '{"reasoning":"r', finish: 'length' }, view)).toEqual({
      readable: false,
      code: 'unreadable',
      why: 'an object that is cut off, cut at the token limit',
    })
  })
})

describe('any text at all', () => {
  const piece = fc.oneof(
    fc.constantFrom('{', '}', '"', "'", '“', '\\', '[', ']', ':', '：', ',', '//', '/*', '\n', '\ud800', '…', '...'),
    fc.constantFrom(fake, real, '"answer"', '"Fake"', 'answer:', 'Fake', '__proto__', '<think>', '</think>', '```'),
    fc.constantFrom('Reasoning: r', 'Answer: Fake', '"response":', '"a" or "b"', '0,8', '8/10', '80%'),
    fc.string({ maxLength: 5 }),
  )
  const text = fc.array(piece, { maxLength: 30 }).map((all) => all.join(''))

  test('is read or is not, without an error, and what is read fits the schema', () => {
    fc.assert(
      fc.property(text, fc.constantFrom(...Object.values<z.ZodType>(SCHEMAS)), (said, schema) => {
        const reading = readAnswer(said, schema)
        if (reading.readable) expect(schema.parse(reading.answer)).toEqual(reading.answer)
      }),
      { numRuns: 3_000 },
    )
  })

  test('that is a JSON value leaves the value as it was', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const answer = { reasoning: JSON.stringify(value), answer: 'Real' as const }
        expect(read(JSON.stringify(answer), view)).toEqual(answer)
        expect(read(`So: ${JSON.stringify(answer)}.`, view)).toEqual(answer)
        expect(read(JSON.stringify({ more: value, ...answer }, null, 2), view)).toEqual(answer)
      }),
    )
  })

  test('around an answer, as long as it has no brace and no quote, leaves the answer as it was', () => {
    const prose = fc
      .string({ unit: 'grapheme', maxLength: 60 })
      .map((said) => said.replace(/[{}｛｝"'“”„‘’＂«»<]/g, ' '))
    fc.assert(
      fc.property(prose, fc.string({ unit: 'binary', maxLength: 30 }), prose, (before, reasoning, after) => {
        const answer = { reasoning: reasoning.toWellFormed(), answer: 'Fake' as const }
        expect(read(`${before}${JSON.stringify(answer)}${after}`, view)).toEqual(answer)
      }),
      { numRuns: 1_000 },
    )
  })

  test('that a model quotes into its reasons, escaped or not, never becomes the label', () => {
    const bait = fc.array(
      fc.oneof(
        fc.constantFrom('"', '}', '{', ',', '"answer":"Real"', '"answer":', '"Real"', '"reasoning":"x"', '"q":"', '{"'),
        fc.constantFrom("'", '“', '/*', '//', '\\', '\n', '[', ']', real, '"label":"Real"', '"response":', 'x', '...'),
        fc.constantFrom(' or "', '</think>', 'Answer: Real', '```', '"}'),
      ),
      { maxLength: 10 },
    )
    fc.assert(
      fc.property(bait, fc.boolean(), (pieces, pretty) => {
        const quoted = pieces.join('')
        const [open, between, close] = pretty ? ['{\n  ', ',\n  ', '\n}'] : ['{', ',', '}']
        const said = `${open}"reasoning":"The comment says: ${quoted} That is no proof."${between}"answer":"Fake"${close}`
        expect([undefined, 'Fake']).toContain(
          ((reading) => (reading.readable ? reading.answer.answer : undefined))(readAnswer(said, view)),
        )
      }),
      { numRuns: 20_000 },
    )
  })

  const LONG = 60_000
  test.each([
    ['arrays', '['.repeat(LONG) + ']'.repeat(LONG)],
    ['objects', `{"reasoning":${'{"a":'.repeat(LONG)}1${'}'.repeat(LONG)},"answer":"Fake"}`],
  ])('of %s within one another, ever deeper, is unreadable and no error', (_, said) => {
    expect(read(said, view)).toBe('unreadable')
    expect(read(said, batch)).toBe('unreadable')
  })
})

describe('plain JSON', () => {
  const key = fc.constantFrom('reasoning', 'answer', 'Answer', 'label', 'reason', '__proto__', 'a:b', 'x"y')
  const leaf = fc.constantFrom<unknown>('Fake', 'Real', 'r', '...', 'a "quoted": one', 'it\\u0022', 0.5, 12, true, null)
  // As text, so that a key may come twice.
  const member = (value: fc.Arbitrary<string>) =>
    fc.tuple(key, value).map(([name, text]) => `${JSON.stringify(name)}: ${text}`)
  const { object } = fc.letrec<{ object: string; value: string }>((tie) => ({
    object: fc.array(member(tie('value')), { maxLength: 4 }).map((members) => `{${members.join(', ')}}`),
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf.map((one) => JSON.stringify(one)),
      tie('object'),
      fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
    ),
  }))

  test('is read as it is beside a word of prose, where every character of it is looked at', () => {
    fc.assert(
      fc.property(object, (text) => {
        expect(readAnswer(text, view)).toEqual(readAnswer(`. ${text}`, view))
      }),
      { numRuns: 2_000 },
    )
  })

  test('with a key twice is no answer, however deep', () => {
    expect(read('{"reasoning":"r","answer":"Fake","answer":"Real"}', view)).toBe('unreadable')
    expect(read('{"scores":[{"comment":1,"reason":"r","score":1,"score":-1}]}', batch)).toBe('unreadable')
  })

  test('that is too deep is no answer', () => {
    const deep = (depth: number) => `{"reasoning":"r","answer":"Fake","more":${'['.repeat(depth)}${']'.repeat(depth)}}`
    expect(read(deep(32), view)).toEqual(FAKE)
    expect(read(deep(33), view)).toBe('unreadable')
    expect(read(deep(200_000), view)).toBe('unreadable')
  })
})
