import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import type { LocalKafka } from '../../src/kit/stack/servers/kafka.ts'
import { startKafka } from '../../src/kit/stack/servers/kafka.ts'
import type { RestartableServer } from '../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { startUnderstudy, type Understudy } from '../../src/kit/understudy/server.ts'
import type { AgainReport } from '../../src/recovery/judge-again.ts'
import { keysUnder, memberOf } from '../../src/store/redis/keys.ts'
import { commandIn } from '../support/command-in.ts'
import { environmentOn, eventually, send, startService, tell, verdictsOf } from '../support/pipeline.ts'

// 200 verdicts without a label, made under a setting that was too strict: half of them in Redis, half forgotten by it.
const HALF = 100
const RATE = 4
const COMMENTS = 3

const folder = mkdtempSync(join(tmpdir(), 'gavel-judge-again-'))
let redis: RestartableServer
let kafka: LocalKafka
let understudy: Understudy
beforeAll(async () => {
  redis = await startRedis({ say: tell })
  kafka = await startKafka({ prefer: 'apache', say: tell })
  understudy = await startUnderstudy({ latencyMs: 3_000 })
})
afterAll(async () => {
  await understudy?.close()
  await kafka?.close()
  await redis?.close()
  await rm(folder, { recursive: true, force: true })
})

const ids = (name: string) => Array.from({ length: HALF }, (_, nth) => `${name}-${nth}`)
const threadOf = (id: string) => [
  { type: 'post', id, text: `The dam above ${id} has burst, they say.`, createdAt: '2025-03-01T10:00:00Z' },
  ...Array.from({ length: COMMENTS }, (_, nth) => ({
    type: 'comment',
    id: `${id}-c${nth}`,
    postId: id,
    author: `a${nth}`,
    text: ['It is true, I saw it.', 'Fake, this is an old picture.', 'Really?'][nth % 3],
    createdAt: `2025-03-01T10:0${nth + 1}:00Z`,
  })),
]

it('200 verdicts without a label get one more revision each, though the command is killed in its middle, twice', async () => {
  const given = { ...redis.settings, ...kafka.settings, ...understudy.settings }
  const environment = environmentOn(
    { settings: given },
    { GAVEL_CLOCK_IDLE_AFTER: '1s', GAVEL_DRAIN: '3s', GAVEL_CHECKPOINTS_AGES: '12h' },
  )
  const strict = { ...environment, GAVEL_CASES_DEADLINE: '1s' }
  const client = new Redis(redis.settings.REDIS_URL ?? '')
  const sendThreads = async (name: string) => {
    const file = join(folder, `${name}.jsonl`)
    writeFileSync(
      file,
      ids(name)
        .flatMap(threadOf)
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(''),
    )
    await send(environment, file, 'gavel', { kind: 'flat-out' })
  }
  const known = async (id: string) =>
    client.exists(
      keysUnder(environment.GAVEL_REDIS_PREFIX ?? '').thread(memberOf({ tenant: 'default', kind: 'post', postId: id })),
    )
  const count = async (revision: number) =>
    new Set((await verdictsOf(environment)).filter((one) => one.revision === revision).map(({ id }) => id)).size
  try {
    const forgetful = await startService({ ...strict, GAVEL_THREADS_KEEP_AFTER_FINAL: '2s' })
    await sendThreads('old')
    await eventually(async () => (await count(1)) === HALF, 120_000)
    await eventually(async () => (await Promise.all(ids('old').map(known))).every((there) => there === 0), 30_000)
    await forgetful.kill('SIGTERM')
    const keeping = await startService(strict)
    await sendThreads('new')
    await eventually(async () => (await count(1)) === 2 * HALF, 120_000)
    await keeping.kill('SIGTERM')
    expect((await Promise.all(ids('new').map(known))).every((there) => there === 1)).toBe(true)
    const before = await verdictsOf(environment)
    expect(new Set(before.map(({ label, decidedBy }) => `${label} ${decidedBy}`))).toEqual(new Set(['null none']))
    tell(`why: ${[...new Set(before.flatMap(({ degraded }) => degraded))].join('; ')}`)

    understudy.behave({ latencyMs: 20 })
    const service = await startService(environment)
    const args = ['judge-again', '--rate', String(RATE), '--json']
    const dry = await commandIn(folder, [...args, '--dry-run'], environment)
    tell(`dry run: ${dry.said}${dry.out}`)
    expect(JSON.parse(dry.out)).toMatchObject({ dryRun: true, plan: { verdicts: 2 * HALF, subjects: 2 * HALF } })
    expect(await count(2)).toBe(0)

    /** Killed once so many have their second revision; how many had it then. */
    const killedAt = async (seconds: number) => {
      const main = join(PROJECT, 'src', 'main.ts')
      const child = spawn(process.execPath, [main, ...args], { env: { PATH: process.env.PATH, ...environment } })
      const ended = once(child, 'exit')
      await eventually(async () => (await count(2)) >= seconds, 120_000)
      child.kill('SIGKILL')
      await ended
      return count(2)
    }
    const first = await killedAt(HALF / 2)
    const second = await killedAt(HALF + HALF / 2)
    tell(`killed at ${first} and at ${second} of ${2 * HALF}`)
    expect(first).toBeLessThan(HALF)
    expect(second).toBeLessThan(2 * HALF)
    const last = await commandIn(folder, args, environment)
    tell(`to its end: ${last.said}${last.out}`)
    expect(last.code).toBe(0)
    const { outcomes } = JSON.parse(last.out) as AgainReport
    expect(Object.keys(outcomes).every((outcome) => outcome === 'due' || outcome === 'newer')).toBe(true)
    await eventually(async () => (await count(2)) === 2 * HALF, 60_000)
    const none = await commandIn(folder, args, environment)
    expect(JSON.parse(none.out)).toMatchObject({ plan: { verdicts: 0 }, outcomes: {} })
    await service.kill('SIGTERM')

    const after = await verdictsOf(environment)
    const records = Map.groupBy(after, ({ subjectId }) => subjectId)
    expect(records.size).toBe(2 * HALF)
    for (const [id, all] of records) {
      const revisions = new Map(all.map((one) => [one.revision, one]))
      expect([...revisions.keys()], id).toEqual([1, 2])
      const judged = revisions.get(2)
      expect(judged, id).toMatchObject({ supersedes: `rumor~${id}~r1`, final: true })
      expect(judged?.label, id).not.toBeNull()
      expect(judged?.counts, id).toMatchObject({ accepted: COMMENTS, judged: COMMENTS })
    }
  } finally {
    client.disconnect()
  }
})
