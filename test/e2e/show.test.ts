import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { Redis } from 'ioredis'
import { afterAll, describe, expect } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import type { SubjectInspection } from '../../src/recovery/inspection/subject-status.ts'
import { keysUnder, memberOf } from '../../src/store/redis/keys.ts'
import { readTopic } from '../../src/stream/bounded-reader.ts'
import { commandHere, performWords } from '../support/commands.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  PERSPECTIVES_WITH_SHELVES,
  protocolsOn,
  type Service,
  send,
  settingsOf,
  verdictsOf,
} from '../support/pipeline.ts'

const folder = ownFolder('show')
/** What a collector was sent, by path. */
const collected = new Map<string, string[]>()
const collector = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const path = request.url ?? ''
  collected.set(path, [...(collected.get(path) ?? []), gunzipSync(Buffer.concat(chunks)).toString()])
  response.end('{}')
})
let service: Service | undefined
let environment: Record<string, string>
const it = onServers({ latencyMs: 5 })
it.beforeAll(async ({ stack, startForFile }) => {
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  environment = environmentOn(stack, {
    ...protocolsOn('rumor', 'hate'),
    GAVEL_CLOCK_IDLE_AFTER: '1s',
    GAVEL_CASES_RECONCILE_AFTER: '5s',
    ...PERSPECTIVES_WITH_SHELVES,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    GAVEL_LOG_LEVEL: 'debug',
    GAVEL_BREAKER_WINDOW: '1000',
    GAVEL_BREAKER_MIN_CALLS: '1000',
  })
  service = await startForFile(environment)
})
afterAll(async () => {
  collector.close()
})

const post = (id: string, more: object = {}) => ({
  type: 'post',
  id,
  text: `The mast of ${id} has fallen.`,
  author: 'x',
  createdAt: '2025-03-01T10:00:00Z',
  ...more,
})
const comment = (postId: string, at: number, more: object = {}) => ({
  type: 'comment',
  id: `${postId}-c${at}`,
  postId,
  author: `a${at}`,
  text: at % 2 === 0 ? `It is true, I saw it (${at}).` : `Fake, this is an old picture (${at}).`,
  createdAt: new Date(Date.UTC(2025, 2, 1, 10, 1, 0, at)).toISOString(),
  ...more,
})

async function say(name: string, lines: readonly object[], to = environment): Promise<void> {
  const file = join(folder, name)
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(to, file, 'gavel', { kind: 'flat-out' })
}

async function show(id: string, ...more: string[]): Promise<SubjectInspection> {
  const { out } = await performWords(['show', id, '--json', ...more], settingsOf(environment))
  return JSON.parse(out.join('')) as SubjectInspection
}

async function printed(id: string, ...more: string[]): Promise<string> {
  const { code, out, said } = await commandHere(['show', id, ...more], environment)
  if (code !== 0) throw new Error(said)
  return out
}

const finals = async (id: string) =>
  new Set((await verdictsOf(environment)).filter((one) => one.subjectId === id && one.final).map(({ id }) => id)).size

describe('gavel show', () => {
  it('of a post that was judged: its messages with their outcomes, its thread, its verdicts and their debates', {
    timeout: 120_000,
  }, async () => {
    const twice = comment('judged', 3)
    // One after the other: the brokers' times decide the order in which outcomes are told.
    await say('judged', [post('judged')])
    await say('judged-comments', [...[0, 1, 2, 3].map((at) => comment('judged', at)), twice])
    await eventually(async () => (await finals('judged')) === 2, 60_000)
    const shown = await show('judged', '--transcript')
    expect(shown.messages.map(({ what, id, outcome }) => [what, id, outcome])).toEqual([
      ['post', 'judged', 'judged'],
      ...[0, 1, 2, 3].map((at) => ['comment', `judged-c${at}`, 'judged']),
      ['comment', 'judged-c3', 'duplicate'],
    ])
    expect(shown.thread).toMatchObject({
      status: 'threaded',
      post: true,
      final: true,
      comments: { accepted: 4, kept: 4 },
    })
    expect(shown.cases).toEqual([])
    expect(shown.verdicts.map(({ verdict }) => verdict.id).sort()).toEqual(['hate~judged~r1', 'rumor~judged~r1'])
    expect(shown.standing).toMatch(/^Judged: (rumor|hate)~judged~r1 says \S+, (rumor|hate)~judged~r1 says .*for good/)
    expect(shown.transcripts.map(({ transcript }) => transcript.verdictId).sort()).toEqual([
      'hate~judged~r1',
      'rumor~judged~r1',
    ])
    // One partition of each topic, and not one record of another.
    expect(shown.read.map(({ topic }) => topic.split('.').at(-1)).sort()).toEqual(
      ['comments', 'dead-letters', 'posts', 'proposals', 'reviews', 'transcripts', 'verdicts'].sort(),
    )
    // Its traces are named, logged and sent to the collector, and go on in the verdicts' headers.
    const { traces = {} } = shown as SubjectInspection & { traces?: Record<string, string> }
    expect(Object.keys(traces).sort()).toEqual(['hate~judged~r1', 'rumor~judged~r1'])
    const ids = Object.values(traces)
    const sent = () => (collected.get('/v1/traces') ?? []).join('')
    await expect.poll(() => ids.every((id) => sent().includes(id)), { timeout: 30_000 }).toBe(true)
    expect(sent()).not.toContain('mast')
    await expect
      .poll(() => (collected.get('/v1/logs') ?? []).join('').includes(ids[0] ?? '?'), { timeout: 10_000 })
      .toBe(true)
    for (const id of ids) expect(service?.log.some((line) => line.includes(`"trace_id":"${id}"`))).toBe(true)
    expect(await printed('judged')).toContain(`trace ${ids[0]}`)
    const headers: string[] = []
    const verdicts = topicsOf(settingsOf(environment)).verdicts
    const options = { follow: false, signal: new AbortController().signal }
    await readTopic(clientOf(environment), verdicts, options, ({ message }) => {
      headers.push(String(message.headers?.traceparent))
    })
    expect(headers.map((header) => header.split('-')[1]).sort()).toEqual([...ids].sort())
    const text = await printed('judged', '--transcript')
    expect(text).toContain('hate~judged~r1')
    expect(text).toMatch(/Round 0, stance: scorer/)
    // What was found on shelves and what was scored, for people.
    expect(text).toMatch(/\n {4}the shelf "k-haters" is missing\n/)
    expect(text).not.toContain('{"')
    const said = shown.transcripts.flatMap(({ transcript }) => transcript.turns).filter(({ role }) => role === 'judge')
    for (const { raw } of said) expect(raw).not.toBeNull()
  })

  it('of a post in mid-debate: the asks that are answered, those that are not, and until when each waits for what', {
    timeout: 120_000,
  }, async ({ stack }) => {
    stack.understudy?.behave({ faults: { rate: 1, kinds: ['429'], retryAfterSeconds: 30 } })
    try {
      await say('waits', [post('waits'), ...[0, 1, 2].map((at) => comment('waits', at))])
      let shown = await show('waits')
      await eventually(
        async () => {
          shown = await show('waits')
          return shown.cases.some(({ id, waits }) => id === 'hate~waits~r1' && waits.some(({ why }) => why !== null))
        },
        60_000,
        () => JSON.stringify(shown.cases),
      )
      const open = shown.cases.find(({ id }) => id === 'hate~waits~r1')
      const deferred = open?.waits.find(({ why }) => why !== null)
      // The shelves have answered, the model has not.
      expect(open).toMatchObject({ state: 'open', round: 1, note: null, answers: [{ key: '0.0', stage: 'retrieve' }] })
      expect(deferred).toMatchObject({ state: 'deferred', why: expect.stringContaining('429') })
      expect(deferred?.readyAt).toBeGreaterThan(shown.at)
      expect(deferred?.readyAt).toBeLessThan(shown.at + 31_000)
      expect(shown.standing).toMatch(
        /hate~waits~r1 is being judged: round 1, 1 answered, \d+ not yet; \d+ can't be asked before .*429/,
      )
      expect(shown.verdicts).toEqual([])
      expect(await printed('waits')).toMatch(/until 2\d\d\d-.* more: .*429/)
    } finally {
      stack.understudy?.behave({ faults: { rate: 0 } })
    }
  })

  it('of a reply: is found without its kind where no post has its name', async () => {
    const reply = { type: 'counterspeech', id: 'answers', hateSpeech: 'They are vermin.', text: 'They are neighbours.' }
    await say('answers', [{ ...reply, createdAt: '2025-03-01T10:00:00Z' }])
    const shown = await show('answers')
    expect(shown.subject).toMatchObject({ postId: 'answers', kind: 'reply' })
    expect(shown.messages.map(({ what, id }) => [what, id])).toEqual([['reply', 'answers']])
    // A post is a post, whoever asks.
    expect((await show('judged')).subject).toMatchObject({ kind: 'post' })
  })

  it('of one that never came: says so, and what was read', async () => {
    const shown = await show('nobody')
    expect(shown).toMatchObject({ thread: null, cases: [], verdicts: [], messages: [] })
    expect(shown.standing).toMatch(/^It never came, as far as can be seen: no post .*all of them were read/)
  })

  it('of one that could not be read: the dead letter and its reason', async () => {
    await say('broken', [post('broken', { createdAt: 'yesterday' })])
    await eventually(async () => (await show('broken')).messages[0]?.outcome === 'dead-letter', 30_000)
    const shown = await show('broken')
    expect(shown.messages).toMatchObject([
      { what: 'post', id: null, detail: expect.stringMatching(/^invalid: createdAt/) },
    ])
    expect(shown.standing).toMatch(/^Nothing of it could be read: invalid: createdAt/)
  })

  it('of one of another tenant: only where that tenant is named', async () => {
    await say('theirs', [post('theirs', { tenant: 'acme' })])
    await eventually(async () => (await show('theirs', '--tenant', 'acme')).thread !== null, 30_000)
    expect(await show('theirs')).toMatchObject({ thread: null, messages: [], verdicts: [] })
    expect((await show('theirs', '--tenant', 'acme')).messages).toMatchObject([{ id: 'theirs', outcome: 'judged' }])
  })

  it('of one that was deleted: that it was, and not a word of it', { timeout: 120_000 }, async () => {
    await say('gone', [post('gone'), comment('gone', 1)])
    await eventually(async () => (await finals('gone')) === 2, 60_000)
    await say('goes', [post('gone', { deleted: true })])
    await eventually(async () => (await show('gone')).deleted, 30_000)
    await eventually(
      async () => (await show('gone')).verdicts.filter(({ verdict }) => verdict.decidedBy === 'deleted').length === 2,
      30_000,
    )
    const shown = await show('gone', '--transcript')
    expect(shown.standing).toBe('Its post was deleted, and its verdicts were retracted.')
    expect(shown.thread).toMatchObject({ status: 'deleted', text: null })
    for (const words of ['mast', 'old picture']) {
      expect(JSON.stringify(shown)).not.toContain(words)
      expect(await printed('gone', '--transcript', '--prompts')).not.toContain(words)
    }
  })

  it('of one that Redis has forgotten: from the topics alone', async () => {
    const redis = new Redis(environment.REDIS_URL ?? '')
    const keys = keysUnder(environment.GAVEL_REDIS_PREFIX ?? '')
    const member = memberOf({ tenant: 'default', kind: 'post', postId: 'judged' })
    try {
      await redis.del(keys.thread(member), keys.comments(member), keys.sample(member), keys.authors(member))
    } finally {
      redis.disconnect()
    }
    const shown = await show('judged', '--transcript')
    expect(shown.thread).toBeNull()
    expect(shown.standing).toMatch(
      /^Judged for good, and since forgotten by Redis: (rumor|hate)~judged~r1 says \S+, (rumor|hate)~judged~r1 says \S+\.$/,
    )
    expect(shown.messages).toHaveLength(6)
    expect(shown.verdicts).toHaveLength(2)
    expect(shown.transcripts).toHaveLength(2)
  })

  it('reads no more than requested', async () => {
    const shown = await show('judged', '--most', '1')
    expect(shown.read.every(({ records }) => records <= 1)).toBe(true)
    const later = await show('judged', '--since', '2999-01-01T00:00:00Z')
    expect(later.read.every(({ records }) => records === 0)).toBe(true)
    expect(later.messages).toEqual([])
  })
})
