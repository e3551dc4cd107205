import { describe, expect, test } from 'vitest'
import type { Ask } from '../../src/contracts/facts/ask.ts'
import type { ModelCall } from '../../src/contracts/facts/case.ts'
import { PermanentError, RetryLaterError } from '../../src/contracts/facts/errors.ts'
import { askContext } from '../../src/models/context.ts'
import { withFormat } from '../../src/models/format.ts'
import { gateway } from '../../src/models/gateway.ts'
import { memoryParts } from '../support/parts.ts'
import { ask, FAKE, reply, settings, setUp, unreadable } from './set-up.ts'

describe('a readable answer', () => {
  test('settles the ask in one call', async () => {
    const { put, calls, ended } = setUp([reply()])
    const settled = await put()
    expect(settled).toEqual({
      answer: FAKE,
      raw: JSON.stringify(FAKE),
      model: 'small-2026',
      usage: { calls: 1, memoHits: 0, promptTokens: 100, cachedTokens: 40, completionTokens: 10, costUsd: 0 },
      ms: 10,
      memo: false,
    })
    expect(calls).toEqual([
      {
        id: expect.any(String),
        outcome: 'answered',
        model: 'small',
        startedAt: expect.any(Number),
        ms: 10,
        spent: { promptTokens: 100, cachedTokens: 40, completionTokens: 10, costUsd: 0 },
      },
    ])
    expect(ended).toMatchObject([{ stage: 'opinion', model: 'small', outcome: 'answered', seconds: 0.01 }])
  })

  test('has taken no time less than none, where the clock was set back meanwhile', async () => {
    const { put, calls, ended } = setUp([reply()], {}, -300)
    expect((await put()).ms).toBe(0)
    expect(calls).toMatchObject([{ ms: 0 }])
    expect(ended).toMatchObject([{ seconds: 0 }])
  })

  test('is asked for with the ask’s own temperature, length and form', async () => {
    const { put, requests, calls } = setUp([reply()])
    await put()
    expect(requests).toEqual([
      {
        model: 'small',
        messages: withFormat(ask),
        temperature: 0.2,
        maxTokens: 700,
        answer: {
          name: 'opinion',
          schema: expect.objectContaining({ type: 'object', required: ['reasoning', 'answer'] }),
        },
        of: { protocol: 'rumor', subject: 'p', stage: 'opinion', role: 'debater support', about: [] },
        callId: calls[0]?.id,
        timeoutMs: 1_000,
        signal: expect.any(AbortSignal),
      },
    ])
  })

  test('that was cut at the token limit, but is whole, counts', async () => {
    const { put } = setUp([reply({ finish: 'length' })])
    expect((await put()).answer).toEqual(FAKE)
  })

  test('costs what the price list says, cached tokens at their own price', async () => {
    const prices = { small: { prompt: 10, cached: 1, completion: 100 } }
    const { put, ended } = setUp([reply()], { prices })
    const cost = (60 * 10 + 40 * 1 + 10 * 100) / 1e6
    expect((await put()).usage.costUsd).toBeCloseTo(cost, 12)
    expect(ended[0]?.costUsd).toBeCloseTo(cost, 12)
  })
})

describe('an attempt that throws', () => {
  test.each([
    new RetryLaterError('rate-limited', 'status 429', { delayMs: 7, costsAttempt: false }),
    new PermanentError('rejected', 'status 400'),
  ])('passes $name on as it is, and has noted its call', async (error) => {
    const { put, calls, ended } = setUp([error])
    await expect(put()).rejects.toBe(error)
    const sent = { model: 'small', startedAt: expect.any(Number), ms: expect.any(Number) }
    expect(calls).toEqual([{ id: expect.any(String), outcome: error.code, ...sent }])
    expect(ended).toMatchObject([{ outcome: error.code, promptTokens: 0, costUsd: 0 }])
  })

  test('in the repair has noted both calls', async () => {
    const { put, calls } = setUp([unreadable, new RetryLaterError('timeout', 'no answer')])
    await expect(put()).rejects.toMatchObject({ code: 'timeout' })
    expect(calls.map(({ outcome }) => outcome)).toEqual(['unreadable', 'timeout'])
  })

  test('by a fault of the code has noted its call too', async () => {
    const { put, calls } = setUp([new TypeError('a bug')])
    await expect(put()).rejects.toThrow('a bug')
    expect(calls.map(({ outcome }) => outcome)).toEqual(['error'])
  })

  test('gives its place back', async () => {
    const { put, gateway } = setUp([new TypeError('a bug'), reply()], { slots: 1 })
    await expect(put()).rejects.toThrow()
    expect(gateway.busy).toBe(0)
    expect((await put()).answer).toEqual(FAKE)
  })
})

describe('images', () => {
  const shown: Ask = {
    ...ask,
    stage: 'describe',
    messages: [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'Q', images: ['https://a.example/1.png', 'https://a.example/22.png'] },
    ],
  }

  test('are fetched before the model is asked, and reach it as data beside the question and its form', async () => {
    const { put, requests } = setUp([reply()])
    expect((await put(shown)).answer).toEqual(FAKE)
    expect(requests[0]?.messages).toEqual([
      { role: 'system', content: 'S' },
      {
        role: 'user',
        content: expect.stringMatching(/^Q\n\nAnswer format \(describe\)/),
        images: ['data:image/png;base64,23', 'data:image/png;base64,24'],
      },
    ])
  })

  test('are shown again with the repair question', async () => {
    const { put, requests } = setUp([unreadable, reply()])
    await put(shown)
    expect(requests[1]?.messages[1]?.images).toEqual(['data:image/png;base64,23', 'data:image/png;base64,24'])
  })

  test('of a question stand in the transcript as the post gave them', () => {
    expect(withFormat(shown).at(-1)?.images).toEqual(['https://a.example/1.png', 'https://a.example/22.png'])
  })

  test.each([new PermanentError('image', 'it is no image'), new RetryLaterError('unavailable', 'no answer')])(
    'that cannot be had keep the question from the model: %s',
    async (error) => {
      const { put, requests, calls } = setUp([reply()], {}, 10, async () => {
        throw error
      })
      await expect(put(shown)).rejects.toBe(error)
      expect(requests).toEqual([])
      expect(calls).toEqual([])
    },
  )
})

describe('what is known', () => {
  const memo = { enabled: true, keep: 60_000, lease: 1_000, patience: 100, maxBytes: 65_536 }
  const remembering = { remember: true, deadline: Date.now() + 1e9 }

  test('is not asked again, for whatever case, and is said to be so', async () => {
    const { put, requests, calls, told } = setUp([reply()], { memo })
    await put(ask, remembering)
    expect(told).toEqual([])
    const again = await put(ask, { ...remembering, caseId: 'other', askId: 'other' })
    expect(again).toMatchObject({
      answer: FAKE,
      memo: true,
      usage: { calls: 0, memoHits: 1, promptTokens: 0, completionTokens: 0, costUsd: 0 },
    })
    expect(requests).toHaveLength(1)
    expect(calls).toHaveLength(1)
    expect(told).toContainEqual({
      name: 'memo:hit',
      protocol: 'rumor',
      stage: 'opinion',
      hits: 1,
      promptTokens: 100,
      completionTokens: 10,
      caseId: 'other',
    })
  })

  test.each([
    ['another model', { attempt: 2 }, ask],
    ['another temperature', {}, { ...ask, temperature: 0.3 }],
    ['other words', {}, { ...ask, messages: [{ role: 'user' as const, content: 'Q2' }] }],
  ])('is asked for under %s', async (_, asking, other) => {
    const { put, requests } = setUp([reply(), reply()], { memo })
    await put(ask, remembering)
    await put(other, { ...remembering, ...asking })
    expect(requests).toHaveLength(2)
  })

  test('is asked all the same where a protocol keeps to its paper', async () => {
    const { put, requests } = setUp([reply(), reply()], { memo })
    await put(ask, remembering)
    expect((await put(ask, { ...remembering, remember: false })).memo).toBe(false)
    expect(requests).toHaveLength(2)
  })

  test('does not hold what could not be read', async () => {
    const { put, requests } = setUp([unreadable, unreadable, reply()], { memo })
    expect((await put(ask, remembering)).failed?.code).toBe('unreadable')
    expect((await put(ask, remembering)).answer).toEqual(FAKE)
    expect(requests).toHaveLength(3)
  })
})

describe('a call that takes far longer than its stage does', () => {
  test('is given up and counted as timed out, and its place is free', async () => {
    let now = 0
    const hung: AbortSignal[] = []
    const calls: ModelCall[] = []
    const made = gateway({
      model: {
        async complete({ signal }) {
          if (now < 10_000) {
            now += 1_000
            return reply()
          }
          hung.push(signal)
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
        },
      },
      loadImage: async () => '',
      ...memoryParts(() => now),
      settings: { ...settings, minTimeout: 1_000, callTimeout: 60_000 },
      clock: () => now,
      report() {},
    })
    const put = () =>
      made.ask(
        askContext({
          ask,
          protocol: 'rumor',
          subject: { tenant: 'default', postId: 'p', kind: 'post' },
          caseId: 'c',
          askId: 'a',
          remember: false,
          attempt: 1,
          last: false,
          deadline: 1_000_000,
          calls,
          signal: new AbortController().signal,
        }),
      )
    for (let n = 0; n < 10; n++) await put()
    const last = put()
    const ticking = setInterval(() => {
      now += 200
    }, 20)
    await expect(last).rejects.toMatchObject({ name: 'RetryLaterError', code: 'timeout', costsAttempt: true })
    clearInterval(ticking)
    expect(hung).toHaveLength(1)
    expect(calls.map(({ outcome }) => outcome)).toEqual([...Array(10).fill('answered'), 'timeout'])
    expect(made.busy).toBe(0)
  })

  test('by a limit learnt from its own tenant’s calls, and keeps no other tenant from the model', async () => {
    let now = 0
    let hangs = false
    const signals = new Map<string, AbortSignal>()
    const made = gateway({
      model: {
        async complete({ messages, signal }) {
          now += 100
          if (!hangs) return reply()
          signals.set(messages[0]?.content.startsWith('acme') ? 'acme' : 'mallory', signal)
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
        },
      },
      loadImage: async () => '',
      ...memoryParts(() => now),
      settings: {
        ...settings,
        roles: { default: ['small'] },
        slots: 100,
        latencyTolerance: null,
        minTimeout: 1_000,
        callTimeout: 60_000,
      },
      clock: () => now,
      report() {},
    })
    const stopping = new AbortController()
    const put = (tenant: string, author: number) =>
      made.ask(
        askContext({
          ask: { ...ask, messages: [{ role: 'user', content: tenant }] },
          protocol: 'rumor',
          subject: { tenant, postId: 'p', kind: 'post' },
          caseId: 'c',
          author: `author ${author}`,
          askId: `${tenant} ${author}`,
          remember: false,
          attempt: 1,
          last: false,
          deadline: 1_000_000,
          calls: [],
          signal: stopping.signal,
        }),
      )
    await put('acme', 0)
    for (let n = 0; n < 10; n++) await put('mallory', n)
    hangs = true
    const longOne = put('acme', 1)
    const cut = Promise.allSettled(Array.from({ length: 90 }, (_, n) => put('mallory', n)))
    const ticking = setInterval(() => {
      now += 200
    }, 20)
    expect((await cut).every(({ status }) => status === 'rejected')).toBe(true)
    clearInterval(ticking)
    expect([...signals].map(([tenant, { aborted }]) => [tenant, aborted])).toEqual([
      ['acme', false],
      ['mallory', true],
    ])
    hangs = false
    await put('acme', 2)
    stopping.abort()
    await expect(longOne).rejects.toThrow()
  })
})
