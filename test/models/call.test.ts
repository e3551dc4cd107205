import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Ask } from '../../src/contracts/facts/ask.ts'
import type { ModelCall } from '../../src/contracts/facts/case.ts'
import { PermanentError, RetryLaterError } from '../../src/contracts/facts/errors.ts'
import type { ChatMessage } from '../../src/contracts/facts/verdict.ts'
import type { Budgets } from '../../src/contracts/ports/budgets.ts'
import type { CallLimits, ScopeLimits, Ticket } from '../../src/contracts/ports/call-limits.ts'
import type { ModelReply, ModelRequest } from '../../src/contracts/ports/model.ts'
import type { AdaptiveLimit } from '../../src/models/adaptive.ts'
import { callModel } from '../../src/models/ask.ts'
import type { Breaker, Pass } from '../../src/models/breaker.ts'
import { askContext, firstPrompt } from '../../src/models/context.ts'
import { unmeteredCalls } from '../../src/models/cost.ts'
import { schemaLine } from '../../src/models/format.ts'
import { type ModelSlot, modelSlots } from '../../src/models/model-slots.ts'
import type { GatewaySettings, GatewayState } from '../../src/models/parts.ts'
import { refusalReport } from '../../src/models/refusal-report.ts'
import { spentBudgets } from '../../src/models/spent-budgets.ts'
import { GATEWAY } from '../support/parts.ts'

const REST = { serviceClass: 'rest', tenant: 'default' } as const

const NOW = 1_000_000
const ask: Ask = {
  stage: 'opinion',
  role: 'debater',
  messages: [],
  answer: z.object({ answer: z.enum(['Fake', 'Real']) }),
  temperature: 0,
  maxTokens: 700,
}
const messages: ChatMessage[] = [
  { role: 'system', content: 'Be fair.' },
  { role: 'user', content: 'Brücke?', images: ['data:image/png;base64,AA', 'data:image/png;base64,BB'] },
]
/** The bytes of the texts, 16 more for each message and 16 for all, what an image may count as, and the form. */
const PROMPT = 8 + 8 + 3 * 16 + 2 * 1_000 + Buffer.byteLength(schemaLine(ask.answer))

const reply = (over: Partial<ModelReply> = {}): ModelReply => ({
  text: '{"answer":"Fake"}',
  finish: 'stop',
  model: 'small-2026',
  promptTokens: 100,
  cachedTokens: 40,
  completionTokens: 10,
  ...over,
})

interface Given {
  readonly settings?: Partial<GatewaySettings>
  readonly deadline?: number
  readonly budget?: Awaited<ReturnType<Budgets['reserve']>>
  readonly limited?: boolean
}

/** One call of a model that says this after 250 ms, and all that its neighbours were told of it. */
async function called(said: ModelReply | Error, { settings, deadline = NOW + 60_000, budget, limited }: Given = {}) {
  let now = NOW
  const told = {
    asked: [] as ModelRequest[],
    money: [] as unknown[],
    room: [] as unknown[],
    noted: [] as string[],
    paced: [] as string[],
    ended: [] as unknown[],
    calls: [] as ModelCall[],
  }
  const clock = () => now
  const report: GatewayState['report'] = (name, event) => void (name === 'call:ended' && told.ended.push(event))
  // Of a gateway and its parts what one call reads of them; each notes what it is told.
  const gateway = {
    model: {
      async complete(request: ModelRequest) {
        told.asked.push(request)
        now += 250
        if (said instanceof Error) throw said
        return said
      },
    },
    limits: {
      reserve: async (scopes: unknown, { tokens }: { tokens: number }) => {
        told.room.push({ scopes, tokens })
        return limited ? { granted: false, waitMs: 70, scope: 'tenant:t' } : { granted: true, ticket: {} as Ticket }
      },
      settle: async (_: Ticket, tokens: number) => void told.room.push({ settled: tokens }),
      refund: async () => void told.room.push('refunded'),
    } as unknown as CallLimits,
    budgets: {
      reserve: async ({ atMost, leaseMs }: Parameters<Budgets['reserve']>[0]) => {
        told.money.push({ atMost, leaseMs })
        return budget ?? { granted: true }
      },
      settle: async (_: string, spent: unknown) => void told.money.push({ spent }),
    } as unknown as Budgets,
    breakers: { note: (_: Pass, outcome: string) => void told.noted.push(outcome) } as unknown as Breaker,
    settings: { ...GATEWAY, callTimeout: 1_000, imageTokens: 1_000, ...settings },
    spentBudgets: spentBudgets(report, clock, () => 'hold'),
    unmeteredCalls: unmeteredCalls(report, clock),
    refused: refusalReport(report, clock),
    clock,
    report,
  } as unknown as GatewayState
  const adaptive = { begin: () => (end: string) => void told.paced.push(end) } as unknown as AdaptiveLimit
  const { signal } = new AbortController()
  const context = askContext({
    ask,
    protocol: 'rumor',
    subject: { tenant: 't', postId: 'p', kind: 'post' },
    caseId: 'c',
    askId: 'a',
    attempt: 1,
    last: false,
    remember: false,
    signal,
    deadline,
    calls: told.calls,
  })
  // A slot has private members, which no call looks at.
  const slot = { adaptive, times: { watch: () => () => {} } } as unknown as ModelSlot
  const choice = { chain: ['small'], remaining: ['small'], model: 'small' }
  const admission = { pass: { model: 'small' }, slot }
  const outcome = await callModel(gateway, context, choice, admission, firstPrompt(ask, messages, 0)).then(
    ({ settled }) => settled,
    (error: unknown) => error,
  )
  return { ...told, outcome }
}

const limitsOf = (models: Record<string, ScopeLimits>, tenants: Record<string, ScopeLimits> = {}) => ({
  settings: { limits: { models, tenants } },
})
const LIMITED = limitsOf({ small: { callsPerMinute: 9 } })
const later = (code: 'timeout' | 'rate-limited' | 'unavailable') => new RetryLaterError(code, code)

describe('the tier of a call', () => {
  const on = (tiers: GatewaySettings['tiers']) => called(reply(), { settings: { tiers, flexTimeout: 9_000 } })

  test.each([
    ['by default', { default: 'flex' as const }, 'flex', 9_000],
    ['by its role', { debater: 'flex' as const, default: 'priority' as const }, 'flex', 9_000],
    ['by its protocol and role', { 'rumor.debater': 'priority' as const, debater: 'flex' as const }, 'priority', 1_000],
    ['not at all', { judge: 'flex' as const }, undefined, 1_000],
  ])('is asked for %s, with the time limit of that tier', async (_, tiers, tier, timeoutMs) => {
    const { asked } = await on(tiers)
    expect(asked).toMatchObject([{ timeoutMs }])
    expect(asked[0]?.tier).toBe(tier)
  })

  test('lets what is set aside last as long as the longest call', async () => {
    expect((await on({ judge: 'flex' })).money[0]).toMatchObject({ leaseMs: 39_000 })
  })
})

describe('what is set aside for a call', () => {
  const prices = { small: { prompt: 2, cached: 3, completion: 5 } }

  test('is put right afterwards only where a budget counts it', async () => {
    const { money } = await called(reply(), { budget: { granted: true, unlimited: true } })
    expect(money).toEqual([expect.objectContaining({ leaseMs: 31_000 })])
    expect((await called(reply())).money).toHaveLength(2)
  })

  test('is what its prompt and images can come to, and its longest answer, at the dearer price', async () => {
    const { money, room } = await called(reply(), { settings: { ...LIMITED.settings, prices } })
    const atMost = { tokens: PROMPT + 700, usd: (PROMPT * 3 + 700 * 5) / 1e6 }
    expect(money[0]).toEqual({ atMost, leaseMs: 31_000 })
    expect(room[0]).toMatchObject({ tokens: atMost.tokens })
  })

  test('gives way to what it took, cached tokens at their own price', async () => {
    const { money, room, ended } = await called(reply(), { settings: { ...LIMITED.settings, prices } })
    const usd = (60 * 2 + 40 * 3 + 10 * 5) / 1e6
    expect(money[1]).toEqual({ spent: { tokens: 110, usd } })
    expect(room[1]).toEqual({ settled: 110 })
    expect(ended).toMatchObject([{ promptTokens: 100, completionTokens: 10, costUsd: usd, seconds: 0.25 }])
  })

  test('is what an endpoint that reports no usage is charged with', async () => {
    const { money } = await called(reply({ promptTokens: 0, cachedTokens: 0, completionTokens: 0 }))
    expect(money[1]).toEqual({ spent: { tokens: PROMPT + 700, usd: 0 } })
  })
})

describe('the room of limits', () => {
  test('is asked for by model and tenant, where either has any, those that are not named under default', async () => {
    const one = { callsPerMinute: 1 }
    const scopesIn = async (given: Given) => (await called(reply(), given)).room[0]
    expect(await scopesIn(LIMITED)).toMatchObject({ scopes: [{ name: 'model:small' }] })
    expect(await scopesIn(limitsOf({ default: one }, { default: one }))).toMatchObject({
      scopes: [
        { name: 'model:small', limits: one },
        { name: 'tenant:t', limits: one },
      ],
    })
    expect(await scopesIn(limitsOf({ large: one }, { u: one }))).toBeUndefined()
  })

  test.each<[string, ModelReply | Error, unknown]>([
    ['an answer takes what it used', reply(), { settled: 110 }],
    ['a call that was turned away counts as one, without tokens', later('rate-limited'), { settled: 0 }],
    ['a call that timed out may be charged in full', later('timeout'), { settled: PROMPT + 700 }],
    ['a model that was not there took nothing', later('unavailable'), 'refunded'],
  ])('%s', async (_, said, expected) => {
    expect((await called(said, LIMITED)).room[1]).toEqual(expected)
  })

  test('that is not there gives the money back and reaches no model', async () => {
    const { asked, money, noted, outcome } = await called(reply(), { ...LIMITED, limited: true })
    expect(asked).toEqual([])
    expect(money[1]).toEqual({ spent: { tokens: 0, usd: 0 } })
    expect(noted).toEqual([])
    expect(outcome).toMatchObject({ code: 'limited', delayMs: 70, costsAttempt: false })
  })
})

describe('a budget that is spent', () => {
  const refused = { granted: false, scope: 'tenant', unit: 'usd', why: 'spent' } as const

  test.each([
    [5_000, 5_000],
    [3_600_000, 30_000],
  ])('and renews in %i ms is asked again after %i', async (renewsInMs, delayMs) => {
    const { outcome, asked } = await called(reply(), { budget: { ...refused, renewsInMs } })
    expect(outcome).toMatchObject({ code: 'budget', delayMs, costsAttempt: false })
    expect(asked).toEqual([])
  })

  test('gives the room of limits back', async () => {
    const { room } = await called(reply(), { ...LIMITED, budget: { ...refused, renewsInMs: null } })
    expect(room[1]).toBe('refunded')
  })
})

describe('how a call ended', () => {
  test.each<[string, ModelReply | Error, number, string, string]>([
    ['an answer', reply(), 60_000, 'answered', 'answered'],
    ['an answer before a near deadline', reply(), 500, 'answered', 'answered'],
    ['words without an answer', reply({ text: 'eh' }), 60_000, 'unreadable', 'other'],
    ['a refusal of too many', later('rate-limited'), 60_000, 'rate-limited', 'overloaded'],
    ['a wait as long as any call may take', later('timeout'), 1_000, 'timeout', 'other'],
    ['a wait that the deadline cut short says nothing of the model', later('timeout'), 999, 'deadline', 'other'],
    ['a model that is not there, near the deadline', later('unavailable'), 500, 'unavailable', 'other'],
    ['a question that the endpoint refuses', new PermanentError('rejected', '400'), 60_000, 'rejected', 'other'],
  ])('%s is what breaker and pace are told', async (_, said, left, noted, paced) => {
    const told = await called(said, { deadline: NOW + left })
    expect(told.noted).toEqual([noted])
    expect(told.paced).toEqual([paced])
    expect(told.asked[0]?.timeoutMs).toBe(Math.min(1_000, left))
    expect(told.ended).toMatchObject([{ seconds: 0.25 }])
  })
})

test('asks that wait for a slot of their model or of the process are counted', async () => {
  const slots = modelSlots({ ...GATEWAY, slots: 1 }, () => NOW)
  const { promise, resolve } = Promise.withResolvers<void>()
  const { signal } = new AbortController()
  const hold = async (model: string) => {
    const slot = await slots.take(model, REST, signal)
    await promise
    slot.free()
  }
  const all = ['small', 'small', 'large'].map(hold)
  await new Promise(setImmediate)
  expect([slots.busy, slots.waiting]).toEqual([1, 2])
  resolve()
  await Promise.all(all)
  expect([slots.busy, slots.waiting]).toEqual([0, 0])
})

test.each([
  [null, [40, 0]],
  [2, [20, 20]],
])(
  'with a latency tolerance of %j overloads leave so many of forty at work and waiting: %j',
  async (latencyTolerance, left) => {
    let now = NOW
    const settings = { ...GATEWAY, slots: 40, latencyTolerance }
    const slots = modelSlots(settings, () => now)
    const { signal } = new AbortController()
    const { adaptive, free } = await slots.take('small', REST, signal)
    const ends = Array.from({ length: 40 }, () => adaptive.begin('opinion'))
    now += 1_000
    for (const end of ends) end('overloaded')
    free()
    const { promise, resolve } = Promise.withResolvers<void>()
    const both = Array.from({ length: 40 }, async () => {
      const slot = await slots.take('small', REST, signal)
      await promise
      slot.free()
    })
    await new Promise(setImmediate)
    expect([slots.busy, slots.waiting]).toEqual(left)
    resolve()
    await Promise.all(both)
  },
)
