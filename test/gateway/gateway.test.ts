import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Ask } from '../../src/service/domain/ask.ts'
import type { Call } from '../../src/service/domain/case.ts'
import { PermanentError, RetryLaterError } from '../../src/service/domain/errors.ts'
import { askContext, type GivenAsk } from '../../src/service/gateway/context.ts'
import { jsonSchema, withFormat } from '../../src/service/gateway/format.ts'
import { gateway } from '../../src/service/gateway/gateway.ts'
import type { GatewaySettings } from '../../src/service/gateway/parts.ts'
import type { BudgetSettings } from '../../src/service/ports/budgets.ts'
import type { LoadImage } from '../../src/service/ports/images.ts'
import type { ModelReply, ModelRequest } from '../../src/service/ports/model.ts'
import type { Events } from '../../src/service/ports/report.ts'
import { GATEWAY, memoryParts } from '../support/parts.ts'

const answer = z.object({ reasoning: z.string(), answer: z.enum(['Fake', 'Real']) })
const ask: Ask = {
  stage: 'opinion',
  role: 'debater',
  label: 'support',
  messages: [
    { role: 'system', content: 'S' },
    { role: 'user', content: 'Q' },
  ],
  answer,
  temperature: 0.2,
  maxTokens: 700,
}
const FAKE = { reasoning: 'r', answer: 'Fake' }
const settings: GatewaySettings = { ...GATEWAY, roles: { default: ['small', 'large'] } }

const reply = (over: Partial<ModelReply> = {}): ModelReply => ({
  text: JSON.stringify(FAKE),
  finish: 'stop',
  model: 'small-2026',
  promptTokens: 100,
  cachedTokens: 40,
  completionTokens: 10,
  ...over,
})
const unreadable = reply({ text: 'I would say Fake.' })

/** A gateway over a model that gives these replies in order, each taking `ms`; a reply that is an error is thrown. */
function setUp(
  replies: readonly (ModelReply | Error)[],
  over: Partial<GatewaySettings> = {},
  ms = 10,
  loadImage: LoadImage = async (url) => `data:image/png;base64,${url.length}`,
  budgets: Partial<BudgetSettings> = {},
) {
  const requests: ModelRequest[] = []
  const ended: Events['call:ended'][] = []
  const told: object[] = []
  const calls: Call[] = []
  let now = 0
  const made = gateway({
    model: {
      async complete(request) {
        requests.push(request)
        now += ms
        const next = replies[requests.length - 1]
        if (next === undefined) throw new Error('no reply left')
        if (next instanceof Error) throw next
        return next
      },
    },
    loadImage,
    ...memoryParts(() => now, budgets),
    settings: { ...settings, ...over },
    clock: () => now,
    report: (name, event) => {
      if (name === 'call:ended') ended.push(event as Events['call:ended'])
      else told.push({ name, ...event })
    },
  })
  const put = (asked: Ask = ask, asking: Partial<GivenAsk> = {}) =>
    made.ask(
      askContext({
        ask: asked,
        protocol: 'rumor',
        subject: { tenant: 'default', postId: 'p', kind: 'post' },
        caseId: 'rumor~p~r1',
        askId: 'rumor~p~r1/0/0.0',
        remember: false,
        attempt: 1,
        last: false,
        signal: new AbortController().signal,
        deadline: 1_000_000,
        calls,
        ...asking,
      }),
    )
  const pass = (ms: number) => {
    now += ms
  }
  return { put, requests, ended, calls, told, pass, gateway: made }
}

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
        ...{ outcome: 'answered', model: 'small', startedAt: expect.any(Number), ms: 10 },
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

describe('the form of the answer', () => {
  test('stands at the end of the last message', () => {
    const messages = withFormat(ask)
    expect(messages).toHaveLength(2)
    expect(messages[0]).toEqual({ role: 'system', content: 'S' })
    expect(messages[1]?.role).toBe('user')
    expect(messages[1]?.content).toBe(
      'Q\n\nAnswer format (opinion): {"properties":{"reasoning":{"type":"string"},"answer":{"enum":["Fake","Real"]}}}',
    )
  })

  test('is shown whole where a paper’s questions are asked', () => {
    const line = JSON.stringify(jsonSchema(ask.answer))
    expect(line).toContain('"required":["reasoning","answer"],"additionalProperties":false')
    expect(withFormat({ ...ask, wholeForm: true })[1]?.content).toBe(`Q\n\nAnswer format (opinion): ${line}`)
  })

  test('says what is not so of all: fields that may be missing or added, a field’s own type and bounds', () => {
    const answer = z.object({
      type: z.literal('a'),
      required: z.array(z.int().min(1)).max(2),
      items: z.string().optional(),
      enum: z.record(z.string(), z.number()),
    })
    const [, form = ''] = withFormat({ ...ask, answer })[1]?.content.split('(opinion): ') ?? []
    expect(JSON.parse(form)).toEqual({
      properties: {
        type: { type: 'string', const: 'a' },
        required: { maxItems: 2, items: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } },
        items: { type: 'string' },
        enum: { type: 'object', propertyNames: { type: 'string' }, additionalProperties: { type: 'number' } },
      },
      required: ['type', 'required', 'enum'],
    })
  })

  test('is a message of its own after one that is not the user’s', () => {
    const said: Ask = { ...ask, messages: [...ask.messages, { role: 'assistant', content: 'A' }] }
    expect(withFormat(said).map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
  })

  test('stands after a whole conversation, of which nothing is lost', () => {
    const said = [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'Q1' },
      { role: 'assistant', content: 'A1' },
      { role: 'user', content: 'Q2' },
    ] as const
    const sent = withFormat({ ...ask, messages: said })
    expect(sent.slice(0, 3)).toEqual(said.slice(0, 3))
    expect(sent).toHaveLength(4)
    expect(sent[3]?.content).toMatch(/^Q2\n\nAnswer format \(opinion\)/)
  })

  test('leaves the ask as it is', () => {
    const before = structuredClone(ask.messages)
    withFormat(ask)
    expect(ask.messages).toEqual(before)
  })
})

describe('an unreadable answer', () => {
  test('is asked for once more, with what came back and what was wrong with it', async () => {
    const { put, requests, calls } = setUp([unreadable, reply()])
    expect((await put()).answer).toEqual(FAKE)
    expect(requests[1]?.messages).toEqual([
      ...withFormat(ask),
      { role: 'assistant', content: 'I would say Fake.' },
      {
        role: 'user',
        content: expect.stringMatching(/could not be read \(no JSON object\)[\s\S]*Answer format \(opinion\)/),
      },
    ])
    expect(calls.map(({ outcome }) => outcome)).toEqual(['unreadable', 'answered'])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
  })

  test('shows the answer that could not be read, but none that was cut: it leaves the next no room', async () => {
    const shownFor = async (first: ModelReply) => {
      const { put, requests } = setUp([first, reply()])
      await put()
      return requests[1]?.messages.map(({ role, content }) => `${role}: ${content.slice(0, 30)}`)
    }
    expect(await shownFor(unreadable)).toContain('assistant: I would say Fake.')
    expect(
      (await shownFor(reply({ text: '{"reasoning":"r', finish: 'length' })))?.map((one) => one.split(':')[0]),
    ).toEqual(['system', 'user', 'user'])
  })

  test('counts both calls’ tokens and time', async () => {
    const { put } = setUp([unreadable, reply()])
    expect(await put()).toMatchObject({ ms: 20, usage: { calls: 2, promptTokens: 200, completionTokens: 20 } })
  })

  test('a second time is a failure, and never a label', async () => {
    const { put, requests } = setUp([unreadable, reply({ text: '{"reasoning":"r","answer":"Fake or Real"}' })])
    expect(await put()).toMatchObject({
      answer: null,
      failed: { code: 'unreadable', detail: 'answer: invalid_value' },
      raw: '{"reasoning":"r","answer":"Fake or Real"}',
    })
    expect(requests).toHaveLength(2)
  })

  test.each<[string, Partial<ModelReply>, string, RegExp]>([
    ['a refusal', { text: 'I cannot help with that.', finish: 'refusal' }, 'refused', /refused/],
    ['a refusal without a word', { text: null, finish: 'refusal' }, 'refused', /refused/],
    ['the token limit', { text: '{"reasoning":"r', finish: 'length' }, 'unreadable', /cut at the token limit/],
    ['nothing', { text: null }, 'unreadable', /no JSON object/],
    ['an empty text', { text: '' }, 'unreadable', /no JSON object/],
  ])('because of %s is asked for once more, then fails under its name', async (_, over, code, detail) => {
    const { put, calls } = setUp([reply(over), reply(over)])
    const settled = await put()
    expect(settled).toMatchObject({ answer: null, failed: { code, detail: expect.stringMatching(detail) } })
    expect(calls.map(({ outcome }) => outcome)).toEqual([code, code])
    const repaired = setUp([reply(over), reply()])
    expect((await repaired.put()).answer).toEqual(FAKE)
  })

  test.each<[string, Partial<ModelReply>]>([
    ['without a text', { text: null }],
    ['in the middle of a readable answer', {}],
  ])('that the endpoint’s filter stopped is not asked for again: %s', async (_, over) => {
    const { put, calls } = setUp([reply({ finish: 'content-filter', ...over }), reply()])
    expect(await put()).toMatchObject({
      answer: null,
      failed: { code: 'content-filter', detail: expect.stringMatching(/filter/) },
    })
    expect(calls.map(({ outcome }) => outcome)).toEqual(['content-filter'])
  })
})

describe('models', () => {
  test.each([
    [1, 'small'],
    [2, 'large'],
    [3, 'large'],
    [9, 'large'],
  ])('attempt %i uses the chain’s %s', async (attempt, model) => {
    const { put, requests } = setUp([reply()])
    await put(ask, { attempt })
    expect(requests[0]?.model).toBe(model)
  })

  test('are those of the role where it is named', async () => {
    const { put, requests } = setUp([reply(), reply()], { roles: { default: ['small'], debater: ['own'] } })
    await put()
    await put({ ...ask, role: 'judge' })
    expect(requests.map(({ model }) => model)).toEqual(['own', 'small'])
  })

  test('do not change between an answer and its repair', async () => {
    const { put, requests } = setUp([unreadable, reply()])
    await put(ask, { attempt: 2 })
    expect(requests.map(({ model }) => model)).toEqual(['large', 'large'])
  })

  test('that are not set are a permanent failure', async () => {
    const { put } = setUp([], { roles: {} })
    await expect(put()).rejects.toMatchObject({ name: 'PermanentError', code: 'rejected' })
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

const PROBATION = { window: 4, minCalls: 2, failureShare: 0.5, coolDown: 100, probes: 1, successes: 2 }

test('a question that is taken back before it is sent shuts no model out that is on probation', async () => {
  const away = new RetryLaterError('unavailable', 'away')
  const settings = { breaker: { ...GATEWAY.breaker, ...PROBATION }, roles: { default: ['small'] } }
  const { put, pass, requests } = setUp([away, away, reply()], settings)
  for (let failure = 0; failure < 2; failure++) await expect(put()).rejects.toThrow()
  pass(200)
  const mayAsk = () => Promise.reject(new Error('answered elsewhere'))
  await expect(put(ask, { mayAsk })).rejects.toThrow('answered elsewhere')
  expect(requests).toHaveLength(2)
  expect(await put()).toMatchObject({ answer: FAKE })
})

test('a repair question that comes too late for its case shuts no model out that is on probation', async () => {
  const away = new RetryLaterError('unavailable', 'away')
  const settings = { breaker: { ...GATEWAY.breaker, ...PROBATION }, roles: { default: ['small'] } }
  const { put, pass } = setUp([away, away, unreadable, reply(), reply()], settings)
  for (let failure = 0; failure < 2; failure++) await expect(put()).rejects.toThrow()
  pass(200)
  // The first call takes the rest of its time.
  await expect(put(ask, { deadline: 225 })).rejects.toMatchObject({ code: 'deadline' })
  pass(1_000)
  expect(await put()).toMatchObject({ answer: FAKE })
})

describe('the deadline', () => {
  test('bounds the wait for a call', async () => {
    const { put, requests } = setUp([reply()])
    await put(ask, { deadline: 400 })
    expect(requests[0]?.timeoutMs).toBe(400)
  })

  test.each([0, -1])('that has passed lets no call begin', async (deadline) => {
    const { put, requests, calls } = setUp([reply()])
    await expect(put(ask, { deadline })).rejects.toMatchObject({ name: 'PermanentError', code: 'deadline' })
    expect(requests).toEqual([])
    expect(calls).toEqual([])
  })

  test('that passes during the first call leaves no repair; the call is noted', async () => {
    const { put, requests, calls } = setUp([unreadable, reply()], {}, 50)
    await expect(put(ask, { deadline: 50 })).rejects.toMatchObject({ code: 'deadline' })
    expect(requests).toHaveLength(1)
    expect(calls.map(({ outcome }) => outcome)).toEqual(['unreadable'])
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

describe('a model for a role', () => {
  test('of one protocol goes before that for the role, and that before the default', async () => {
    const roles = { default: ['d'], debater: ['r'], 'rumor.debater': ['p'] }
    const { put, requests } = setUp([reply(), reply(), reply()], { roles })
    await put()
    await put(ask, { protocol: 'hate' })
    await put({ ...ask, role: 'judge' }, { protocol: 'hate' })
    expect(requests.map(({ model }) => model)).toEqual(['p', 'r', 'd'])
  })
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
      ...{ name: 'memo:hit', protocol: 'rumor', stage: 'opinion', hits: 1 },
      ...{ promptTokens: 100, completionTokens: 10, caseId: 'other' },
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

describe('a limit', () => {
  const limits = { models: { small: { callsPerMinute: 1 } }, tenants: {} }

  test('that is reached makes the call wait, at no attempt’s cost and without a call', async () => {
    const { put, requests, calls, told } = setUp([reply(), reply()], { limits })
    await put()
    await expect(put()).rejects.toMatchObject({ code: 'limited', costsAttempt: false, delayMs: expect.any(Number) })
    expect(requests).toHaveLength(1)
    expect(calls).toHaveLength(1)
    expect(told).toContainEqual({
      ...{ name: 'call:limited', scope: 'model', waitMs: expect.any(Number) },
      caseId: 'rumor~p~r1',
    })
  })

  test('is that of its model and its tenant alone', async () => {
    const { put } = setUp([reply(), reply(), reply()], {
      limits: { ...limits, tenants: { loud: { callsPerMinute: 1 } } },
    })
    await put()
    await put(ask, { attempt: 2, subject: { tenant: 'loud', postId: 'p', kind: 'post' } })
    const loud = put(ask, { attempt: 2, subject: { tenant: 'loud', postId: 'q', kind: 'post' } })
    await expect(loud).rejects.toMatchObject({ code: 'limited', message: expect.stringContaining('tenant:loud') })
    await put(ask, { attempt: 2, subject: { tenant: 'quiet', postId: 'p', kind: 'post' } })
  })

  test('gets back what a failed call did not take', async () => {
    const { put, requests } = setUp([new RetryLaterError('unavailable', 'gone'), reply()], { limits })
    await expect(put()).rejects.toMatchObject({ code: 'unavailable' })
    await put()
    expect(requests).toHaveLength(2)
  })

  test('that no call could meet is an error that says what to do', async () => {
    const { put, requests } = setUp([reply()], { limits: { models: { small: { tokensPerMinute: 100 } }, tenants: {} } })
    await expect(put()).rejects.toMatchObject({ name: 'PermanentError', code: 'rejected' })
    expect(requests).toEqual([])
  })

  test('that leaves no room for the repair lets the first reading stand', async () => {
    const { put, requests } = setUp([unreadable, reply()], { limits })
    const settled = await put()
    expect(settled).toMatchObject({ failed: { code: 'unreadable' }, usage: { calls: 1 } })
    expect(requests).toHaveLength(1)
  })
})

describe('a budget', () => {
  const verdict = { tokens: 2_000, usd: null }

  test('that is spent fails the ask with its name before any call', async () => {
    const { put, requests, told } = setUp([reply({ completionTokens: 1_900 }), reply()], {}, 10, undefined, { verdict })
    await put()
    await expect(put()).rejects.toMatchObject({ name: 'PermanentError', code: 'budget' })
    expect(requests).toHaveLength(1)
    expect(told).toContainEqual({
      ...{ name: 'budget:refused', scope: 'verdict', unit: 'tokens', why: 'spent' },
      caseId: 'rumor~p~r1',
    })
  })

  test('of one verdict is not another’s', async () => {
    const { put } = setUp([reply({ completionTokens: 1_900 }), reply()], {}, 10, undefined, { verdict })
    await put()
    await put(ask, { caseId: 'another' })
  })

  const hourly = { tenant: { tokens: 2_000, usd: null, per: 3_600_000 } }
  test('that renews holds the ask, or does without, as the settings say', async () => {
    const replies = [reply({ completionTokens: 1_900 }), reply()]
    const holding = setUp(replies, { whenSpent: 'hold' }, 10, undefined, hourly)
    await holding.put()
    await expect(holding.put()).rejects.toMatchObject({ name: 'RetryLaterError', code: 'budget', costsAttempt: false })
    holding.pass(3_600_000)
    await holding.put(ask, { deadline: 1e9 })
    const degrading = setUp(replies, { whenSpent: 'degrade' }, 10, undefined, hourly)
    await degrading.put()
    await expect(degrading.put()).rejects.toMatchObject({ name: 'PermanentError', code: 'budget' })
  })

  test('is charged what was used, and not the bound that was set aside', async () => {
    const { put } = setUp([reply(), reply(), reply(), reply()], {}, 10, undefined, { verdict })
    for (let call = 0; call < 4; call++) await put()
  })

  test('in dollars goes by the model’s prices', async () => {
    const prices = { small: { prompt: 0, cached: 0, completion: 1_000 } }
    const usd = { verdict: { tokens: null, usd: 0.71 } }
    const { put } = setUp([reply({ completionTokens: 700 }), reply()], { prices }, 10, undefined, usd)
    await put()
    await expect(put()).rejects.toMatchObject({ code: 'budget', message: expect.stringContaining('usd') })
  })
})

describe('a model that does not answer', () => {
  const gone = () => new RetryLaterError('unavailable', 'gone')
  const over = { breaker: { ...GATEWAY.breaker, window: 4, minCalls: 4, coolDown: 1_000 } }

  test('is left alone after a while, and the next of the chain is asked', async () => {
    const { put, requests, told } = setUp([gone(), gone(), gone(), gone(), reply({ model: 'large-2026' })], over)
    for (let call = 0; call < 4; call++) await expect(put()).rejects.toMatchObject({ code: 'unavailable' })
    expect(told).toContainEqual({ name: 'breaker:changed', model: 'small', to: 'open', reason: 'unreachable' })
    expect((await put()).model).toBe('large-2026')
    expect(requests.at(-1)?.model).toBe('large')
  })

  test('leaves nothing to be remembered under its name: a fallback’s answer is the fallback’s', async () => {
    const lost = Array.from({ length: 4 }, gone)
    const { put, pass, requests } = setUp([...lost, reply({ model: 'large-2026' }), reply({ model: 'small-2026' })], {
      ...over,
      memo: { enabled: true, keep: 60_000, lease: 5_000, patience: 2_000, maxBytes: 10_000 },
    })
    for (let call = 0; call < 4; call++) await expect(put(ask, { remember: true })).rejects.toThrow()
    expect(await put(ask, { remember: true })).toMatchObject({ model: 'large-2026', memo: false })
    // The outage does not pay for it again…
    expect(await put(ask, { remember: true })).toMatchObject({ model: 'large-2026', memo: true })
    pass(1_100)
    // …and once it is over the preferred model is asked.
    expect(await put(ask, { remember: true })).toMatchObject({ model: 'small-2026', memo: false })
    expect(requests.slice(4).map(({ model }) => model)).toEqual(['large', 'small'])
  })

  test('and has no next is waited for, at no attempt’s cost', async () => {
    const { put, requests } = setUp([gone(), gone(), gone(), gone()], { ...over, roles: { default: ['small'] } })
    for (let call = 0; call < 4; call++) await expect(put()).rejects.toMatchObject({ costsAttempt: true })
    await expect(put()).rejects.toMatchObject({ code: 'unavailable', costsAttempt: false, delayMs: expect.any(Number) })
    expect(requests).toHaveLength(4)
  })

  test('is tried again, and is back when it answers', async () => {
    const answers = [reply(), reply(), reply(), reply()]
    const { put, pass, told } = setUp([gone(), gone(), gone(), gone(), ...answers], {
      ...over,
      roles: { default: ['small'] },
    })
    for (let call = 0; call < 4; call++) await expect(put()).rejects.toThrow()
    pass(1_100)
    for (let call = 0; call < 4; call++) await put()
    expect(told).toContainEqual({ name: 'breaker:changed', model: 'small', to: 'closed', reason: 'unreachable' })
  })
})

describe('another model of the chain is asked at once', () => {
  const elsewhere = (what: 'question' | 'model') =>
    new PermanentError('rejected', 'status 404', {
      elsewhere: what,
      ...(what === 'model' ? { mend: 'model' as const } : {}),
    })
  const wait = (delayMs: number) => new RetryLaterError('rate-limited', 'status 429', { delayMs, costsAttempt: false })

  test.each([
    ['the first is not there', elsewhere('model'), 'operator'],
    ['the question is too long for the first', elsewhere('question'), 'rejected'],
    ['the first is to be left alone for long', wait(60_000), 'rate-limited'],
  ])('where %s', async (_, error, outcome) => {
    const { put, requests, calls } = setUp([error, reply({ model: 'large-2026' })])
    expect(await put()).toMatchObject({ answer: FAKE, model: 'large-2026', usage: { calls: 1 } })
    expect(requests.map(({ model }) => model)).toEqual(['small', 'large'])
    expect(calls.map((call) => call.outcome)).toEqual([outcome, 'answered'])
  })

  test.each([
    ['of another endpoint, where its key is refused', ['a/x', 'a/y', 'b/z'], ['a/x', 'b/z'], 'answered'],
    ['of no other endpoint than there is', ['a/x', 'a/y'], ['a/x'], 'operator'],
  ])('%s', async (_, chain, asked, end) => {
    const { put, requests, calls } = setUp(
      [new PermanentError('rejected', 'status 401', { elsewhere: 'endpoint', mend: 'key' }), reply()],
      { roles: { default: chain }, endpointOf: (model) => model.slice(0, 1) },
    )
    await put().catch(() => undefined)
    expect(requests.map(({ model }) => model)).toEqual(asked)
    expect(calls.at(-1)?.outcome).toBe(end)
  })

  test('and its answer is known as its own: it is not paid for again, and never taken for the first one’s', async () => {
    const { put, requests, told } = setUp(
      [wait(60_000), reply({ model: 'large-2026' }), wait(60_000), elsewhere('question'), reply()],
      { memo: { enabled: true, keep: 60_000, lease: 5_000, patience: 2_000, maxBytes: 10_000 } },
    )
    const again = () => put(ask, { remember: true })
    expect(await again()).toMatchObject({ model: 'large-2026', memo: false })
    // The first is asked each time, as it may have come back, and the other's answer is there already.
    for (const _ of [1, 2]) expect(await again()).toMatchObject({ model: 'large-2026', memo: true })
    expect(await again()).toMatchObject({ model: 'small-2026', memo: false })
    expect(await again()).toMatchObject({ model: 'small-2026', memo: true })
    expect(requests.map(({ model }) => model)).toEqual(['small', 'large', 'small', 'small', 'small'])
    expect(told.filter((event) => 'hits' in event)).toHaveLength(3)
  })

  describe('where a filter refused the question', () => {
    const HATE = { category: 'hate', severity: 'high' }
    const refusals = [
      ['with an error', new PermanentError('content-filter', 'status 400', { filtered: [HATE] })],
      ['in an answer', reply({ text: null, finish: 'content-filter', filtered: [HATE] })],
    ] as const

    test.each(refusals)('only if the settings say so, %s: the call tells what was refused', async (_, refusal) => {
      const next = setUp([refusal, reply({ model: 'large-2026' })], { onFiltered: 'next' })
      expect(await next.put()).toMatchObject({ answer: FAKE, model: 'large-2026' })
      expect(next.calls).toMatchObject([
        { outcome: 'content-filter', filtered: { model: 'small', found: [HATE] } },
        { outcome: 'answered' },
      ])
      expect(next.told).toContainEqual(
        expect.objectContaining({ name: 'call:filtered', model: 'small', found: [HATE] }),
      )
      const stop = setUp([refusal, reply()])
      await stop.put().catch(() => {})
      expect(stop.requests).toHaveLength(1)
    })

    test('and ends with that where every model refuses it', async () => {
      const { put, requests } = setUp([refusals[1][1], refusals[1][1]], { onFiltered: 'next' })
      expect(await put()).toMatchObject({ failed: { code: 'content-filter' } })
      expect(requests.map(({ model }) => model)).toEqual(['small', 'large'])
    })
  })

  test('and no third time: the last one’s error is the ask’s', async () => {
    const { put, requests } = setUp([
      elsewhere('model'),
      new PermanentError('rejected', 'status 403', { elsewhere: 'model' }),
    ])
    await expect(put()).rejects.toThrow('status 403')
    expect(requests).toHaveLength(2)
  })

  test('at a later attempt, that is one before the model whose turn it is', async () => {
    const { put, requests } = setUp([elsewhere('question'), reply()])
    await put(ask, { attempt: 2 })
    expect(requests.map(({ model }) => model)).toEqual(['large', 'small'])
  })

  test.each([
    ['a wait is short', wait(2_000)],
    ['the key is wrong', new PermanentError('rejected', 'status 401')],
    ['the model gave no answer', new RetryLaterError('unavailable', 'status 500')],
  ])('but not where %s', async (_, error) => {
    const { put, requests } = setUp([error, reply()])
    await expect(put()).rejects.toBe(error)
    expect(requests).toHaveLength(1)
  })

  test('but not where there is none', async () => {
    const error = elsewhere('model')
    const { put, requests } = setUp([error, reply()], { roles: { default: ['small'] } })
    await expect(put()).rejects.toBe(error)
    expect(requests).toHaveLength(1)
  })

  test('and one that is not there is then left alone, but for one that this question was too long for', async () => {
    const askedFirst = async (what: 'question' | 'model') => {
      const tenTimes = Array.from({ length: 10 }, () => [elsewhere(what), reply()]).flat()
      const { put, requests } = setUp([...tenTimes, reply(), reply()])
      for (let n = 0; n < 11; n++) await put(ask, { caseId: `rumor~p~r${n}` }).catch(() => {})
      return requests.map(({ model }) => model)
    }
    const tenTimes = Array.from({ length: 10 }, () => ['small', 'large']).flat()
    expect(await askedFirst('model')).toEqual([...tenTimes, 'large'])
    expect(await askedFirst('question')).toEqual([...tenTimes, 'small'])
  })
})

describe('a call that takes far longer than its stage does', () => {
  test('is given up and counted as timed out, and its place is free', async () => {
    let now = 0
    const hung: AbortSignal[] = []
    const calls: Call[] = []
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
          ...{ protocol: 'rumor', subject: { tenant: 'default', postId: 'p', kind: 'post' }, caseId: 'c', askId: 'a' },
          ...{ remember: false, attempt: 1, last: false, deadline: 1_000_000, calls },
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
})
