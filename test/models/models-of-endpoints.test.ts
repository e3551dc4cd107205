import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Ask } from '../../src/contracts/facts/ask.ts'
import { fences } from '../../src/contracts/facts/fence.ts'
import { canonicalName, placeOf } from '../../src/contracts/facts/model-name.ts'
import type { Events, Report } from '../../src/contracts/ports/report.ts'
import { startUnderstudy, type Understudy, type UnderstudyOptions } from '../../src/kit/understudy/server.ts'
import { askContext } from '../../src/models/context.ts'
import { gateway } from '../../src/models/gateway.ts'
import { dialectOf, modelsOfEndpoints } from '../../src/models/openai/models-of-endpoints.ts'
import { GATEWAY, memoryParts, noImages } from '../support/parts.ts'

const running: Understudy[] = []
afterEach(async () => {
  for (const one of running.splice(0)) await one.close()
})

const ask: Ask = {
  stage: 'subjectivity',
  role: 'scorer',
  messages: [{ role: 'user', content: fences('key', 1_000)('claim', 'The mill is on fire.') }],
  answer: z.object({ reason: z.string(), answer: z.enum(['Yes', 'No']) }),
  temperature: 0.2,
  maxTokens: 400,
}

type Ended = Events['call:ended']

/** A gateway before two endpoints, the default one and `other`. */
async function twoEndpoints(chain: string[], first: UnderstudyOptions = {}, other: UnderstudyOptions = {}) {
  const [one, two] = await Promise.all([startUnderstudy(first), startUnderstudy(other)])
  running.push(one, two)
  const at = ({ settings }: Understudy) => ({
    baseUrl: settings.OPENAI_BASE_URL,
    apiKey: settings.OPENAI_API_KEY,
    answerFormat: 'json_schema' as const,
  })
  const endpoints = { other: at(two) }
  const calls: Pick<Ended, 'model' | 'outcome'>[] = []
  const report: Report = (name, event) => {
    if (name !== 'call:ended') return
    const { model, outcome } = event as Ended
    calls.push({ model, outcome })
  }
  const asking = gateway({
    ...memoryParts(Date.now),
    model: modelsOfEndpoints({ openai: at(one), endpoints, models: { dialects: {} } }),
    loadImage: noImages,
    settings: {
      ...GATEWAY,
      callTimeout: 5_000,
      roles: { default: chain },
      memo: GATEWAY.memo,
      endpointOf: (model) => placeOf(model, endpoints).endpoint,
    },
    clock: Date.now,
    report,
  })
  const answered = (attempt = 1) =>
    asking.ask(
      askContext({
        ask,
        protocol: 'rumor',
        caseId: 'c',
        askId: randomUUID(),
        attempt,
        last: false,
        remember: false,
        calls: [],
        subject: { tenant: 't', postId: 'p', kind: 'post' },
        signal: new AbortController().signal,
        deadline: Date.now() + 10_000,
      }),
    )
  return { answered, calls, one, two }
}

const broken = { faults: { rate: 1, kinds: ['503' as const] } }

describe('a chain over two endpoints', () => {
  test.each([
    ['from the default one to the named one', ['small', 'other/large'], broken, {}],
    ['from the named one to the default one', ['other/large', 'small'], {}, broken],
  ] as const)('falls over %s, at the next try', async (_, chain, first, other) => {
    const { answered, calls } = await twoEndpoints([...chain], first, other)
    await expect(answered()).rejects.toMatchObject({ code: 'unavailable' })
    expect(await answered(2)).toMatchObject({ answer: { answer: expect.stringMatching(/Yes|No/) } })
    expect(calls).toEqual([
      { model: chain[0], outcome: 'unavailable' },
      { model: chain[1], outcome: 'answered' },
    ])
  })

  test('asks each endpoint for its own name of the model, with its own key', async () => {
    const { answered, one, two } = await twoEndpoints(['other/maker/large'])
    await answered()
    expect([one.calls().length, two.calls().length]).toEqual([0, 1])
  })
})

describe('a model that nothing was told about', () => {
  test('is asked as it takes it: each refused call is one of its own, and the ask costs one try', async () => {
    const { answered, calls, one } = await twoEndpoints(['nameless'], { dialect: 'openai-since' })
    expect(await answered()).toMatchObject({ answer: { answer: expect.stringMatching(/Yes|No/) }, usage: { calls: 1 } })
    expect(calls.map(({ outcome }) => outcome)).toEqual(['rejected', 'rejected', 'answered'])
    expect(new Set(one.calls().map(({ call }) => call)).size).toBe(3)
    await answered()
    expect(one.calls()).toHaveLength(4)
  })

  test('is asked 64 questions at once with at most one call more for each refused parameter', async () => {
    const { answered, one } = await twoEndpoints(['nameless'], { dialect: 'openai-since' })
    const ends = await Promise.all(Array.from({ length: 64 }, () => answered()))
    expect(ends.every(({ failed }) => failed === undefined)).toBe(true)
    const refused = Map.groupBy(one.calls(), ({ refused: parameter }) => parameter ?? 'none')
    expect(refused.get('none')).toHaveLength(64)
    for (const [parameter, of] of refused) if (parameter !== 'none') expect(of.length).toBeLessThanOrEqual(64)
  })
})

describe('a model of the settings', () => {
  const declared = { azure: {}, openai: {} }
  test.each([
    ['gpt-4o', 'default', 'gpt-4o'],
    ['azure/gpt-4o', 'azure', 'gpt-4o'],
    ['azure/maker/gpt-4o', 'azure', 'maker/gpt-4o'],
    ['meta-llama/Llama-3.1-8B', 'default', 'meta-llama/Llama-3.1-8B'],
    // A declared endpoint wins over a maker's name.
    ['openai/gpt-4o', 'openai', 'gpt-4o'],
    ['default/openai/gpt-4o', 'default', 'openai/gpt-4o'],
    ['azure/', 'default', 'azure/'],
    ['__proto__/x', 'default', '__proto__/x'],
  ])('%s is asked at %s as %s', (name, endpoint, model) => {
    expect(placeOf(name, declared)).toEqual({ endpoint, model })
  })

  test.each([
    ['default/gpt-4o', 'gpt-4o'],
    ['default/meta-llama/Llama', 'meta-llama/Llama'],
    ['default/openai/gpt-4o', 'default/openai/gpt-4o'],
    ['default/default/x', 'default/default/x'],
    ['azure/gpt-4o', 'azure/gpt-4o'],
  ])('%s has the one name %s, which is asked at the same place', (name, one) => {
    expect(canonicalName(name, declared)).toBe(one)
    expect(placeOf(one, declared)).toEqual(placeOf(name, declared))
  })
})

describe('what a model is told to take', () => {
  const at = (baseUrl: string, answerFormat: 'json_schema' | 'json_object' | 'text' = 'json_schema') => ({
    baseUrl,
    apiKey: '',
    answerFormat,
  })
  const settings = (dialects = {}) => ({
    openai: at('https://api.openai.com/v1'),
    endpoints: { router: at('https://openrouter.ai/api/v1'), plain: at('http://127.0.0.1:1/v1', 'text') },
    models: { dialects },
  })

  test.each([
    ['gpt-4o-mini', { maxTokens: 'max_tokens', temperature: 'always', effort: null, thinkingTokens: 0 }],
    ['gpt-5-mini', { maxTokens: 'max_completion_tokens', temperature: 'never', effort: 'minimal', logprobs: 0 }],
    ['gpt-5.6-luna', { maxTokens: 'max_completion_tokens', temperature: 'without-effort', effort: 'none' }],
    ['gpt-6-luna', { maxTokens: 'max_completion_tokens', temperature: 'without-effort', effort: 'none' }],
    ['router/openai/gpt-5-mini', { maxTokens: 'max_completion_tokens', temperature: 'never' }],
    ['plain/any', { form: 'text' }],
  ])('%s', (name, takes) => {
    expect(dialectOf(name, settings())).toMatchObject(takes)
  })

  test('follows the settings where they say something, by any name of it, and the last that fits', () => {
    const dialects = { 'gpt-5*': { effort: 'low' }, 'router/*': { thinkingTokens: 99 }, '*mini': { effort: 'high' } }
    expect(dialectOf('router/openai/gpt-5-mini', settings(dialects))).toMatchObject({
      effort: 'high',
      thinkingTokens: 99,
      maxTokens: 'max_completion_tokens',
    })
  })

  test('follows the settings where they name the default endpoint, as they may wherever models are named', () => {
    const dialects = { 'default/gpt-5-mini': { effort: 'low' }, 'default/x*': { thinkingTokens: 99 } }
    expect(dialectOf('gpt-5-mini', settings(dialects)).effort).toBe('low')
    expect(dialectOf('x', settings(dialects)).thinkingTokens).toBe(99)
    expect(dialectOf('router/x', settings(dialects)).thinkingTokens).toBe(0)
    expect(dialectOf('router/openai/gpt-5-mini', settings({ 'router/openai/*': { effort: 'low' } })).effort).toBe('low')
  })

  test('asks for a form no stronger than its endpoint understands', () => {
    expect(dialectOf('plain/x', settings({ x: { form: 'json_object' } })).form).toBe('text')
    expect(dialectOf('router/x', settings({ x: { form: 'json_object' } })).form).toBe('json_object')
  })
})
