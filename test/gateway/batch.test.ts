import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Ask } from '../../src/service/domain/ask.ts'
import { noUsage } from '../../src/service/domain/verdict.ts'
import { askOf, entriesOf, questionsOf, readEntry, settledOf } from '../../src/service/gateway/batch.ts'
import type { Paid } from '../../src/service/gateway/paid.ts'
import type { MemoEntry } from '../../src/service/ports/memo.ts'

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

const messagesOf = async ({ messages }: Ask) => messages
const byWords = (model: string, _: Ask, messages: readonly { content: string }[], items?: readonly string[]) =>
  (items ?? [messages[0]?.content ?? '']).map((words) => (model === 'm' ? words : `${model} ${words}`))
const allOf = (ask: Ask) => questionsOf(ask, 'm', messagesOf, byWords)
const questions = async (ask: Ask) => (await allOf(ask)).all
const paid = (answered: unknown, model = 'm'): Paid => ({
  ...{ answer: answered, raw: JSON.stringify(answered), model, ms: 100 },
  usage: { ...noUsage(), calls: 1, promptTokens: 30, completionTokens: 10 },
})
const entry = (answered: unknown, model = 'm'): MemoEntry => ({
  ...{ answer: answered, raw: null, model, promptTokens: 15, completionTokens: 5 },
})

describe('the questions of an ask', () => {
  test('are its items, those with the same words once', async () => {
    expect(await questions(capitals(['a', 'b', 'a']))).toMatchObject([
      { key: 'a', items: [0, 2] },
      { key: 'b', items: [1] },
    ])
  })

  test('are one, where it has no batch', async () => {
    expect(await questions(alone)).toMatchObject([{ key: 'one', items: [0] }])
    expect((await allOf(alone)).messages).toEqual(alone.messages)
  })

  test('have other keys under another model, and the same items', async () => {
    const { under, messages } = await allOf(capitals(['a', 'b', 'a']))
    expect(under('n')).toMatchObject([
      { key: 'n a', items: [0, 2] },
      { key: 'n b', items: [1] },
    ])
    // What is sent of a batch depends on what of it is known.
    expect(messages).toBeNull()
  })

  test('are sent as a subset, or as the ask itself where they are all of it', async () => {
    const ask = capitals(['a', 'b', 'c'])
    const all = await questions(ask)
    expect(askOf(ask, all)).toEqual({ asked: ask, items: [0, 1, 2] })
    const some = askOf(ask, all.slice(1))
    expect(some.items).toEqual([1, 2])
    expect(some.asked.messages).toEqual([{ role: 'user', content: 'b c' }])
    expect(askOf(alone, await questions(alone))).toEqual({ asked: alone, items: [0] })
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

describe('how an ask is settled', () => {
  test('by one call about all of it: as the call was, and with nothing saved', async () => {
    const ask = capitals(['a', 'b'])
    const known = new Map(Object.entries({ a: entry(['A']), b: entry(['B']) }))
    expect(settledOf(ask, await questions(ask), known, [{ paid: paid(['A', 'B']), items: [0, 1] }], 0)).toEqual({
      ...paid(['A', 'B']),
      memo: false,
      saved: { promptTokens: 0, completionTokens: 0 },
    })
  })

  test('from the memo and a call: merged in order, with the items sent, the hits and the models', async () => {
    const ask = capitals(['a', 'b', 'a'])
    const known = new Map(Object.entries({ a: entry(['A'], 'old'), b: entry(['B']) }))
    expect(settledOf(ask, await questions(ask), known, [{ paid: paid(['B']), items: [1] }], 40)).toEqual({
      ...{ answer: ['A', 'B', 'A'], raw: '["B"]', model: 'm', models: ['old', 'm', 'old'], sent: [[1]] },
      ...{ usage: { ...paid(null).usage, memoHits: 2 }, ms: 140, memo: false },
      saved: { promptTokens: 30, completionTokens: 10 },
    })
  })

  test('from the memo alone: without a call', async () => {
    const known = new Map(Object.entries({ one: entry(['ONE']) }))
    expect(settledOf(alone, await questions(alone), known, [], 0)).toEqual({
      ...{ answer: ['ONE'], raw: null, model: 'm', ms: 0, memo: true, usage: { ...noUsage(), memoHits: 1 } },
      saved: { promptTokens: 15, completionTokens: 5 },
    })
  })

  test('as its last call failed, where nothing is known', async () => {
    const failed = { ...paid(null), failed: { code: 'unreadable', detail: 'no JSON object' } }
    expect(settledOf(alone, await questions(alone), new Map(), [{ paid: failed, items: [0] }], 0)).toMatchObject(failed)
    await expect(questions(alone).then((all) => settledOf(alone, all, new Map(), [], 0))).rejects.toThrow('without')
  })
})
