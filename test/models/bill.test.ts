import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Ask } from '../../src/contracts/facts/ask.ts'
import type { ModelCall } from '../../src/contracts/facts/case.ts'
import { usageOf } from '../../src/contracts/facts/case.ts'
import type { BudgetSettings } from '../../src/contracts/ports/budgets.ts'
import type { Model } from '../../src/contracts/ports/model.ts'
import { DIALECTS } from '../../src/kit/understudy/dialects/all.ts'
import type { ServerDialect } from '../../src/kit/understudy/dialects/dialect.ts'
import { startUnderstudy, type Understudy } from '../../src/kit/understudy/server.ts'
import type { AdaptiveLimit } from '../../src/models/adaptive.ts'
import { callModel } from '../../src/models/ask.ts'
import type { Breaker } from '../../src/models/breaker.ts'
import { type AskResult, askContext, firstPrompt } from '../../src/models/context.ts'
import { unmeteredCalls, upperBound } from '../../src/models/cost.ts'
import { withFormat } from '../../src/models/format.ts'
import type { ModelSlot } from '../../src/models/model-slots.ts'
import { openAiServer } from '../../src/models/openai/model.ts'
import { readUsage } from '../../src/models/openai/usage.ts'
import type { GatewaySettings, GatewayState } from '../../src/models/parts.ts'
import { refusalReport } from '../../src/models/refusal-report.ts'
import { spentBudgets } from '../../src/models/spent-budgets.ts'
import { memoryBudgets } from '../../src/store/budget/memory.ts'
import { memoryLimits } from '../../src/store/limit/memory.ts'
import { GATEWAY } from '../support/parts.ts'

const ask: Ask = {
  stage: 'subjectivity',
  role: 'debater',
  temperature: 0,
  maxTokens: 700,
  messages: [
    { role: 'system', content: 'Be fair.' },
    { role: 'user', content: '<<claim:9f3a1c0b7d2e4a55>>\nThe mill is on fire.\n<<end:9f3a1c0b7d2e4a55>>' },
  ],
  answer: z.object({ reason: z.string(), answer: z.enum(['Yes', 'No']) }),
}
const PRICE = { prompt: 1, cached: 0.1, completion: 10 }
const MESSAGES = withFormat(ask)
const BOUND = upperBound(ask, MESSAGES, PRICE, { imageTokens: GATEWAY.imageTokens })
const NO_LIMIT = { tokens: null, usd: null }

let running: Understudy | undefined
afterEach(() => running?.close())

/** Asks `times` at once, under a total budget, and asks again while a budget only waits for calls in flight. */
async function spending(
  model: Model,
  times: number,
  total: { tokens: number | null; usd: number | null },
  settings: Partial<GatewaySettings> = {},
) {
  const limits: BudgetSettings = {
    verdict: NO_LIMIT,
    tenants: {},
    share: 1,
    keepVerdictMs: 60_000,
    tenant: { ...NO_LIMIT, per: 3_600_000 },
    total: { ...total, per: 3_600_000 },
  }
  const clock = () => 1_000_000
  const budgets = memoryBudgets(limits, clock)
  const ledger: ModelCall[] = []
  const reported: unknown[] = []
  const report: GatewayState['report'] = (name, event) => void (name === 'model:unmetered' && reported.push(event))
  // Of the parts of a gateway those that one call reads.
  const gateway = {
    model,
    budgets,
    limits: memoryLimits(clock, { leaseMs: 60_000 }),
    clock,
    breakers: { note: () => {} } as unknown as Breaker,
    settings: { ...GATEWAY, callTimeout: 30_000, prices: { small: PRICE }, ...settings },

    report,
    spentBudgets: spentBudgets(report, clock, () => 'hold'),
    unmeteredCalls: unmeteredCalls(report, clock),
    refused: refusalReport(report, clock),
  } as unknown as GatewayState
  // A slot that is had: what waits for one is not asked here.
  const slot = {
    adaptive: { begin: () => () => {} } as unknown as AdaptiveLimit,
    times: { watch: () => () => {} },
    // A slot has private members, which no call looks at.
  } as unknown as ModelSlot
  const asked = async (at: number): Promise<AskResult | Error> => {
    const context = askContext({
      ask,
      protocol: 'rumor',
      subject: { tenant: 't', postId: 'p', kind: 'post' },
      attempt: 1,
      last: false,
      remember: false,
      deadline: 2_000_000,
      caseId: `c${at}`,
      askId: `a${at}`,
      signal: new AbortController().signal,
      calls: ledger,
    })
    const choice = { chain: ['small'], remaining: ['small'], model: 'small' }
    const admission = { pass: { model: 'small' }, slot }
    const prompt = firstPrompt(ask, MESSAGES, 0)
    for (;;) {
      try {
        return (await callModel(gateway, context, choice, admission, prompt)).settled
      } catch (error) {
        if (!(error instanceof Error) || !error.message.includes('in-flight')) return error as Error
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
  }
  const results = await Promise.all(Array.from({ length: times }, (_, at) => asked(at)))
  const used = (await budgets.total())?.used
  return { answered: results.filter((one) => !(one instanceof Error)) as AskResult[], used, ledger, reported }
}

describe('budgets', () => {
  test.each([
    ['vllm', 10],
    ['llama-cpp', 10],
    ['ollama', 40],
  ] as const)(
    'hold over 64 calls at once of %s with %s tokens of thought for each of the answer',
    async (name, thoughts) => {
      // The dialect has no word for less thought.
      const { thinking, ...row }: ServerDialect = DIALECTS[name]
      const alone = thinking === null ? null : { ...thinking, efforts: [] }
      running = await startUnderstudy({ dialect: { ...row, thinking: alone }, thoughts })
      const model = openAiServer({
        baseUrl: running.settings.OPENAI_BASE_URL,
        apiKey: 'key',
        answerFormat: 'json_schema' as const,
      })
      const limit = 12 * BOUND.tokens
      const { answered, used, ledger } = await spending(model, 64, { tokens: limit, usd: null })
      const sent = running.calls().reduce((sum, call) => sum + call.promptTokens + call.completionTokens, 0)
      expect(answered.length).toBeGreaterThanOrEqual(12)
      expect(answered.length).toBeLessThan(64)
      expect([used?.tokens, sent <= limit]).toEqual([sent, true])
      expect(usageOf(ledger).completionTokens).toBe(
        running.calls().reduce((sum, call) => sum + call.completionTokens, 0),
      )
      expect(Math.max(...running.calls().map(({ completionTokens }) => completionTokens))).toBeLessThanOrEqual(700)
    },
  )

  const saying =
    (usage: unknown): Model['complete'] =>
    async () => ({
      text: '{"reason":"so","answer":"Yes"}',
      finish: 'stop' as const,
      model: 'small-2026',
      ...readUsage({ usage }),
    })

  test.each([
    ['negative', { prompt_tokens: -100, completion_tokens: -5 }, 'missing'],
    ['missing', undefined, 'missing'],
    ['no number', { prompt_tokens: 'free', completion_tokens: null }, 'missing'],
    ['nothing at all', { prompt_tokens: 0, completion_tokens: 0 }, 'missing'],
    ['absurd', { prompt_tokens: 9_000_000, completion_tokens: 900_000 }, 'beyond'],
  ])('book the bound, name it once, and estimate what it costs where usage is %s', async (_, usage, why) => {
    const limit = { tokens: 10 * BOUND.tokens, usd: null }
    const { answered, used, ledger, reported } = await spending({ complete: saying(usage) }, 30, limit)
    expect([answered.length, used?.tokens]).toEqual([10, limit.tokens])
    expect(reported).toEqual([{ model: 'small', why }])
    const { estimated, costUsd, completionTokens } = usageOf(ledger)
    expect([estimated, completionTokens]).toEqual([10, 140])
    expect(costUsd).toBeGreaterThan(10 * 10 * 1e-5)
    expect(costUsd).toBeLessThan(10 * BOUND.usd)
  })

  test('hold where each byte that is sent is a token, and all is written that may be', async () => {
    const prompt = MESSAGES.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0)
    const usage = { prompt_tokens: prompt, completion_tokens: ask.maxTokens }
    const limit = 5 * BOUND.tokens
    const { answered, used } = await spending({ complete: saying(usage) }, 30, { tokens: limit, usd: null })
    expect(used?.tokens).toBe(answered.length * (prompt + ask.maxTokens))
    expect(used?.tokens).toBeLessThanOrEqual(limit)
  })

  test('hold in dollars too, where an answer costs five times what its question does', async () => {
    const usage = { prompt_tokens: 50, completion_tokens: 650, total_tokens: 700 }
    const limit = { tokens: null, usd: 5 * BOUND.usd }
    const { answered, used } = await spending({ complete: saying(usage) }, 30, limit)
    const each = (50 * 1 + 650 * 10) / 1e6
    expect(used?.usd).toBeCloseTo(answered.length * each, 9)
    expect(answered.length * each).toBeLessThanOrEqual(limit.usd)
  })
})

test('budgets in dollars hold where a tier costs more than usual, and the bound of a cheaper one is the usual', async () => {
  const price = { ...PRICE, tiers: { flex: 0.5, priority: 2, fast: 2 } }
  const most = BOUND.tokens - ask.maxTokens
  const usage = { prompt_tokens: most, completion_tokens: 700, total_tokens: BOUND.tokens }
  const complete: Model['complete'] = async ({ tier }) => ({
    text: '{"reason":"so","answer":"Yes"}',
    finish: 'stop' as const,
    model: 'small-2026',
    ...readUsage({ usage, service_tier: tier === 'priority' ? 'fast' : 'default' }),
  })
  const limit = { tokens: null, usd: 6 * BOUND.usd }
  const on = (tier: 'priority' | 'flex') =>
    spending({ complete }, 30, limit, { prices: { small: price }, tiers: { default: tier } })
  const dear = await on('priority')
  expect(dear.answered).toHaveLength(3)
  expect(dear.used?.usd).toBeCloseTo(limit.usd, 12)
  expect((await on('flex')).answered).toHaveLength(6)
})

test('the tier flex is asked for, and costs what the tier costs that the answer names', async () => {
  const price = { ...PRICE, tiers: { flex: 0.5, fast: 2 } }
  const costOn = async (name: 'openai-since' | 'vllm', tiers: GatewaySettings['tiers']) => {
    const { thinking: _, ...row }: ServerDialect = DIALECTS[name]
    running = await startUnderstudy({ dialect: { ...row, refuses: [], thinking: null } })
    const baseUrl = running.settings.OPENAI_BASE_URL
    const model = openAiServer({ baseUrl, apiKey: 'key', answerFormat: 'json_schema' })
    const { ledger } = await spending(model, 1, NO_LIMIT, { prices: { small: price }, tiers })
    await running.close()
    return usageOf(ledger).costUsd
  }
  const usual = await costOn('openai-since', {})
  expect(await costOn('openai-since', { debater: 'flex' })).toBe(usual / 2)
  // OpenAI's models since GPT-6 name it otherwise than it was asked for.
  expect(await costOn('openai-since', { debater: 'priority' })).toBe(usual * 2)
  // An endpoint without tiers names none, and has no other price.
  expect(await costOn('vllm', { debater: 'flex' })).toBe(await costOn('vllm', {}))
})
