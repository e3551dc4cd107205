import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LocalKafka, startKafka } from '../../src/kit/stack/servers/kafka.ts'
import type { RestartableServer } from '../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { commandIn } from '../support/command-in.ts'
import { startMisbehaving } from '../support/misbehaving.ts'
import { environmentOn, eventually, protocolsOn, send, startService, tell, verdictsOf } from '../support/pipeline.ts'

// A model's server is busy for 5, 20 and 60 s, in each way in which servers say so: gavel judge, and two processes of the service, come to
// the verdicts to which they come without it.

const openRouter = (until: number) => ({
  error: {
    message: 'Rate limit exceeded',
    code: 429,
    metadata: { headers: { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(until) } },
  },
})
const WAYS: Readonly<Record<string, (until: number) => { readonly status: number; readonly body: unknown }>> = {
  'a plain 429': () => ({ status: 429, body: { error: { message: 'Too many requests', type: 'requests' } } }),
  'a model that is loaded': () => ({ status: 503, body: { error: { code: 503, message: 'Loading model' } } }),
  'a 429 within a 200': (until) => ({ status: 200, body: openRouter(until) }),
  'an overload': () => ({
    status: 529,
    body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
  }),
}
const NAMES = Object.keys(WAYS)
const POSTS = [
  'They are vermin and should go back.',
  'The bridge is closed.',
  'Women are a pest.',
  'Good morning to you all.',
]

/** A server that is busy for so long from its first request on. */
async function startBusy(ways: readonly string[], seconds: number) {
  let until: number | null = null
  let turn = 0
  return startMisbehaving(() => {
    until ??= Date.now() + seconds * 1_000
    return Date.now() < until ? (WAYS[ways[turn++ % ways.length] ?? '']?.(until) ?? null) : null
  })
}

const folder = mkdtempSync(join(tmpdir(), 'gavel-busy-'))
const file = join(folder, 'posts.jsonl')
let redis: RestartableServer
let kafka: LocalKafka
beforeAll(async () => {
  const createdAt = '2025-03-01T10:00:00Z'
  const lines = POSTS.map((text, n) => JSON.stringify({ type: 'post', id: `p${n}`, text, createdAt }))
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''))
  redis = await startRedis({ say: tell })
  kafka = await startKafka({ prefer: 'apache', say: tell })
}, 120_000)
afterAll(async () => {
  for (const server of [kafka, redis]) await server?.close()
  await rm(folder, { recursive: true, force: true })
})

interface Judged {
  readonly subjectId?: string
  readonly postId?: string
  readonly label: string | null
  readonly decidedBy: string
  readonly degraded: readonly string[]
}
const inShort = (verdicts: readonly Judged[]) =>
  verdicts.map((one) => [one.postId ?? one.subjectId, one.label, one.decidedBy, one.degraded]).toSorted()

async function judged(way: string, seconds: number) {
  const server = await startBusy([way], seconds)
  try {
    const out = join(folder, `${NAMES.indexOf(way)}-${seconds}.jsonl`)
    const environment = { ...server.settings, GAVEL_FENCES_KEY: 'one key for all of these runs' }
    const args = ['judge', file, '--protocol', 'hate', '--json', '--out', out]
    const { code, out: printed, said } = await commandIn(folder, args, environment)
    if (code !== 0) throw new Error(said)
    return printed
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Judged)
  } finally {
    await server.close()
  }
}

describe.each([5, 20, 60])('a model that is busy for %i s', (seconds) => {
  it('costs gavel judge no verdict, whatever it says', { timeout: 300_000 }, async () => {
    const expected = inShort(await judged('a plain 429', 0))
    expect(expected).toHaveLength(POSTS.length)
    const all = await Promise.all(NAMES.map((way) => judged(way, seconds)))
    for (const [nth, verdicts] of all.entries()) expect(inShort(verdicts), NAMES[nth]).toEqual(expected)
  })

  it('costs two processes of the service none', { timeout: 300_000 }, async () => {
    const server = await startBusy(NAMES, seconds)
    const changes = { ...protocolsOn('hate'), GAVEL_FENCES_KEY: 'one key for all of these runs', ...server.settings }
    const environment = environmentOn({ settings: { ...redis.settings, ...kafka.settings } }, changes)
    const services = await Promise.all([startService(environment), startService(environment)])
    try {
      await send(environment, file, 'gavel', { kind: 'flat-out' })
      await eventually(async () => (await verdictsOf(environment)).length >= POSTS.length, 200_000)
      const verdicts = await verdictsOf(environment)
      expect(verdicts).toHaveLength(POSTS.length)
      expect(verdicts.flatMap(({ degraded }) => degraded)).toEqual([])
      expect(verdicts.filter(({ label }) => label === null)).toEqual([])
    } finally {
      for (const service of services) await service.kill('SIGKILL')
      await server.close()
    }
  })
})
