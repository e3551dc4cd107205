import { describe, expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { chargeOf, type Price } from '../../../src/models/cost.ts'
import { readUsage } from '../../../src/models/openai/usage.ts'

/** A made-up price in which every kind of token costs something else, so that none can stand for another. */
const PRICE: Price = {
  prompt: 1.1,
  cached: 0.07,
  cacheWrite: 1.375,
  completion: 5.3,
  thinking: 4.9,
  tiers: { flex: 0.5, priority: 2 },
  longContext: { above: 272_000, prompt: 2, completion: 1.5 },
}
const SHIPPED: Readonly<Record<string, Price>> = loadSettings({}).models.prices
const given = { messages: [], mostWritten: 100, mostTokens: 1_000_000 }

const usdOf = (response: Record<string, unknown>, price: Price) => {
  const reply = { text: 'so', finish: 'stop' as const, model: 'm', ...readUsage(response) }
  return chargeOf(reply, price, given).charge.costUsd
}

/**
 * What five providers and two gateways document as the usage of an answer, and what a table made by hand says that it costs:
 * tokens times dollars a million, by kind.
 */
const BILLS: readonly (readonly [who: string, response: Record<string, unknown>, counts: object, usd: string])[] = [
  [
    'OpenAI since GPT-5.6: cached reads, cache writes, thoughts',
    {
      usage: {
        prompt_tokens: 2006,
        completion_tokens: 300,
        total_tokens: 2306,
        prompt_tokens_details: { cached_tokens: 1920, cache_write_tokens: 80, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 256, accepted_prediction_tokens: 0 },
      },
      service_tier: 'default',
    },
    { promptTokens: 2006, cachedTokens: 1920, cacheWriteTokens: 80, completionTokens: 300, thinkingTokens: 256 },
    // 6 × 1.10 + 1920 × 0.07 + 80 × 1.375 + 44 × 5.30 + 256 × 4.90 = 6.6 + 134.4 + 110 + 233.2 + 1254.4
    '0.0017386',
  ],
  [
    'OpenAI, the same on the flex tier',
    {
      usage: {
        prompt_tokens: 2006,
        completion_tokens: 300,
        total_tokens: 2306,
        prompt_tokens_details: { cached_tokens: 1920, cache_write_tokens: 80 },
        completion_tokens_details: { reasoning_tokens: 256 },
      },
      service_tier: 'flex',
    },
    { tier: 'flex' },
    '0.0008693',
  ],
  [
    'OpenAI, above 272,000 tokens of prompt',
    {
      usage: {
        prompt_tokens: 300_000,
        completion_tokens: 1000,
        total_tokens: 301_000,
        prompt_tokens_details: { cached_tokens: 100_000 },
        completion_tokens_details: { reasoning_tokens: 400 },
      },
    },
    { promptTokens: 300_000, cachedTokens: 100_000 },
    // 2 × (200000 × 1.10 + 100000 × 0.07) + 1.5 × (600 × 5.30 + 400 × 4.90) = 2 × 227000 + 1.5 × 5140
    '0.46171',
  ],
  [
    'OpenAI before: sums, cached reads',
    {
      usage: {
        prompt_tokens: 1200,
        completion_tokens: 90,
        total_tokens: 1290,
        prompt_tokens_details: { cached_tokens: 1024, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
    },
    { promptTokens: 1200, cachedTokens: 1024, completionTokens: 90 },
    // 176 × 1.10 + 1024 × 0.07 + 90 × 5.30 = 193.6 + 71.68 + 477
    '0.00074228',
  ],
  [
    "Anthropic's layer: sums, and details that are empty",
    {
      usage: {
        prompt_tokens: 58,
        completion_tokens: 17,
        total_tokens: 75,
        prompt_tokens_details: null,
        completion_tokens_details: null,
      },
    },
    { promptTokens: 58, cachedTokens: 0, completionTokens: 17 },
    // 58 × 1.10 + 17 × 5.30 = 63.8 + 90.1
    '0.0001539',
  ],
  [
    'Gemini: thoughts in the total alone',
    { usage: { prompt_tokens: 20, completion_tokens: 198, total_tokens: 623 } },
    { promptTokens: 20, completionTokens: 603, thinkingTokens: 405 },
    // 20 × 1.10 + 198 × 5.30 + 405 × 4.90 = 22 + 1049.4 + 1984.5
    '0.0030559',
  ],
  [
    'Gemini by a gateway: nothing but thoughts',
    {
      usage: {
        prompt_tokens: 21,
        completion_tokens: 0,
        total_tokens: 81,
        completion_tokens_details: { reasoning_tokens: 60 },
      },
    },
    { promptTokens: 21, completionTokens: 60, thinkingTokens: 60 },
    // 21 × 1.10 + 60 × 4.90 = 23.1 + 294
    '0.0003171',
  ],
  [
    'DeepSeek: hits and misses of its cache',
    {
      usage: {
        prompt_tokens: 700,
        completion_tokens: 50,
        total_tokens: 750,
        prompt_cache_hit_tokens: 640,
        prompt_cache_miss_tokens: 60,
        completion_tokens_details: { reasoning_tokens: 30 },
      },
    },
    { promptTokens: 700, cachedTokens: 640, completionTokens: 50, thinkingTokens: 30 },
    // 60 × 1.10 + 640 × 0.07 + 20 × 5.30 + 30 × 4.90 = 66 + 44.8 + 106 + 147
    '0.0003638',
  ],
  [
    'OpenRouter, as its documentation has it',
    {
      usage: {
        completion_tokens: 2,
        completion_tokens_details: { reasoning_tokens: 0 },
        cost: 0.95,
        cost_details: { upstream_inference_cost: 19 },
        prompt_tokens: 194,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 100, audio_tokens: 0 },
        total_tokens: 196,
      },
    },
    { promptTokens: 194, cachedTokens: 0, cacheWriteTokens: 100, completionTokens: 2 },
    // 94 × 1.10 + 100 × 1.375 + 2 × 5.30 = 103.4 + 137.5 + 10.6
    '0.0002515',
  ],
  [
    'Groq and Mistral: sums, and times that cost nothing',
    {
      usage: {
        prompt_tokens: 18,
        completion_tokens: 556,
        total_tokens: 574,
        queue_time: 0.037493756,
        prompt_time: 0.000680594,
        completion_time: 0.463333333,
      },
    },
    { promptTokens: 18, completionTokens: 556 },
    // 18 × 1.10 + 556 × 5.30 = 19.8 + 2946.8
    '0.0029666',
  ],
  [
    "Anthropic's own counts behind a gateway: the cache stands beside the prompt",
    {
      usage: {
        prompt_tokens: 12,
        completion_tokens: 9,
        total_tokens: 2121,
        cache_read_input_tokens: 2000,
        cache_creation_input_tokens: 100,
      },
    },
    { promptTokens: 2112, cachedTokens: 2000, cacheWriteTokens: 100, completionTokens: 9 },
    // 12 × 1.10 + 2000 × 0.07 + 100 × 1.375 + 9 × 5.30 = 13.2 + 140 + 137.5 + 47.7
    '0.0003384',
  ],
]

describe('the bill', () => {
  it.each(BILLS)('is what a table made by hand says, to the last digit: %s', (_, response, counts, usd) => {
    expect(readUsage(response)).toMatchObject(counts)
    expect(String(usdOf(response, PRICE))).toBe(usd)
  })

  it('has no noise behind its last digit, at the prices that are shipped', () => {
    const usage = { prompt_tokens: 3, completion_tokens: 7, total_tokens: 10 }
    const usd = (model: string, tier: object) => String(usdOf({ usage, ...tier }, SHIPPED[model] ?? PRICE))
    expect(usd('gpt-6-luna', {})).toBe('0.0000038')
    expect(usd('gpt-6-luna', { service_tier: 'flex' })).toBe('0.0000019')
    expect(usd('gpt-6-luna', { service_tier: 'priority' })).toBe('0.0000076')
    expect(usd('gpt-6-luna', { service_tier: 'fast' })).toBe('0.0000076')
    expect(usd('gpt-6.1-terra', { service_tier: 'fast' })).toBe('0.000076')
  })

  it('takes a price of three numbers, as before: writes as sent, thoughts as written, one tier', () => {
    const plain = { prompt: 2, cached: 1, completion: 10 }
    const usage = {
      prompt_tokens: 300_000,
      completion_tokens: 10,
      total_tokens: 300_010,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 4 },
    }
    expect(usdOf({ usage, service_tier: 'flex' }, plain)).toBe(0.6001)
  })

  it.each([
    ['what every object inherits', '__proto__'],
    ['a name that no price has', 'scale'],
    ['something long', 'x'.repeat(100)],
    ['a number', 7],
  ])('costs what is usual on a tier that is %s', (_, service_tier) => {
    const usage = { prompt_tokens: 100, completion_tokens: 100, total_tokens: 200 }
    expect(usdOf({ usage, service_tier }, PRICE)).toBe(0.00064)
  })
})

describe('usage that can be no number of tokens', () => {
  it.each([
    ['is missing', undefined],
    ['is null', null],
    ['is a text', 'many'],
    ['is a list', [1, 2]],
    ['counts nothing', { prompt_tokens: 0, completion_tokens: 0 }],
    ['lacks one of its sums', { prompt_tokens: 5 }],
    ['is negative', { prompt_tokens: -5, completion_tokens: 3 }],
    [
      'is negative in a detail',
      { prompt_tokens: 5, completion_tokens: 3, prompt_tokens_details: { cached_tokens: -1 } },
    ],
    ['is no whole number', { prompt_tokens: 5.5, completion_tokens: 3 }],
    ['is a text in a sum', { prompt_tokens: '5', completion_tokens: 3 }],
    ['is beyond all calls', { prompt_tokens: 1e308, completion_tokens: 3 }],
    ['is ten million and one', { prompt_tokens: 3, completion_tokens: 10_000_001 }],
  ])('is unreported where it %s', (_, usage) => {
    expect(readUsage({ usage })).toEqual({ promptTokens: 0, cachedTokens: 0, completionTokens: 0, unreported: true })
  })

  const reply = (over: object = {}) => ({
    text: 'x'.repeat(30),
    finish: 'stop' as const,
    model: 'm',
    promptTokens: 0,
    cachedTokens: 0,
    completionTokens: 0,
    ...over,
  })
  const asked = {
    messages: [{ role: 'user' as const, content: 'y'.repeat(600), images: ['https://example.org/a.png'] }],
    mostWritten: 400,
    mostTokens: 2000,
  }

  it('is estimated by its characters, and marked', () => {
    const { charge, unmetered } = chargeOf(reply({ unreported: true }), PRICE, asked)
    // 600 small letters and an image, 30 small letters: 1072 × 1.10 + 4 × 5.30 = 1179.2 + 21.2
    expect(charge).toEqual({
      promptTokens: 1072,
      cachedTokens: 0,
      completionTokens: 4,
      costUsd: 0.0012004,
      estimated: 1,
    })
    expect(unmetered).toBe('missing')
  })

  it('is estimated with the thoughts that came beside the answer', () => {
    const { charge } = chargeOf(reply({ unreported: true, thoughts: 'z'.repeat(300) }), PRICE, asked)
    expect(charge.completionTokens).toBe(40)
  })

  it('is estimated by all that was allowed where the answer ended for length', () => {
    const { charge } = chargeOf(reply({ unreported: true, finish: 'length', text: '' }), PRICE, asked)
    expect(charge.completionTokens).toBe(400)
  })

  it.each([
    ['ten times the bound is taken', 20_000, null],
    ['one token more is not', 20_001, 'beyond'],
  ])('by what a call can use: %s', (_, promptTokens, expected) => {
    const { charge, unmetered } = chargeOf(reply({ promptTokens }), PRICE, asked)
    expect([unmetered, charge.estimated]).toEqual([expected, expected === null ? undefined : 1])
  })
})
