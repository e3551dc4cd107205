import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { readAnswer } from '../../src/gateway/read-answer.ts'
import { stanceAnswer, stanceBatchAnswer, subjectivityAnswer, view } from '../../src/protocols/rumor/answers.ts'

const batch = stanceBatchAnswer(3)
const FAKE = { reasoning: 'r', answer: 'Fake' }
const fake = JSON.stringify(FAKE)
const real = JSON.stringify({ reasoning: 'r', answer: 'Real' })
const score = (value: unknown) => `{"reason":"r","score":${value}}`
const item = (comment: unknown, value: unknown) => `{"comment":${comment},"reason":"r","score":${value}}`
const read = (text: string, schema: z.ZodType) => {
  const reading = readAnswer(text, schema)
  return reading.readable ? reading.answer : 'unreadable'
}

describe('an answer that can be read', () => {
  test.each<[string, string, z.ZodType, unknown]>([
    ['bare JSON', fake, view, FAKE],
    ['white space around it', `\n\t ${fake}\n`, view, FAKE],
    ['a byte order mark before it', `\ufeff${fake}`, view, FAKE],
    ['pretty-printed', JSON.stringify(FAKE, null, 2), view, FAKE],
    ['a code fence', `\`\`\`json\n${fake}\n\`\`\``, view, FAKE],
    ['a code fence that is cut', `\`\`\`json\n${fake}`, view, FAKE],
    ['prose around it', `Let me think. My answer: ${fake}\nI hope that this helps!`, view, FAKE],
    ['braces in the prose before it', `On {claim} I say: ${fake}`, view, FAKE],
    ['an unmatched brace in the prose after it', `${fake} :-{`, view, FAKE],
    ['thoughts before it', `<think>Is it {so}?</think>\n${fake}`, view, FAKE],
    [
      'braces in a string',
      `Well: {"reasoning":"a } b { c","answer":"Fake"}`,
      view,
      { ...FAKE, reasoning: 'a } b { c' },
    ],
    [
      'escaped quotes and braces in a string',
      String.raw`So: {"reasoning":"he said \"{\\\" twice","answer":"Fake"}`,
      view,
      { ...FAKE, reasoning: 'he said "{\\" twice' },
    ],
    [
      'another answer quoted in a string',
      JSON.stringify({ reasoning: `they wrote ${real}`, answer: 'Fake' }),
      view,
      { reasoning: `they wrote ${real}`, answer: 'Fake' },
    ],
    ['nested objects beside it', `{"reasoning":"r","answer":"Fake","more":{"a":{"b":[{}]}}}`, view, FAKE],
    ['two objects of which only the second fits', `{"thought":"hm"} ${fake}`, view, FAKE],
    ['the same object twice', `${fake}\n${fake}`, view, FAKE],
    ['the other order of keys', '{"answer":"Fake","reasoning":"r"}', view, FAKE],
    ['a choice in capitals', '{"reasoning":"r","answer":"FAKE"}', view, FAKE],
    ['a choice with a full stop', '{"reasoning":"r","answer":"Fake."}', view, FAKE],
    ['a choice in marks', '{"reasoning":"r","answer":" **fake** "}', view, FAKE],
    ['a choice in quotes', String.raw`{"reasoning":"r","answer":"\"Fake\""}`, view, FAKE],
    ['yes', '{"reason":"r","answer":"yes"}', subjectivityAnswer, { reason: 'r', answer: 'Yes' }],
    ['a number', score(0.8), stanceAnswer, { reason: 'r', score: 0.8 }],
    ['a whole number', score(1), stanceAnswer, { reason: 'r', score: 1 }],
    ['nought', score('0.0'), stanceAnswer, { reason: 'r', score: 0 }],
    ['a number as a string', score('"-0.8"'), stanceAnswer, { reason: 'r', score: -0.8 }],
    ['a number as a string with a sign and spaces', score('" +0.5 "'), stanceAnswer, { reason: 'r', score: 0.5 }],
    ['the ends of the range', score(-1), stanceAnswer, { reason: 'r', score: -1 }],
    ['a batch', `{"scores":[${item(1, 0.5)}]}`, batch, { scores: [{ comment: 1, reason: 'r', score: 0.5 }] }],
    [
      'a batch with all its numbers as strings',
      `{"scores":[${item('"1"', '"0.5"')},${item('"3"', '"-1"')}]}`,
      batch,
      {
        scores: [
          { comment: 1, reason: 'r', score: 0.5 },
          { comment: 3, reason: 'r', score: -1 },
        ],
      },
    ],
  ])('%s', (_, text, schema, answer) => {
    expect(read(text, schema)).toEqual(answer)
  })
})

describe('what is no answer stays unread', () => {
  test.each<[string, string, z.ZodType]>([
    ['nothing', '', view],
    ['white space', ' \n', view],
    ['null', 'null', view],
    ['a word', 'Fake', view],
    ['a sentence', 'I choose: Fake', view],
    ['a string', '"Fake"', view],
    ['a number', '0.8', stanceAnswer],
    ['an empty object', '{}', view],
    ['an array of words', '["Fake"]', view],
    ['two answers in an array', `[${fake},${real}]`, view],
    ['a bare array for a batch', `[${item(1, 0.5)}]`, batch],
    ['a web page', '<!doctype html><html><style>p{color:red}</style><p>502 Bad Gateway</p></html>', view],
    ['only the label', '{"answer":"Fake"}', view],
    ['only the reasons', '{"reasoning":"r"}', view],
    ['a label that is null', '{"reasoning":"r","answer":null}', view],
    ['a label that is true', '{"reason":"r","answer":true}', subjectivityAnswer],
    ['no choice', '{"reasoning":"r","answer":""}', view],
    ['both choices', '{"reasoning":"r","answer":"Fake or Real"}', view],
    ['a choice that is denied', '{"reasoning":"r","answer":"Not Fake"}', view],
    ['a choice in a list', '{"reasoning":"r","answer":["Fake"]}', view],
    ['another choice', '{"reasoning":"r","answer":"Unverified"}', view],
    ['an echo of the question', '{"reasoning": "your view", "answer": "Fake" or "Real"}', view],
    ['cut before its end', '{"reasoning":"r","answer":"Fa', view],
    ['cut after its label', '{"reasoning":"r","answer":"Fake"', view],
    ['a batch that is cut', `{"scores":[${item(1, 0.5)},${item(2, 0.5)},{"comm`, batch],
    ['keys in other letters', '{"Reasoning":"r","Answer":"Fake"}', view],
    ['single quotes', "{'reasoning':'r','answer':'Fake'}", view],
    ['a full-width colon', '{"reasoning"："r","answer"："Fake"}', view],
    ['full-width digits', score('"０.８"'), stanceAnswer],
    ['full-width digits that are no string', score('０.８'), stanceAnswer],
    ['a score above the range', score(1.01), stanceAnswer],
    ['a score below the range', score(-7), stanceAnswer],
    ['a score above the range as a string', score('"2"'), stanceAnswer],
    ['a percentage', score('"80%"'), stanceAnswer],
    ['a fraction', score('"8/10"'), stanceAnswer],
    ['a range', score('"0.5-0.8"'), stanceAnswer],
    ['a decimal comma', score('"0,8"'), stanceAnswer],
    ['hexadecimal', score('"0x1"'), stanceAnswer],
    ['an empty score', score('""'), stanceAnswer],
    ['a score that is null', score('null'), stanceAnswer],
    ['NaN', score('NaN'), stanceAnswer],
    ['Infinity', score('Infinity'), stanceAnswer],
    ['NaN as a string', score('"NaN"'), stanceAnswer],
    ['Infinity as a string', score('"-Infinity"'), stanceAnswer],
    ['a number beyond all numbers', score('1e999'), stanceAnswer],
    ['an empty batch', '{"scores":[]}', batch],
    ['a number that no comment has', `{"scores":[${item(4, 0.5)}]}`, batch],
    ['comment 0', `{"scores":[${item(0, 0.5)}]}`, batch],
    ['a comment and a half', `{"scores":[${item(1.5, 0.5)}]}`, batch],
    ['a comment scored twice', `{"scores":[${item(1, 0.5)},${item(1, -0.5)}]}`, batch],
    ['a comment scored twice, once as a string', `{"scores":[${item(1, 0.5)},${item('"1"', -0.5)}]}`, batch],
    ['one score of a batch out of range', `{"scores":[${item(1, 0.5)},${item(2, 5)}]}`, batch],
  ])('%s', (_, text, schema) => {
    expect(read(text, schema)).toBe('unreadable')
  })
})

describe('a label that is not the model’s own', () => {
  test('is not taken from a text that it quotes before its answer: two that differ are no answer', () => {
    expect(read(`The comment tells me to say ${real}. I do not. ${fake}`, view)).toBe('unreadable')
    expect(read(`${fake}\nWait, no: ${real}`, view)).toBe('unreadable')
  })

  test('is not taken from inside an answer that is broken', () => {
    expect(read(`{"reasoning":"the comment ${real} is spam","answer":"Fake"}`, view)).toBe('unreadable')
    expect(read(`{"reasoning":"the comment ${real} is spam","answ`, view)).toBe('unreadable')
  })

  test('is not taken from inside another object, with or without prose around it', () => {
    const quoting = `{"example":${real},"answer":"Fake"}`
    expect(read(quoting, view)).toBe('unreadable')
    expect(read(`Here: ${quoting}`, view)).toBe('unreadable')
  })
})

describe('why it could not be read', () => {
  test('says where and what, and repeats no word of the text', () => {
    expect(readAnswer('{"reasoning":"SECRET","answer":"SECRET"}', view)).toEqual({
      readable: false,
      why: 'answer: invalid_value',
    })
    expect(readAnswer('SECRET', view)).toEqual({ readable: false, why: 'no JSON object' })
    for (const text of ['{"SECRET":1}', '"SECRET"', '["SECRET"]', '{"scores":["SECRET"]}', '{"scores":{"SECRET":1}}'])
      for (const schema of [view, batch] as z.ZodType[]) {
        const reading = readAnswer(text, schema)
        expect(reading.readable ? '' : reading.why).not.toMatch(/secret/i)
      }
  })
})

describe('any text at all', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '{',
      '}',
      '"',
      '\\',
      '[',
      ']',
      ':',
      ',',
      fake,
      real,
      '"answer"',
      '"Fake"',
      '__proto__',
      '\n',
      '\ud800',
    ),
    fc.string({ maxLength: 5 }),
  )
  const text = fc.array(piece, { maxLength: 30 }).map((all) => all.join(''))

  test('is read or is not, without an error, and what is read fits the schema', () => {
    fc.assert(
      fc.property(text, (said) => {
        const reading = readAnswer(said, view)
        if (reading.readable) expect(view.parse(reading.answer)).toEqual(reading.answer)
      }),
      { numRuns: 2_000 },
    )
  })

  test('that is a JSON value leaves the value as it was', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const answer = { reasoning: JSON.stringify(value), answer: 'Real' as const }
        expect(read(JSON.stringify(answer), view)).toEqual(answer)
        expect(read(`So: ${JSON.stringify(answer)}.`, view)).toEqual(answer)
      }),
    )
  })

  const LONG = 60_000
  test.each([
    ['opening braces', '{'.repeat(LONG)],
    ['pairs in pairs', '{'.repeat(LONG) + '}'.repeat(LONG)],
    ['objects in objects', `${'{"a":'.repeat(LONG)}1${'}'.repeat(LONG)}`],
    ['braces and quotes', '{"'.repeat(LONG)],
    ['small objects', '{"a":1} '.repeat(LONG)],
    ['quotes', `{${'"'.repeat(LONG)}`],
    ['words', `{"reasoning":"${'word '.repeat(LONG)}`],
  ])('of %s is done with before long', { timeout: 1_000 }, (_, said) => {
    expect(read(said, view)).toBe('unreadable')
  })

  test('that is very long and ends in the answer is read', { timeout: 1_000 }, () => {
    expect(read(`${'word '.repeat(LONG)}${fake}`, view)).toEqual(FAKE)
  })

  test.each([
    ['arrays', '['.repeat(LONG) + ']'.repeat(LONG)],
    ['objects', `{"reasoning":${'{"a":'.repeat(LONG)}1${'}'.repeat(LONG)},"answer":"Fake"}`],
  ])('of %s within one another, ever deeper, is unreadable and no error', (_, said) => {
    expect(read(said, view)).toBe('unreadable')
  })
})
