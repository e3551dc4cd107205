import { afterEach, describe, expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { judgeFileSubjects } from '../../../src/app/commands/judging/file-judging.ts'
import { onTier } from '../../../src/cli/tier.ts'
import { ParameterRefused } from '../../../src/contracts/facts/errors.ts'
import type { Verdict } from '../../../src/contracts/facts/verdict.ts'
import type { Library } from '../../../src/contracts/ports/library.ts'
import type { Model } from '../../../src/contracts/ports/model.ts'
import { type FileMessage, message } from '../../../src/data-files/file-message.ts'
import { DIALECTS, type DialectName } from '../../../src/kit/understudy/dialects/all.ts'
import type { ServerDialect } from '../../../src/kit/understudy/dialects/dialect.ts'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'
import type { DialectLesson } from '../../../src/models/openai/learning.ts'
import { modelsOfEndpoints } from '../../../src/models/openai/models-of-endpoints.ts'
import { EVERY_DEBATE } from '../../protocols/drive.ts'
import { noLibrary } from '../../support/parts.ts'

const running: Understudy[] = []
afterEach(async () => {
  for (const one of running.splice(0)) await one.close()
})

/** A white pixel. */
const IMAGE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP6DwABBQECz6AuzQAAAABJRU5ErkJggg=='
const TEXT = 'The mill by the river is on fire, they are all thieves.'
const AT = Date.UTC(2026, 0, 1)

const post = (id: string, value: Record<string, unknown> = {}) =>
  message('post', id, 1, AT, { id, text: TEXT, ...value })
const comments = (postId: string) =>
  Array.from({ length: 25 }, (_, n) =>
    message('comment', postId, n + 2, AT + n + 1, {
      id: `${postId}-c${n}`,
      postId,
      author: `a${n}`,
      text: n % 2 === 0 ? `I saw it, it is true ${n}` : `No, that is false, fake news ${n}`,
    }),
  )
const reply = (value: Record<string, unknown> = {}) =>
  message('counterspeech', 'r', 40, AT + 100, { id: 'r', hateSpeech: 'Thieves.', text: TEXT, ...value })
const image = { media: [{ kind: 'image', url: IMAGE, alt: 'a fire' }] }

const PROTOCOLS = ['rumor', 'hate', 'safety', 'counterspeech'] as const
const INPUTS = ['post', 'thread', 'image'] as const

/** What the topics hold: of a protocol that judges replies, a reply to that. */
function inputOf(protocol: (typeof PROTOCOLS)[number], input: (typeof INPUTS)[number]): FileMessage[] {
  const thread = {
    post: [post('p')],
    thread: [post('p'), ...comments('p')],
    image: [post('p', image)],
  }[input]
  if (protocol !== 'counterspeech') return thread
  return input === 'post' ? [reply()] : [...thread, reply({ postId: 'p' })]
}

/** Settings under which one endpoint, this server, answers everything by a model of a name that says nothing. */
function settingsFor(
  server: Understudy,
  dialect: ServerDialect | undefined,
  change: Partial<Settings['models']> = {},
): Settings {
  const settings = loadSettings({})
  const isAzure = dialect?.key === 'api-key'
  const endpoint = {
    baseUrl: server.settings.OPENAI_BASE_URL,
    answerFormat: 'json_schema' as const,
    apiKeyFile: '',
    apiKey: isAzure ? '' : server.settings.OPENAI_API_KEY,
    headers: isAzure ? { 'api-key': 'key' } : {},
    query: Object.fromEntries((dialect?.query ?? []).map((name) => [name, '2024-10-21'])),
  }
  const models = { ...settings.models, roles: { default: ['here/nameless'] }, minTimeout: null, ...change }
  return { ...settings, endpoints: { here: endpoint }, models }
}

interface Asked {
  /** Its stage and messages. */
  readonly key: string
  sent: number
  /** Parameters that were refused. */
  readonly refused: string[]
  /** Answers that ended for their length, among thoughts. */
  cut: number
}

/** A model, and of each question what became of it, and how many were open at once. */
function counted(model: Model) {
  const questions = new Map<string, Asked>()
  let [open, mostOpen] = [0, 0]
  const complete: Model['complete'] = async (request) => {
    const key = JSON.stringify([request.answer.name, request.messages])
    const question = questions.get(key) ?? { key, sent: 0, refused: [], cut: 0 }
    questions.set(key, question)
    question.sent++
    mostOpen = Math.max(mostOpen, ++open)
    try {
      const reply = await model.complete(request)
      if (reply.finish === 'length') question.cut++
      return reply
    } catch (error) {
      if (error instanceof ParameterRefused) question.refused.push(error.message.split(': ').at(-1) ?? '')
      throw error
    } finally {
      open--
    }
  }
  return { model: { complete }, questions, mostOpen: () => mostOpen }
}

/** Messages through the whole service, on the memory twins of Kafka and Redis, before a server that speaks the dialect. */
async function judged(
  dialect: DialectName | ServerDialect | undefined,
  protocol: (typeof PROTOCOLS)[number],
  messages: readonly FileMessage[],
  options: {
    models?: Partial<Settings['models']>
    latencyMs?: number
    change?: (settings: Settings) => Settings
  } = {},
) {
  const server = await startUnderstudy({
    ...(dialect === undefined ? {} : { dialect }),
    latencyMs: options.latencyMs ?? 0,
  })
  running.push(server)
  const row = typeof dialect === 'string' ? (DIALECTS[dialect] as ServerDialect) : dialect
  const { change = (it) => it } = options
  const settings = change(settingsFor(server, row, options.models))
  const lessons: DialectLesson[] = []
  const { model, questions, mostOpen } = counted(
    modelsOfEndpoints(settings, { learnt: (lesson) => lessons.push(lesson) }),
  )
  const verdicts: Verdict[] = []
  const failures: string[] = []
  await judgeFileSubjects(
    settings,
    {
      protocol,
      file: 'none.jsonl',
      format: 'gavel',
      finalAge: Number.POSITIVE_INFINITY,
      model,
      // A library that finds nothing, and holds nothing to list.
      library: { ...noLibrary, close: async () => {} } as unknown as Library,
      async *messages() {
        yield* messages
      },
    },
    {
      signal: new AbortController().signal,
      corrected: () => {},
      unrouted: () => {},
      judged: (verdict) => verdicts.push(verdict),
      refused: (why) => failures.push(why),
      failed: (why) => failures.push(why),
    },
  )
  const last = verdicts.at(-1)
  if (last === undefined) throw new Error(`no verdict: ${failures.join('; ')}`)
  return {
    verdict: last,
    verdicts,
    failures,
    lessons,
    server,
    questions: [...questions.values()],
    mostOpen: mostOpen(),
  }
}

/** A question costs one call, one more for each parameter that was refused, and one if the first room was too small for a thought. */
function expectNoMoreThanRefused(questions: readonly Asked[], plain: readonly Asked[] = []): void {
  for (const { key, sent, refused, cut } of questions) {
    // Of a claim without comments both debaters are asked the same.
    const askers = plain.find((one) => one.key === key)?.sent ?? 1
    expect(sent).toBe(askers + refused.length + cut)
    expect(cut).toBeLessThanOrEqual(askers)
    for (const parameter of refused)
      expect(refused.filter((one) => one === parameter).length).toBeLessThanOrEqual(askers)
  }
}

/** A covering of all pairs of dialect, protocol and input: each dialect meets each protocol and each input. */
const NAMES = Object.keys(DIALECTS) as DialectName[]
const PAIRS = NAMES.flatMap((dialect, d) =>
  PROTOCOLS.map((protocol, p) => [dialect, protocol, INPUTS[(d + p) % INPUTS.length] ?? 'post'] as const),
)

const plain = new Map<string, ReturnType<typeof judged>>()

/** The verdict where the server takes everything, and what was asked. */
function plainly(protocol: (typeof PROTOCOLS)[number], input: (typeof INPUTS)[number]): ReturnType<typeof judged> {
  const key = `${protocol} ${input}`
  const known = plain.get(key) ?? judged(undefined, protocol, inputOf(protocol, input))
  plain.set(key, known)
  return known
}

describe('a verdict over every dialect is that of the plain one, through the whole service', () => {
  test.each(PAIRS)('%s, %s, %s', async (dialect, protocol, input) => {
    const { verdict: expected, questions: asked } = await plainly(protocol, input)
    const { verdict, questions, failures } = await judged(dialect, protocol, inputOf(protocol, input))
    expect(failures).toEqual([])
    if (protocol === 'safety' && input === 'image' && (DIALECTS[dialect] as ServerDialect).images !== null) {
      // A model that takes no image can't say what is on it, and nothing unseen is called safe.
      expect(expected.label).toBe('safe')
      expect(verdict).toMatchObject({
        label: null,
        degraded: expect.arrayContaining([expect.stringMatching(/no images|did not see it/)]),
      })
    } else {
      expect([verdict.label, verdict.scores, verdict.degraded]).toEqual([
        expected.label,
        expected.scores,
        expected.degraded,
      ])
      expectNoMoreThanRefused(questions, asked)
    }
  })

  test('with each protocol before each input somewhere', () => {
    expect(new Set(PAIRS.map(([, protocol, input]) => `${protocol} ${input}`)).size).toBe(12)
    expect(new Set(PAIRS.map(([dialect, , input]) => `${dialect} ${input}`)).size).toBe(3 * NAMES.length)
  })

  test('with 64 first calls at once', async () => {
    const posts = Array.from({ length: 64 }, (_, n) => post(`p${n}`, { text: `${TEXT} ${n}` }))
    const models = { slots: 64, latencyTolerance: null }
    const { verdicts, questions, mostOpen, lessons } = await judged('openai-since', 'hate', posts, {
      models,
      latencyMs: 30,
      // Of a single question for each, all would be first ones.
      change: ({ protocols, ...rest }) => ({
        ...rest,
        protocols: { ...protocols, hate: { ...protocols.hate, ...EVERY_DEBATE.hate } },
      }),
    })
    expect([verdicts.length, mostOpen]).toEqual([64, 64])
    expect(verdicts.every(({ label }) => label !== null)).toBe(true)
    expectNoMoreThanRefused(questions)
    // Whoever asked before anything was known was refused; later asks were not.
    expect(questions.filter(({ refused }) => refused.length > 0).length).toBeLessThan(questions.length / 2)
    expect(lessons.map(({ parameter }) => parameter)).toEqual(['max-tokens', 'temperature'])
  })
})

describe('a dialect that nobody has configured', () => {
  const NEW: ServerDialect = {
    ...(DIALECTS['openai-before'] as ServerDialect),
    what: 'nobody knows',
    refuses: [
      { parameter: 'max_tokens', says: 'max_tokens: Extra inputs are not permitted', status: 422, named: false },
      { parameter: 'temperature', says: 'Sampling parameter temperature is not supported here', named: false },
      { parameter: 'response_format', says: 'response_format: unknown field', named: false },
      { parameter: 'service_tier', says: 'Unsupported service_tier: {value}', named: false },
    ],
    longest: ['max_completion_tokens'],
    images: 'This model does not support image input',
  }

  test('works by what its refusals show', async () => {
    const models: Partial<Settings['models']> = { tiers: { default: 'flex' } }
    const { verdict, lessons, questions } = await judged(NEW, 'hate', inputOf('hate', 'post'), { models })
    expect(verdict.label).toBe((await plainly('hate', 'post')).verdict.label)
    expect(lessons.map(({ parameter }) => parameter).sort()).toEqual(['form', 'max-tokens', 'temperature', 'tier'])
    expectNoMoreThanRefused(questions)
  })

  test('is shown no second image where it takes none, and no post with one is called safe', async () => {
    const posts = ['one', 'two'].map((id) => post(id, { ...image, text: `${TEXT} ${id}` }))
    const { verdicts, lessons, server } = await judged(NEW, 'safety', posts, { models: { slots: 1 } })
    expect(verdicts.map(({ label }) => label)).toEqual([null, null])
    expect(lessons.filter(({ parameter }) => parameter === 'images')).toHaveLength(1)
    expect(server.calls().filter(({ refused }) => refused === 'messages')).toHaveLength(1)
  })
})

test('a temperature that can not be had is said in the verdict under paper, and else in the transcript alone', async () => {
  const { protocols } = loadSettings({ GAVEL_PROTOCOLS_HATE_PRESET: 'paper' })
  const paper = (settings: Settings): Settings => ({ ...settings, protocols })
  const under = await judged('openai-since', 'hate', inputOf('hate', 'post'), { change: paper })
  expect(under.verdict.degraded).toContain('understudy took no temperature as the paper sets it')
  expect(under.verdict.faults).toContain('model')
  const usual = await judged('openai-since', 'hate', inputOf('hate', 'post'))
  expect(usual.verdict.degraded.join()).not.toContain('temperature')
})

test('a tier changes what a verdict costs, and not under which versions it is given', async () => {
  const prices = { 'here/nameless': { prompt: 1, cached: 1, completion: 10, tiers: { flex: 0.5 } } }
  const usual = await judged('openai-since', 'hate', inputOf('hate', 'post'), { models: { prices } })
  const flex = await judged('openai-since', 'hate', inputOf('hate', 'post'), {
    change: (settings: Settings) => onTier(settings, 'flex'),
    models: { prices },
  })
  expect(flex.verdict.usage.costUsd).toBeCloseTo(usual.verdict.usage.costUsd / 2, 9)
  expect(flex.verdict.versions).toEqual(usual.verdict.versions)
})

describe('explicit cache breakpoints', () => {
  const words = Array.from({ length: 900 }, (_, n) => `word${n}`).join(' ')
  const posts = [post('p', { text: `${TEXT} ${words}` })]
  const prices = { 'here/gpt-6-luna': { prompt: 1, cached: 0.1, cacheWrite: 1.25, completion: 0 } }
  const models: Partial<Settings['models']> = { roles: { default: ['here/gpt-6-luna'] }, prices }
  const usageOf = async (dialects: Settings['models']['dialects']) =>
    (await judged('openai-since', 'safety', posts, { models: { ...models, dialects }, change: inTwoRounds })).verdict
      .usage
  const inTwoRounds = (settings: Settings) => ({
    ...settings,
    protocols: { ...settings.protocols, safety: { ...settings.protocols.safety, ...EVERY_DEBATE.safety } },
  })

  test("keep what safety's debaters hear again, and nothing else", async () => {
    const told = await usageOf({})
    const untold = await usageOf({ '*': { breakpoints: null } })
    // Both openings, once written and once read.
    expect(told.cacheWriteTokens).toBeGreaterThan(2 * 1_024)
    expect(told.cachedTokens).toBe(told.cacheWriteTokens)
    // Else each of the six prompts is written to its end, and none is read.
    expect([untold.cachedTokens, untold.cacheWriteTokens]).toEqual([0, untold.promptTokens])
    const kept = told.cachedTokens
    expect(told.costUsd).toBeCloseTo((told.promptTokens + 0.25 * kept - 0.9 * kept) / 1e6, 9)
    expect(untold.costUsd).toBeCloseTo((1.25 * untold.promptTokens) / 1e6, 9)
  })
})
