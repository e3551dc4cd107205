import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Ask } from '../../src/contracts/facts/ask.ts'
import { RetryLaterError } from '../../src/contracts/facts/errors.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import { noUsage } from '../../src/contracts/facts/verdict.ts'
import type { Memo } from '../../src/contracts/ports/memo.ts'
import { askInTurn } from '../../src/models/ask.ts'
import { type AskResult, askContext, type GivenAsk } from '../../src/models/context.ts'
import { leases } from '../../src/models/lease.ts'
import { sharingOf } from '../../src/models/memo.ts'
import type { GatewayState, MemoSettings } from '../../src/models/parts.ts'
import { frameOf, questionKeys, settledOf } from '../../src/models/questions.ts'
import { singleFlight } from '../../src/models/single-flight.ts'
import { stanceBatchAnswer } from '../../src/protocols/rumor/answers.ts'
import { memoryMemo } from '../../src/store/memo/memory.ts'
import { GATEWAY } from '../support/parts.ts'

const HOUR = 3_600_000
const p1: ThreadRef = { tenant: 'default', postId: 'p1', kind: 'post' }
const copyOfP1: ThreadRef = { ...p1, postId: 'copy' }
const question: Ask = {
  stage: 'opinion',
  role: 'debater',
  messages: [{ role: 'user', content: 'Fake or Real?' }],
  answer: z.object({ answer: z.enum(['Fake', 'Real']) }),
  temperature: 0,
  maxTokens: 100,
}
type Paid = Omit<AskResult, 'memo'>
const FAKE: Paid = {
  answer: { answer: 'Fake' },
  raw: '{"answer": "Fake"}',
  model: 'small-2026',
  usage: { ...noUsage(), calls: 1, promptTokens: 100, completionTokens: 10, costUsd: 0.5 },
  ms: 700,
}
const UNREADABLE: Paid = { ...FAKE, answer: null, failed: { code: 'unreadable', detail: 'no JSON object' }, raw: 'eh' }

interface Asking extends Partial<GivenAsk> {
  readonly chain?: readonly string[]
  readonly pay?: (ask: Ask, model: string) => Paid | Promise<Paid>
}

/** Processes that share a memo, and a model that answers as told. */
function setUp(
  answer: (ask: Ask, model: string) => Paid | Promise<Paid> = () => FAKE,
  over: Partial<MemoSettings> & { memo?: (memo: Memo) => Memo } = {},
) {
  let passed = 0
  const clock = () => Date.now() + passed
  const { memo: wrap = (memo: Memo) => memo, ...changed } = over
  const memo = wrap(memoryMemo(clock))
  const settings: MemoSettings = {
    enabled: true,
    keep: HOUR,
    lease: 5_000,
    patience: 5_000,
    maxBytes: 10_000,
    ...changed,
  }
  const asked: Ask[] = []
  const troubles: unknown[] = []
  const process = () => {
    const report: GatewayState['report'] = (name, event) => {
      if (name === 'error') troubles.push(event)
    }
    // Of the parts of a gateway those that the memo reads: no call is made.
    const gateway = {
      memo,
      clock,
      report,
      flights: singleFlight(),
      questionKeys: questionKeys('secret'),
      settings: { ...GATEWAY, memo: settings },
      leases: leases({ memo, settings, clock, report }),
      breakers: { preferred: ([model]: string[]) => ({ model, retryInMs: 0 }) },
    } as unknown as GatewayState
    /** `pay`: what the models of the chain answer. */
    return async (ask: Ask = question, { chain = ['small'], pay = answer, ...asking }: Asking = {}) => {
      const context = askContext({
        ask,
        protocol: 'rumor',
        caseId: 'c',
        askId: 'a',
        attempt: 1,
        last: false,
        remember: true,
        calls: [],
        subject: p1,
        signal: new AbortController().signal,
        deadline: clock() + HOUR,
        ...asking,
      })
      const [model = ''] = chain
      const { messages } = frameOf(ask)
      const sharing = sharingOf(gateway, context)
      const first = { chain, remaining: chain, model }
      const answers = await askInTurn(gateway, context, sharing, first, messages, async (_, __, { model }, part) => {
        asked.push(part)
        return { ...(await pay(part, model)), memo: false }
      })
      return settledOf(ask, answers)
    }
  }
  return { put: process(), another: process, asked, troubles, memo, pass: (ms: number) => (passed += ms) }
}

const slowly = (paid: Paid, ms = 30) => sleep(ms).then(() => paid)
const times = <Result>(count: number, task: (index: number) => Result) =>
  Array.from({ length: count }, (_, at) => task(at))

describe('a question', () => {
  test('is paid for once, and known from then on', async () => {
    const { put, another, asked } = setUp()
    expect(await put()).toEqual({ ...FAKE, memo: false, saved: { promptTokens: 0, completionTokens: 0 } })
    const remembered = {
      ...FAKE,
      usage: { ...noUsage(), memoHits: 1 },
      ms: expect.any(Number),
      memo: true,
      saved: { promptTokens: 100, completionTokens: 10 },
    }
    expect(await put()).toEqual(remembered)
    expect(await another()(question, { subject: copyOfP1 })).toEqual(remembered)
    expect(asked).toHaveLength(1)
  })

  test('is asked each time with the memo off, unless one answer serves every case', async () => {
    const { put, another, asked } = setUp(() => FAKE, { enabled: false })
    await put()
    expect(await put()).toMatchObject({ memo: false })
    expect(asked).toHaveLength(2)
    const shared: Ask = { ...question, shared: true }
    await put(shared)
    expect(await another()(shared, { subject: copyOfP1 })).toMatchObject({ memo: true })
    expect(asked).toHaveLength(3)
  })

  test('is asked again when its keeping time is over', async () => {
    const { put, asked, pass } = setUp()
    await put()
    pass(HOUR - 1_000)
    await put()
    expect(asked).toHaveLength(1)
    pass(2_000)
    await put()
    expect(asked).toHaveLength(2)
  })

  test('is another one with another model, tenant, stage, message, image, temperature or length', () => {
    const key = (...asked: Parameters<ReturnType<typeof questionKeys>>) => questionKeys('secret')(...asked).join()
    const images = (data: string) => [{ role: 'user' as const, content: 'look', images: [data] }]
    const keys = [
      key('small', 'default', question, question.messages),
      key('large', 'default', question, question.messages),
      key('small', 'another', question, question.messages),
      key('small', 'default', { ...question, stage: 'judge' }, question.messages),
      key('small', 'default', { ...question, temperature: 0.1 }, question.messages),
      key('small', 'default', { ...question, maxTokens: 101 }, question.messages),
      key('small', 'default', question, [{ role: 'system', content: 'Fake or Real?' }]),
      key('small', 'default', question, [...question.messages, ...question.messages]),
      key('small', 'default', question, images('data:image/png;base64,AAAA')),
      key('small', 'default', question, images('data:image/png;base64,AAAB')),
      questionKeys('another secret')('small', 'default', question, question.messages).join(),
    ]
    expect(new Set(keys).size).toBe(keys.length)
    const other = { ...question, role: 'anybody', label: 'any' }
    expect(key('small', 'default', other, question.messages)).toBe(keys[0])
  })

  test('of a batch is its item in its frame, whatever it is asked together with', () => {
    const keys = (texts: readonly string[], model = 'small', content = 'Claim.') =>
      questionKeys('secret')(model, 'default', question, [{ role: 'user', content }], texts)
    const [a, b] = keys(['a', 'b'])
    expect(a).not.toBe(b)
    expect(keys(['c', 'b', 'a', 'a'])).toEqual([expect.not.stringMatching(`${a}|${b}`), b, a, a])
    for (const others of [keys(['a', 'b'], 'large'), keys(['a', 'b'], 'small', 'Another claim.')])
      expect(others.filter((key) => key === a || key === b)).toEqual([])
  })

  test('that was answered unreadably is not remembered', async () => {
    const { put, asked } = setUp(() => UNREADABLE)
    const settled = await put()
    expect(settled).toMatchObject({ ...UNREADABLE, memo: false })
    await put()
    expect(asked).toHaveLength(2)
  })

  test('whose kept answer no longer fits its form is asked again', async () => {
    const { put, asked } = setUp()
    await put()
    const stricter = { ...question, answer: z.object({ answer: z.literal('Real') }) }
    expect(await put(stricter)).toMatchObject({ memo: false })
    expect(asked).toHaveLength(2)
  })

  test('whose answer is long is remembered without its raw text, and a very long one not at all', async () => {
    const { put, asked } = setUp(() => ({ ...FAKE, raw: 'r'.repeat(20_000) }))
    await put()
    expect(await put()).toMatchObject({ answer: FAKE.answer, raw: null, memo: true })
    expect(asked).toHaveLength(1)
    const small = setUp(() => FAKE, { maxBytes: 10 })
    await small.put()
    await small.put()
    expect(small.asked).toHaveLength(2)
  })

  test('keeps its paid answer when the memo is away', async () => {
    const fail = () => Promise.reject(new Error('Redis is away'))
    const { put, troubles } = setUp(() => FAKE, { memo: (memo) => ({ ...memo, keep: fail, release: fail }) })
    expect(await put()).toMatchObject(FAKE)
    expect(troubles).toMatchObject([{ where: 'memo', error: new Error('Redis is away') }])
  })

  test('is not asked when the memo can’t be looked into', async () => {
    const { put, asked } = setUp(() => FAKE, {
      memo: (memo) => ({ ...memo, lookUp: () => Promise.reject(new Error('Redis is away')) }),
    })
    await expect(put()).rejects.toThrow('Redis is away')
    expect(asked).toEqual([])
  })
})

test('an answer that no longer fits its schema is paid for once more, and replaced', async () => {
  // An earlier version kept what this one's schema no longer takes.
  const { another, asked } = setUp((_, model) => ({ ...FAKE, model }), {
    memo: (memo) => {
      let isFirst = true
      return {
        ...memo,
        keep(answers, ...rest) {
          const old = answers.map((one) => ({ ...one, entry: one.entry.replace('"Fake"', '"Hoax"') }))
          const kept = memo.keep(isFirst ? old : answers, ...rest)
          isFirst = false
          return kept
        },
      }
    },
  })
  await another()()
  for (let nth = 0; nth < 3; nth++) expect(await another()()).toMatchObject({ answer: { answer: 'Fake' } })
  expect(asked).toHaveLength(2)
})

describe('of many who ask the same at once', () => {
  test('one pays, and the others of its process need no look of their own', async () => {
    let looks = 0
    const { put, asked } = setUp(() => slowly(FAKE), {
      memo: (memo) => ({
        ...memo,
        lookUp(...args) {
          looks++
          return memo.lookUp(...args)
        },
      }),
    })
    const all = await Promise.all(times(200, () => put()))
    expect(asked).toHaveLength(1)
    expect(looks).toBe(1)
    expect(all.filter(({ memo }) => memo)).toHaveLength(199)
    for (const { answer } of all) expect(answer).toEqual(FAKE.answer)
  })

  test('one of all processes pays', async () => {
    const { another, asked } = setUp(() => slowly(FAKE, 100))
    const all = await Promise.all(times(5, another).flatMap((put) => times(20, () => put())))
    expect(asked).toHaveLength(1)
    expect(all.reduce((sum, { usage }) => sum + usage.memoHits, 0)).toBe(99)
  })

  test('the next one pays where the first had no luck', async () => {
    let tries = 0
    const { put, asked } = setUp(async () => {
      await sleep(10)
      if (tries++ === 0) throw new RetryLaterError('rate-limited', 'slow down', { delayMs: 10_000 })
      return FAKE
    })
    const [first, ...others] = await Promise.allSettled(times(20, () => put()))
    expect(first).toMatchObject({ status: 'rejected', reason: { code: 'rate-limited' } })
    for (const other of others) expect(other).toMatchObject({ status: 'fulfilled', value: { answer: FAKE.answer } })
    expect(asked).toHaveLength(2)
  })

  test.each([
    ['an answer', () => slowly(FAKE, 60)],
    ['a failure', () => sleep(60).then(() => Promise.reject(new Error('no answer')))],
  ])('a call that has ended with %s is held for its asker no longer', async (_, answer) => {
    let heartbeats = 0
    const { put } = setUp(answer, {
      lease: 30,
      memo: (memo) => ({
        ...memo,
        renew(...args) {
          heartbeats++
          return memo.renew(...args)
        },
      }),
    })
    await put().catch(() => {})
    expect(heartbeats).toBeGreaterThan(0)
    const until = heartbeats
    await sleep(60)
    expect(heartbeats).toBe(until)
  })

  test('the next one pays where the first could not read its answer', async () => {
    let tries = 0
    const { put, another, asked } = setUp(() => slowly(tries++ === 0 ? UNREADABLE : FAKE, 40))
    const all = await Promise.all([put(), put(), another()()])
    expect(all.map(({ failed }) => failed?.code)).toEqual(['unreadable', undefined, undefined])
    expect(asked).toHaveLength(2)
  })

  test('the others stay when one is stopped, be it the one who waits or the one who pays', async () => {
    const stops = times(3, () => new AbortController())
    const { put, asked } = setUp(() => slowly(FAKE, 60))
    const all = Promise.allSettled(
      stops.map(({ signal }) =>
        put(question, {
          signal,
          async pay() {
            await sleep(60, undefined, { signal })
            return FAKE
          },
        }),
      ),
    )
    await sleep(10)
    for (const index of [0, 1]) stops[index]?.abort(new Error('shut down'))
    expect(await all).toMatchObject([
      { status: 'rejected' },
      { reason: new Error('shut down') },
      { status: 'fulfilled' },
    ])
    expect(asked).toHaveLength(2)
  })

  test('who has stopped waiting for another process looks no more', async () => {
    let looks = 0
    const { put, another } = setUp(() => slowly(FAKE, 500), {
      memo: (memo) => ({
        ...memo,
        lookUp(...args) {
          looks++
          return memo.lookUp(...args)
        },
      }),
    })
    const first = put()
    const stop = new AbortController()
    const waiting = another()(question, { signal: stop.signal })
    await sleep(50)
    stop.abort(new Error('shut down'))
    await expect(waiting).rejects.toThrow('shut down')
    const until = looks
    await first
    // One may have been under way.
    expect(looks - until).toBeLessThanOrEqual(1)
  })

  test('who loses patience is told to come again, at no attempt’s cost', async () => {
    const { put, another } = setUp(() => slowly(FAKE, 200), { patience: 40 })
    const first = put()
    for (const late of [put, another()]) {
      const error = await late().catch((error: unknown) => error)
      expect(error).toBeInstanceOf(RetryLaterError)
      expect(error).toMatchObject({ costsAttempt: false, delayMs: expect.any(Number) })
    }
    await first
    expect(await put()).toMatchObject({ memo: true })
  })

  test('who waits for one after the other says how long it has waited for all of them', async () => {
    const { put, asked, pass } = setUp(
      async () => {
        await sleep(10)
        pass(1_000_000)
        return asked.length === 1 ? UNREADABLE : FAKE
      },
      { patience: HOUR },
    )
    const [, , third] = await Promise.all(times(3, () => put()))
    expect(asked).toHaveLength(2)
    expect(third).toMatchObject({ memo: true })
    expect(third?.ms).toBeGreaterThanOrEqual(2_000_000)
  })

  test('who has lost its patience with one does not wait for the next', async () => {
    const later = Promise.withResolvers<Paid>()
    const { put, asked, pass } = setUp(
      async () => {
        await sleep(10)
        pass(70_000)
        return asked.length === 1 ? UNREADABLE : later.promise
      },
      { patience: 60_000 },
    )
    const [first, second, third] = times(3, () => put())
    await expect(third).rejects.toMatchObject({ code: 'unavailable', costsAttempt: false })
    later.resolve(FAKE)
    expect(await first).toMatchObject({ failed: { code: 'unreadable' } })
    expect(await second).toMatchObject({ memo: false })
    expect(asked).toHaveLength(2)
  })

  test('a call that takes longer than the lease stays the only one', async () => {
    const { put, another, asked } = setUp(() => slowly(FAKE, 1_200), { lease: 400 })
    await Promise.all([put(), another()(), another()()])
    expect(asked).toHaveLength(1)
  })
})

describe('another tenant', () => {
  const theirs = { ...p1, tenant: 'another' }

  test('pays for the same question, and hears nothing of who has asked it', async () => {
    const { put, another, asked } = setUp()
    await put()
    for (const ask of [put, another()])
      expect(
        await ask(question, { subject: { ...theirs, postId: `p${asked.length}`, tenant: `t${asked.length}` } }),
      ).toEqual({
        ...FAKE,
        memo: false,
        saved: { promptTokens: 0, completionTokens: 0 },
      })
    expect(asked).toHaveLength(3)
  })

  test('waits for nobody else’s answer', async () => {
    const { put, another, asked } = setUp(() => slowly(FAKE))
    const all = await Promise.all([put(), put(question, { subject: theirs }), another()(question, { subject: theirs })])
    expect(all.map(({ usage }) => usage.memoHits)).toEqual([0, 0, 1])
    expect(asked).toHaveLength(2)
  })

  test('keeps its own when the other’s is forgotten', async () => {
    const { put, asked, memo } = setUp()
    await put()
    await put(question, { subject: theirs })
    expect(await memo.forget(p1, 0)).toBe(1)
    expect(await put(question, { subject: theirs })).toMatchObject({ memo: true })
    expect(await put()).toMatchObject({ memo: false })
    expect(asked).toHaveLength(3)
  })
})

describe('a subject that is forgotten', () => {
  test('is not known any more, nor from the call that was under way', async () => {
    const { put, asked, memo } = setUp(() => slowly(FAKE))
    const first = put()
    await sleep(5)
    await memo.forget(p1, 0)
    expect(await first).toMatchObject(FAKE)
    await put()
    expect(asked).toHaveLength(2)
  })

  test.each<[string, ThreadRef]>([
    ['id', copyOfP1],
    ['kind', { ...p1, kind: 'reply' }],
  ])('takes an answer with it that it only waited for, of a subject of another %s', async (_, other) => {
    const { put, asked, memo } = setUp(() => slowly(FAKE))
    await Promise.all([put(), put(question, { subject: other })])
    expect(await memo.forget(other, 0)).toBe(1)
    await put()
    expect(asked).toHaveLength(2)
  })
})

type Scores = z.infer<ReturnType<typeof stanceBatchAnswer>>

/** A batch of questions: the stance of each comment. */
function stances(comments: readonly string[]): Ask<Scores> {
  return {
    stage: 'stance',
    role: 'scorer',
    messages: [{ role: 'user', content: `Claim. ${comments.map((text, at) => `[${at + 1}: ${text}]`).join(' ')}` }],
    answer: stanceBatchAnswer(comments.length),
    temperature: 0,
    maxTokens: 80 * (comments.length + 1),
    batch: {
      count: comments.length,
      texts: comments,
      single: stanceBatchAnswer(1),
      subset: (items) => stances(items.map((item) => comments[item] ?? '')),
      pick({ scores }, nth) {
        const score = scores.find(({ comment }) => comment === nth + 1)
        return score && { scores: [{ ...score, comment: 1 }] }
      },
      merge: (answers) => ({
        scores: [...answers]
          .sort(([a], [b]) => a - b)
          .flatMap(([item, { scores }]) => scores.map((score) => ({ ...score, comment: item + 1 }))),
      }),
    },
  }
}

/** The comments that a question asks about. */
const commentsOf = (ask: Ask) =>
  [...(ask.messages[0]?.content ?? '').matchAll(/\[\d+: ([^\]]*)\]/g)].map(([, text]) => text ?? '')

/** A model whose opinion on a comment depends on its words alone. */
function opinion(ask: Ask, leftOut: (text: string) => boolean = () => false): Paid {
  const scores = commentsOf(ask).flatMap((text, at) =>
    leftOut(text) ? [] : [{ comment: at + 1, reason: `about ${text}`, score: (text.length % 21) / 10 - 1 }],
  )
  return { ...FAKE, answer: { scores }, raw: JSON.stringify({ scores }) }
}

describe('a batch', () => {
  const comments = (from: number, to: number) => times(to - from, (at) => `comment ${from + at}`)

  test('of 20 comments of which 13 are known is one call about the other 7', async () => {
    const { put, asked } = setUp((ask) => opinion(ask))
    await put(stances(comments(0, 13)))
    const all = [...comments(13, 16), ...comments(0, 13), ...comments(16, 20)]
    const settled = await put(stances(all))
    expect(asked.map(commentsOf)).toEqual([comments(0, 13), comments(13, 20)])
    expect(settled.answer).toEqual(opinion(stances(all)).answer)
    expect(settled).toMatchObject({
      memo: false,
      sent: [[0, 1, 2, 16, 17, 18, 19]],
      usage: { calls: 1, memoHits: 13, promptTokens: 100 },
      saved: { promptTokens: 13 * 8, completionTokens: 13 },
    })
    expect(asked[1]?.maxTokens).toBe(80 * 8)
  })

  test('names the model of each item where a call and the memo answered, and none of what has no answer', async () => {
    const { put } = setUp((ask) => ({
      ...opinion(ask, (text) => text === 'comment 4'),
      model: `of ${commentsOf(ask).length}`,
    }))
    expect(await put(stances(comments(0, 2)))).not.toHaveProperty('models')
    const settled = await put(stances(comments(0, 5)))
    expect(settled).toMatchObject({ model: 'of 3', models: ['of 2', 'of 2', 'of 3', 'of 3', ''] })
  })

  test('names one model where the memo and a call name the same', async () => {
    const { put } = setUp((ask) => opinion(ask, (text) => text === 'comment 4'))
    await put(stances(comments(0, 2)))
    expect(await put(stances(comments(0, 5)))).not.toHaveProperty('models')
  })

  test('that is known in all its items is no call', async () => {
    const { put, asked } = setUp((ask) => opinion(ask))
    expect((await put(stances(comments(0, 4)))).sent).toBeUndefined()
    const settled = await put(stances(comments(1, 3)))
    expect(settled).toMatchObject({ memo: true, sent: [], raw: null, usage: { calls: 0, memoHits: 2 } })
    expect(asked).toHaveLength(1)
  })

  test('asks about comments with the same words once', async () => {
    const { put, asked } = setUp((ask) => opinion(ask))
    const all = ['copy', 'own words', 'copy', 'copy']
    const settled = await put(stances(all))
    expect(asked.map(commentsOf)).toEqual([['copy', 'own words']])
    expect(settled).toMatchObject({ answer: opinion(stances(all)).answer, sent: [[0, 1]], usage: { memoHits: 2 } })
  })

  test('of which a model gave some, and has another asked about the rest, looks for what that one knows', async () => {
    const busy = new RetryLaterError('rate-limited', 'slow down', { delayMs: 60_000, costsAttempt: false })
    let down = false
    const { put, asked } = setUp((ask, model) => {
      if (model === 'small' && down) throw busy
      return { ...opinion(ask), model: `${model}-2026` }
    })
    const turning = { chain: ['small', 'large'] }
    await put(stances(comments(0, 2)), turning)
    await put(stances(comments(2, 3)), { chain: ['large'] })
    down = true
    const settled = await put(stances(comments(0, 4)), turning)
    expect(settled.answer).toEqual(opinion(stances(comments(0, 4))).answer)
    expect(settled.models).toEqual(['small-2026', 'small-2026', 'large-2026', 'large-2026'])
    expect(settled).toMatchObject({ model: 'large-2026', usage: { memoHits: 3 }, sent: [[3]] })
    expect(asked.map(commentsOf)).toEqual([comments(0, 2), comments(2, 3), comments(2, 4), comments(3, 4)])
    await expect(put(stances(comments(7, 8)))).rejects.toBe(busy)
  })

  test('that crosses others in other orders and processes waits for none before it has paid for its own', async () => {
    const { another, asked } = setUp((ask) => slowly(opinion(ask), 50))
    const batches = [
      comments(0, 12),
      comments(6, 18).reverse(),
      [...comments(12, 18), ...comments(0, 6)],
      comments(0, 18),
    ]
    const settled = await Promise.all(batches.map((batch) => another()(stances(batch))))
    for (const [index, batch] of batches.entries())
      expect(settled[index]?.answer).toEqual(opinion(stances(batch)).answer)
    expect(asked.flatMap(commentsOf).sort()).toEqual(comments(0, 18).sort())
    expect(asked.length).toBeLessThanOrEqual(batches.length)
  })

  test('never waits in a circle: two that each ask an item that the other wants both get on', async () => {
    // What lies between the first question and the others of a look, so that each holds the first of its own.
    const { another, asked } = setUp((ask) => slowly(opinion(ask)), {
      patience: 1_000,
      memo: (memo) => ({
        ...memo,
        async lookUp(keys, ...rest) {
          const first = await memo.lookUp(keys.slice(0, 1), ...rest)
          await sleep(10)
          return [...first, ...(await memo.lookUp(keys.slice(1), ...rest))]
        },
      }),
    })
    const batches = [stances(['a', 'b']), stances(['b', 'a'])]
    const settled = await Promise.all(batches.map((batch) => another()(batch)))
    expect(settled.map(({ answer }) => answer)).toEqual(batches.map((batch) => opinion(batch).answer))
    expect(asked.map(commentsOf)).toEqual([['a'], ['b']])
  })

  test('does not remember what an answer left out', async () => {
    let forgetful = true
    const { put, asked } = setUp((ask) => opinion(ask, (text) => forgetful && text === 'comment 2'))
    const first = await put(stances(comments(0, 4)))
    expect(first.answer).toMatchObject({ scores: [{ comment: 1 }, { comment: 2 }, { comment: 4 }] })
    forgetful = false
    expect((await put(stances(comments(0, 4)))).answer).toEqual(opinion(stances(comments(0, 4))).answer)
    expect(asked.map(commentsOf)).toEqual([comments(0, 4), ['comment 2']])
  })

  test('whose new items can’t be read answers what is known, and fails where nothing is', async () => {
    const { put } = setUp((ask) => (commentsOf(ask).includes('odd') ? UNREADABLE : opinion(ask)))
    await put(stances(comments(0, 2)))
    const partly = await put(stances([...comments(0, 2), 'odd']))
    expect(partly.failed).toBeUndefined()
    expect(partly).toMatchObject({ answer: opinion(stances(comments(0, 2))).answer, raw: 'eh', sent: [[2]] })
    expect(await put(stances(['odd', 'odder']))).toMatchObject({ failed: { code: 'unreadable' }, answer: null })
  })

  test('items picked from an answer and merged again are the answer', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 30 }), fc.func(fc.boolean()), (texts, leftOut) => {
        const ask = stances(texts)
        const direct = opinion(ask, leftOut).answer as Scores
        const picked = texts.flatMap((_, nth): [number, Scores][] => {
          const item = ask.batch?.pick(direct, nth)
          return item === undefined ? [] : [[nth, item]]
        })
        for (const [item, answer] of picked)
          expect(ask.batch?.subset([item]).answer.parse(answer), 'an item answers the question about it').toEqual(
            answer,
          )
        expect(ask.batch?.merge(new Map(picked))).toEqual(direct)
      }),
    )
  })

  test('whatever is known of it already, the answer is the one that the whole question gets', async () => {
    const words = fc.constantFrom('a', 'bb', 'ccc', 'dddd', 'eeeee', 'ffffff', 'ggggggg')
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(words, { minLength: 1, maxLength: 9 }), { maxLength: 8 }), async (batches) => {
        const { put, asked } = setUp((ask) => opinion(ask))
        for (const batch of batches) expect((await put(stances(batch))).answer).toEqual(opinion(stances(batch)).answer)
        const texts = asked.flatMap(commentsOf)
        expect(new Set(texts).size).toBe(texts.length)
      }),
    )
  })
})
