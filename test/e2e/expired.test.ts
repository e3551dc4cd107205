import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { samplesOf } from '../../src/adapters/prometheus/samples.ts'
import { keysUnder, memberOf } from '../../src/adapters/redis/keys.ts'
import type { Stack } from '../../src/tools/stack/stack.ts'
import {
  environmentOn,
  eventually,
  protocolsOn,
  recordsOf,
  type Service,
  send,
  startServers,
  startService,
  transcriptsOf,
  verdictsOf,
} from '../support/pipeline.ts'

const COMMENTS = 300

const folder = mkdtempSync(join(tmpdir(), 'gavel-expired-'))
let stack: Stack
let service: Service | undefined
beforeAll(async () => {
  stack = await startServers({ latencyMs: 5 })
})
afterAll(async () => {
  await service?.kill('SIGKILL')
  await stack?.close()
  await rm(folder, { recursive: true, force: true })
})

const post = (text: string) => ({ type: 'post', id: 'p', text, author: 'x', createdAt: '2025-03-01T10:00:00Z' })
const comment = (at: number) => ({
  type: 'comment',
  id: `c${at}`,
  postId: 'p',
  author: `a${at}`,
  text: `${at % 2 === 0 ? 'It is true, I saw it' : 'Fake, this is an old picture'} (${at}).`,
  createdAt: new Date(Date.UTC(2025, 2, 1, 10, 1, 0, at)).toISOString(),
})

it('an edit after a thread has expired is judged by who reads the post alone, and takes no verdict from its comments', {
  timeout: 120_000,
}, async () => {
  const environment = environmentOn(stack, {
    ...protocolsOn('rumor', 'hate'),
    GAVEL_CLOCK_IDLE_AFTER: '1s',
    GAVEL_THREADS_KEEP_AFTER_FINAL: '2s',
  })
  const say = async (name: string, lines: readonly object[]) => {
    const file = join(folder, name)
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    await send(environment, file, 'gavel', { kind: 'flat-out' })
  }
  const lastOf = async (protocol: string) =>
    (await verdictsOf(environment)).filter((one) => one.protocol === protocol).at(-1)
  const thread = keysUnder(environment.GAVEL_REDIS_PREFIX ?? '').thread(
    memberOf({ tenant: 'default', kind: 'post', postId: 'p' }),
  )
  const redis = new Redis(environment.REDIS_URL ?? '')
  const isForgotten = async () => (await redis.exists(thread)) === 0
  try {
    service = await startService(environment)
    await say('said', [post('The mast has fallen.'), ...Array.from({ length: COMMENTS }, (_, at) => comment(at))])
    await eventually(async () => (await lastOf('rumor'))?.final === true && (await isForgotten()), 60_000)
    const verdict = await lastOf('rumor')
    expect(verdict?.scores).toEqual({ support: COMMENTS / 2, oppose: COMMENTS / 2 })
    expect(await lastOf('hate')).toMatchObject({ revision: 1 })

    await say('edited', [post('They are vermin, and the mast has fallen.'), comment(COMMENTS)])
    await eventually(async () => (await lastOf('hate'))?.revision === 2, 30_000)
    await eventually(isForgotten, 30_000)
    const { id, supersedes, label } = (await lastOf('hate')) ?? {}
    expect({ id, supersedes, label }).toEqual({ id: 'hate~p~r2', supersedes: 'hate~p~r1', label: 'hate' })
    const judged = (await transcriptsOf(environment)).find(({ verdictId }) => verdictId === id)?.subject
    expect(judged).toMatchObject({ post: { text: 'They are vermin, and the mast has fallen.' } })
    expect(await lastOf('rumor')).toEqual(verdict)
    expect(await recordsOf(environment, 'deadLetters')).toEqual([])
    const metrics = await (await fetch(`http://127.0.0.1:${service.httpPort}/metrics`)).text()
    const count = (topic: string, outcome: string) =>
      samplesOf(metrics, 'gavel_messages_total').find(
        ({ labels }) => labels.outcome === outcome && labels.topic?.endsWith(`.${topic}`),
      )?.value
    expect([count('posts', 'updated'), count('comments', 'late')]).toEqual([1, 1])
  } finally {
    redis.disconnect()
  }
})
