import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Ask } from '../../src/contracts/facts/ask.ts'
import { noUsage } from '../../src/contracts/facts/verdict.ts'
import type { MemoEntry } from '../../src/contracts/ports/memo.ts'
import type { AskResult } from '../../src/models/context.ts'
import {
  askOf,
  entriesOf,
  itemsOf,
  type KnownAnswers,
  questionsOf,
  readEntry,
  settledOf,
} from '../../src/models/questions.ts'

const answer = z.array(z.string())

/** Asks for each word in capitals. */
function capitals(words: readonly string[]): Ask<string[]> {
  return {
    stage: 'capitals',
    role: 'writer',
    messages: [{ role: 'user', content: words.join(' ') }],
    answer,
    temperature: 0,
    maxTokens: 10,
    batch: {
      count: words.length,
      texts: words,
      single: answer,
      subset: (items) => capitals(items.map((item) => words[item] ?? '')),
      pick: (answered, nth) => (answered[nth] === undefined ? undefined : [answered[nth]]),
      merge: (answers) => [...answers].sort(([a], [b]) => a - b).flatMap(([, answered]) => answered),
    },
  }
}
const { batch: _, ...alone } = capitals(['one'])

const questions = (ask: Ask) => questionsOf(ask, ask.batch?.texts ?? [ask.messages[0]?.content ?? ''])
const paid = (answered: unknown, sent: number[] = [0]): AskResult => ({
  answer: answered,
  raw: JSON.stringify(answered),
  model: 'm',
  ms: 100,
  memo: false,
  sent: [sent],
  usage: { ...noUsage(), calls: 1, promptTokens: 30, completionTokens: 10 },
})
const entry = (answered: unknown, model = 'm'): MemoEntry => ({
  answer: answered,
  raw: null,
  model,
  promptTokens: 15,
  completionTokens: 5,
})

describe('the questions of an ask', () => {
  test('are its items, those with the same words once', () => {
    expect(questions(capitals(['a', 'b', 'a']))).toMatchObject([
      { key: 'a', items: [0, 2] },
      { key: 'b', items: [1] },
    ])
  })

  test('are one, where it has no batch', () => {
    expect(questions(alone)).toMatchObject([{ key: 'one', items: [0] }])
  })

  test('are sent as a subset, or as the ask itself where they are all of it', () => {
    const ask = capitals(['a', 'b', 'c'])
    const all = questions(ask)
    expect([askOf(ask, all), itemsOf(all)]).toEqual([ask, [0, 1, 2]])
    expect(itemsOf(all.slice(1))).toEqual([1, 2])
    expect(askOf(ask, all.slice(1)).messages).toEqual([{ role: 'user', content: 'b c' }])
    expect([askOf(alone, questions(alone)), itemsOf(questions(alone))]).toEqual([alone, [0]])
  })
})

describe('what a call answered', () => {
  test('is shared out: an entry for each item, with its share of the tokens and no raw text', () => {
    expect(entriesOf(capitals(['a', 'b']), paid(['A', 'B']), 2)).toEqual([entry(['A']), entry(['B'])])
  })

  test('keeps its raw text where it was one question', () => {
    expect(entriesOf(alone, paid(['ONE']), 1)).toMatchObject([{ answer: ['ONE'], raw: '["ONE"]', promptTokens: 30 }])
  })

  test('has no entry for what it left out, nor any where it could not be read', () => {
    expect(entriesOf(capitals(['a', 'b']), paid(['A']), 2)).toEqual([entry(['A']), null])
    const failed = { ...paid(null), failed: { code: 'unreadable', detail: 'no JSON object' } }
    expect(entriesOf(capitals(['a', 'b']), failed, 2)).toEqual([null, null])
  })

  test('is an answer only as long as it fits the question’s form', () => {
    expect(readEntry({ kept: answer }, entry(['ONE']))).toEqual(entry(['ONE']))
    expect(readEntry({ kept: answer }, entry('ONE'))).toBeNull()
  })
})

/** The ask as it is settled by these answers and calls. */
const settled = (ask: Ask, known: KnownAnswers, calls: AskResult[], waitedMs = 0) =>
  settledOf(ask, { questions: questions(ask), known, paid: calls, waitedMs })
const unsent = ({ sent: _, ...rest }: AskResult) => rest

describe('how an ask is settled', () => {
  test('by one call about all of it: as the call was, and with nothing saved', () => {
    const ask = capitals(['a', 'b'])
    const known = new Map(Object.entries({ a: entry(['A']), b: entry(['B']) }))
    expect(settled(ask, known, [paid(['A', 'B'], [0, 1])])).toEqual({
      ...unsent(paid(['A', 'B'])),
      saved: { promptTokens: 0, completionTokens: 0 },
    })
  })

  test('from the memo and a call: merged in order, with the items sent, the hits and the models', () => {
    const ask = capitals(['a', 'b', 'a'])
    const known = new Map(Object.entries({ a: entry(['A'], 'old'), b: entry(['B']) }))
    expect(settled(ask, known, [paid(['B'], [1])], 40)).toEqual({
      answer: ['A', 'B', 'A'],
      raw: '["B"]',
      model: 'm',
      models: ['old', 'm', 'old'],
      sent: [[1]],
      usage: { ...paid(null).usage, memoHits: 2 },
      ms: 140,
      memo: false,
      saved: { promptTokens: 30, completionTokens: 10 },
    })
  })

  test('from the memo alone: without a call', () => {
    const known = new Map(Object.entries({ one: entry(['ONE']) }))
    expect(settled(alone, known, [])).toEqual({
      answer: ['ONE'],
      raw: null,
      model: 'm',
      ms: 0,
      memo: true,
      usage: { ...noUsage(), memoHits: 1 },
      saved: { promptTokens: 15, completionTokens: 5 },
    })
  })

  test('as its last call failed, where nothing is known', () => {
    const failed = { ...paid(null), failed: { code: 'unreadable', detail: 'no JSON object' } }
    expect(settled(alone, new Map(), [failed])).toEqual({
      ...unsent(failed),
      saved: { promptTokens: 0, completionTokens: 0 },
    })
    expect(() => settled(alone, new Map(), [])).toThrow('without')
  })
})
