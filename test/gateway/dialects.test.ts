import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { dialectOf, modelsOfEndpoints } from '../../src/adapters/openai/endpoints.ts'
import type { Lesson } from '../../src/adapters/openai/learning.ts'
import type { Ask } from '../../src/domain/ask.ts'
import { fences } from '../../src/domain/fence.ts'
import { samplingRanks } from '../../src/domain/sampling-rank.ts'
import type { Snapshot } from '../../src/domain/thread.ts'
import { begin, proceed } from '../../src/engine/replay.ts'
import { gateway } from '../../src/gateway/gateway.ts'
import { makeProtocols } from '../../src/protocols/make.ts'
import { DIALECTS, type DialectName } from '../../src/tools/understudy/dialects/all.ts'
import type { Dialect } from '../../src/tools/understudy/dialects/dialect.ts'
import { startUnderstudy, type Understudy } from '../../src/tools/understudy/server.ts'
import { GATEWAY, memoryParts } from '../support/parts.ts'

const running: Understudy[] = []
afterEach(async () => {
  for (const one of running.splice(0)) await one.close()
})

const PIXEL = `data:image/png;base64,${'iVBORw0KGgo'.repeat(4)}`
const POST = {
  id: 'p',
  text: 'The mill by the river is on fire, they are all thieves.',
  hateSpeech: 'Thieves.',
  createdAt: 0,
}
const INPUTS: Readonly<Record<string, Snapshot>> = {
  post: { post: POST, comments: [], leftOut: 0 },
  thread: {
    post: POST,
    comments: Array.from({ length: 25 }, (_, n) => ({
      ...{ id: `c${n}`, author: `a${n}`, createdAt: n + 1 },
      text: n % 2 === 0 ? `I saw it, it is true ${n}` : `No, that is false, fake news ${n}`,
    })),
    leftOut: 0,
  },
  image: { post: { ...POST, media: [{ kind: 'image', url: PIXEL, alt: 'a fire' }] }, comments: [], leftOut: 0 },
}
const PROTOCOLS = ['rumor', 'hate', 'safety', 'counterspeech'] as const

/** One case by a protocol's script, all its asks through a gateway before this server; and what it asked for. */
async function judged(dialect: DialectName | Dialect | undefined, protocolName: string, input: string) {
  const server = await startUnderstudy(dialect === undefined ? {} : { dialect })
  running.push(server)
  const row = typeof dialect === 'string' ? (DIALECTS[dialect] as Dialect) : dialect
  const endpoint = {
    baseUrl: server.settings.OPENAI_BASE_URL,
    apiKey: row?.key === 'api-key' ? '' : server.settings.OPENAI_API_KEY,
    answerFormat: 'json_schema' as const,
    headers: row?.key === 'api-key' ? { 'api-key': 'key' } : {},
    query: Object.fromEntries((row?.query ?? []).map((name) => [name, '2024-10-21'])),
  }
  const endpoints = { openai: endpoint, endpoints: {}, dialects: {} }
  const lessons: Lesson[] = []
  const asking = gateway({
    ...memoryParts(Date.now),
    model: modelsOfEndpoints(endpoints, { learnt: (lesson) => lessons.push(lesson) }),
    loadImage: async () => PIXEL,
    settings: {
      ...{ ...GATEWAY, slots: 64, callTimeoutMs: 20_000, roles: { default: ['nameless'] }, memo: null },
      thinkingOf: (name) => {
        const { thinkingTokens: tokens, effort } = dialectOf(name, endpoints)
        return { tokens, effort }
      },
    },
    clock: Date.now,
    report: () => {},
  })
  const ask = (question: Ask) =>
    asking.ask(question, {
      ...{
        protocol: protocolName,
        caseId: 'c',
        askId: randomUUID(),
        attempt: 1,
        last: false,
        remember: false,
        calls: [],
      },
      subject: { tenant: 't', postId: 'p', kind: 'post' },
      ...{ signal: new AbortController().signal, deadline: Date.now() + 60_000 },
    })
  const settings = loadSettings({})
  const protocol = makeProtocols(settings.protocols, fences('key', settings.fences), samplingRanks('key')).find(
    ({ name }) => name === protocolName,
  )
  if (protocol === undefined) throw new Error('no such protocol')
  const progress = begin(protocol.script(INPUTS[input], null, { overloaded: false, tenant: 't' }))
  const journal = new Map()
  let asked = 0
  for (;;) {
    const state = proceed(progress, journal)
    if (state.at === 'end')
      return { ruling: state.conclusion.ruling, calls: server.calls(), asked, lessons, ask, server }
    await Promise.all(
      state.open.map(async ({ key, ask: question }) => {
        if (question.lookup !== undefined) {
          const shelves = question.lookup.shelves.map((shelf) => ({ shelf, neighbours: [], problem: 'none' }))
          return journal.set(key, {
            ...NOTHING,
            stage: question.stage,
            role: question.role,
            answer: { shelves, weak: null },
          })
        }
        asked++
        const { answer, failed, model } = await ask(question).catch((error: Error) => ({
          ...{ answer: null, model: 'm', failed: { code: 'rejected', detail: error.message } },
        }))
        const entry = { ...NOTHING, stage: question.stage, role: question.role, model, answer }
        return journal.set(key, failed === undefined ? entry : { ...entry, failed })
      }),
    )
  }
}

const NOTHING = {
  ...{ model: 'm', raw: null, calls: [], startedAt: 0, ms: 0, heldMs: 0, memo: false },
  usage: { calls: 0, memoHits: 0, promptTokens: 0, cachedTokens: 0, completionTokens: 0, costUsd: 0 },
}

/** A covering of all pairs of dialect, protocol and input: each dialect meets each protocol and each input. */
const NAMES = Object.keys(DIALECTS) as DialectName[]
const INPUT_NAMES = Object.keys(INPUTS)
const PAIRS = NAMES.flatMap((dialect, d) =>
  PROTOCOLS.map((protocol, p) => [dialect, protocol, INPUT_NAMES[(d + p) % INPUT_NAMES.length] ?? 'post'] as const),
)

const seesNoImages = (dialect: DialectName) => (DIALECTS[dialect] as Dialect).images !== null

describe('a verdict over every dialect is that of the plain one', () => {
  test.each(PAIRS)('%s, %s, %s', async (dialect, protocol, input) => {
    const plain = await judged(undefined, protocol, input)
    const told = await judged(dialect, protocol, input)
    // A model that is shown no image can't say what is on it.
    if (!(protocol === 'safety' && input === 'image' && seesNoImages(dialect)))
      expect([told.ruling.label, told.ruling.scores, told.ruling.degraded]).toEqual([
        ...[plain.ruling.label, plain.ruling.scores, plain.ruling.degraded],
      ])
    const refused = Map.groupBy(
      told.calls.filter((call) => 'refused' in call && call.refused !== undefined && call.refused !== null),
      (call) => String('refused' in call ? call.refused : ''),
    )
    for (const [, of] of refused) expect(of.length).toBeLessThanOrEqual(told.asked)
  })

  test('with each protocol before each input somewhere', () => {
    expect(new Set(PAIRS.map(([, protocol, input]) => `${protocol} ${input}`)).size).toBe(12)
    expect(new Set(PAIRS.map(([dialect, , input]) => `${dialect} ${input}`)).size).toBe(3 * NAMES.length)
  })
})

describe('a dialect that nobody has told', () => {
  const NEW: Dialect = {
    ...(DIALECTS['openai-before'] as Dialect),
    what: 'nobody knows',
    refuses: [
      { parameter: 'max_tokens', says: 'max_tokens: Extra inputs are not permitted', status: 422, named: false },
      { parameter: 'temperature', says: 'Sampling parameter temperature is not supported here', named: false },
      { parameter: 'response_format', says: 'response_format: unknown field', named: false },
    ],
    longest: ['max_completion_tokens'],
  }

  test('works by what its refusals show', async () => {
    const plain = await judged(undefined, 'hate', 'post')
    const told = await judged(NEW, 'hate', 'post')
    expect(told.ruling.label).toBe(plain.ruling.label)
    expect(told.lessons.map(({ parameter }) => parameter)).toEqual(['max-tokens', 'temperature', 'form'])
  })
})
