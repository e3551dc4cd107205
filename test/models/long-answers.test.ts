import { describe, expect, test } from 'vitest'
import { readAnswer } from '../../src/models/read-answer.ts'
import { view } from '../../src/protocols/rumor/answers.ts'

// By themselves, since a second means something only where the code runs as it is shipped, not instrumented.

const FAKE = { reasoning: 'r', answer: 'Fake' }
const read = (text: string) => {
  const reading = readAnswer(text, view)
  return reading.readable ? reading.answer : 'unreadable'
}
const LONG = 60_000
/** Most time for one, in ms: a linear reading takes some milliseconds, a quadratic one many seconds. */
const SOON = 5_000

describe('a long answer', () => {
  test.each([
    ['opening braces', '{'.repeat(1_000_000)],
    ['pairs in pairs', '{'.repeat(LONG) + '}'.repeat(LONG)],
    ['pairs beside pairs', '{}'.repeat(LONG)],
    ['objects in objects', `${'{"a":'.repeat(LONG)}1${'}'.repeat(LONG)}`],
    ['braces and quotes', '{"'.repeat(LONG)],
    ['braces and spaces', `{${' '.repeat(20)}`.repeat(LONG)],
    ['braces and long words', `{${'a'.repeat(99)}`.repeat(LONG / 10)],
    ['small objects', '{"a":1} '.repeat(LONG)],
    ['small wrappers', '{"output":{"output":1}} '.repeat(LONG / 10)],
    ['quotes', `{${'"'.repeat(LONG)}`],
    ['quotes outside', '"answer'.repeat(LONG)],
    ['comments of code', `{${'/*'.repeat(LONG)}`],
    ['backslashes', `{"reasoning":"${'\\'.repeat(LONG)}`],
    ['alternatives', `{"reasoning":${'"a" or '.repeat(LONG)}`],
    ['labels', 'Answer: Fake\n'.repeat(LONG)],
    ['line ends', '\n'.repeat(LONG)],
    ['stars', '*'.repeat(LONG)],
    ['spaces', ' '.repeat(LONG)],
    ['a long number', `{"reasoning":"r","answer":${'1'.repeat(LONG)}}`],
    ['a long label', `{"reasoning":"r","answer":"${'. '.repeat(LONG)}x"}`],
    ['thoughts', '<think>'.repeat(LONG)],
    ['words', `{"reasoning":"${'word '.repeat(LONG)}`],
  ])('of %s is done with before long', { timeout: SOON }, (_, said) => {
    expect(read(said)).toBe('unreadable')
  })

  test('that is very long and ends in the answer is read', { timeout: SOON }, () => {
    expect(read(`${'word '.repeat(LONG)}${JSON.stringify(FAKE)}`)).toEqual(FAKE)
  })
})
