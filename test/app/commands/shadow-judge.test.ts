import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { shadowBudget } from '../../../src/app/commands/variant/shadow.ts'
import { judgedIn, type ShadowParts, shadowOf } from '../../../src/app/commands/variant/shadow-judge.ts'
import { replayNotes } from '../../../src/app/composition/judging.ts'
import { protocolsOf } from '../../../src/app/composition/protocols.ts'
import { RetryLaterError } from '../../../src/contracts/facts/errors.ts'
import { noUsage } from '../../../src/contracts/facts/verdict.ts'
import { questionDigests } from '../../../src/judging/engine/question-digests.ts'
import { begin, type KeyedAsk, proceed, scriptOf } from '../../../src/judging/engine/replay.ts'
import type { Protocol } from '../../../src/judging/engine/script.ts'
import { keysUnder } from '../../../src/store/redis/keys.ts'
import { onRedis as test } from '../../support/on-redis.ts'
import { ownFolder } from '../../support/own-folder.ts'

const keys = keysUnder('shadow-judge')
let client: Redis
test.beforeAll(({ client: one }) => {
  client = one
})

const SECRET = 'a secret of a test'
const SAID = { reason: 'R', label: 'Not hateful' }
const settingsOf = (more: Record<string, string> = {}) =>
  loadSettings({ GAVEL_PROTOCOLS_HATE_CONTROL_SHARE: '0', GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'contested', ...more })
function hateOf(settings: Settings) {
  const { protocols, samplingRank } = protocolsOf(settings, SECRET)
  const protocol = protocols.find(({ name }) => name === 'hate')
  if (protocol === undefined) throw new Error('hate is off')
  return { protocol, samplingRank }
}

/** The transcript of a post on which all readings have said the same. */
function transcriptOf(protocol: Protocol, settings: Settings, text: string, media: object = {}) {
  const notes = replayNotes(settings, hateOf(settings).samplingRank)
  const subject = { post: { id: 'p', text, createdAt: 0, ...media }, comments: [], leftOut: 0 }
  const start = { subject, carry: null, overloaded: false, step: undefined, tenant: 'default', final: true }
  const state = proceed(begin(scriptOf(protocol, start)), new Map())
  const turnOf = ({ round, ask }: KeyedAsk) => ({
    round,
    stage: ask.stage,
    role: ask.label === undefined ? ask.role : `${ask.role} (${ask.label})`,
    model: 'm',
    messages: [],
    answer: SAID,
    raw: null,
    calls: [],
    usage: { ...noUsage(), calls: 1, costUsd: 0.5 },
    startedAt: new Date(0).toISOString(),
    ms: 0,
    memo: false,
    questions: questionDigests(ask),
    asked: notes.withThinking(notes.firstModel('hate', ask.role)),
  })
  const verdict = {
    protocol: 'hate',
    tenant: 'default',
    subjectId: 'p',
    revision: 1,
    final: true,
    label: 'non-hate',
    scores: {},
    decidedBy: 'consensus',
    faults: [],
    usage: noUsage(),
    heldMs: 0,
    lostCalls: [],
    timing: { createdAt: '', receivedAt: '', openedAt: '', decidedAt: '', modelMs: 0, overheadMs: 0 },
  }
  const replay = { key: notes.key, overloaded: false }
  const turns = state.asked.map(turnOf)
  const whole = { schema: 1, verdictId: 'hate~p~r1', verdict, subject, turns, replay, cut: [] }
  return Buffer.from(JSON.stringify(whole))
}

function parts(settings: Settings, over: Partial<ShadowParts> = {}) {
  let calls = 0
  const model: ShadowParts['model'] = {
    async complete({ model: name }) {
      calls++
      const spent = { promptTokens: 10, cachedTokens: 0, completionTokens: 5 }
      return { text: JSON.stringify(SAID), finish: 'stop', model: name, ...spent }
    },
  }
  const { protocol, samplingRank } = hateOf(settings)
  const given: ShadowParts = {
    variant: 'new',
    settings,
    protocol,
    samplingRank,
    secret: SECRET,
    stores: {},
    model,
    library: () => expect.unreachable(),
    isDeleted: async () => false,
    report() {},
    now: () => 0,
    ...over,
  }
  return { given, calls: () => calls }
}

const live = settingsOf()
const { protocol } = hateOf(live)
const judged = judgedIn(transcriptOf(protocol, live, 'They are late.'), protocol)
const { signal } = new AbortController()

test('what changes no question asks nothing, and has the answers of the live case', async () => {
  const { given, calls } = parts(live)
  const one = await shadowOf(judged ?? expect.unreachable(), given, signal)
  expect([one.label, one.asked, calls()]).toEqual(['non-hate', { anew: 0, known: 3, costUsd: 0 }, 0])
  expect(one.usage.costUsd, 'as the live case has paid for them').toBe(1.5)
})

test('another policy, another model and another key ask anew', async () => {
  const folder = ownFolder('shadow-judge')
  writeFileSync(join(folder, 'own.md'), '## X1 Abuse\n- abuse\n')
  const policy = { GAVEL_PROTOCOLS_HATE_POLICIES: 'own', GAVEL_PROTOCOLS_HATE_POLICIES_PATH: folder }
  const roles = { ...live.models, roles: { default: ['another'] } }
  for (const settings of [settingsOf(policy), { ...live, models: roles }]) {
    const { given, calls } = parts(settings)
    const one = await shadowOf(judged ?? expect.unreachable(), given, signal)
    expect([one.asked?.anew, one.asked?.known, calls()]).toEqual([3, 0, 3])
  }
  const { samplingRank } = protocolsOf(live, 'another secret')
  const { given } = parts(live, { samplingRank })
  expect((await shadowOf(judged ?? expect.unreachable(), given, signal)).asked?.known).toBe(0)
})

test('a case that can’t be judged is paid for by each call that may have been charged for, in every process', async () => {
  const models = {
    ...live.models,
    roles: { default: ['another'] },
    prices: { another: { prompt: 1, cached: 1, completion: 1 } },
  }
  const settings = { ...live, models }
  const money = (of: string) => shadowBudget(of, { client, keys }, settings)
  let calls = 0
  const never = async () => {
    calls++
    throw new RetryLaterError('timeout', 'no answer in time')
  }
  const { given } = parts(settings, {
    stores: { budgets: money('new') },
    model: { complete: never },
    isDeleted: async () => calls >= 3,
  })
  await expect(shadowOf(judged ?? expect.unreachable(), given, signal)).rejects.toThrow('p was deleted')
  expect((await money('new').total())?.used.usd).toBeGreaterThan(0)
  expect(await money('other').total()).toMatchObject({ used: { usd: 0 } })
})

test('a post that is deleted meanwhile is shown to nobody', async () => {
  const { given, calls } = parts(
    { ...live, models: { ...live.models, roles: { default: ['another'] } } },
    {
      isDeleted: async () => true,
    },
  )
  await expect(shadowOf(judged ?? expect.unreachable(), given, signal)).rejects.toThrow('p was deleted')
  expect(calls()).toBe(0)
})

test('an image that was set aside can’t be judged again; words that only speak of it can', () => {
  const aside = { media: [{ kind: 'image', url: 'kept:abc' }] }
  expect(judgedIn(transcriptOf(protocol, live, 'Look.', aside), protocol)).toBeNull()
  expect(judgedIn(transcriptOf(protocol, live, 'kept: "kept:" is a word'), protocol)?.of).toBe('hate~p~r1')
})
