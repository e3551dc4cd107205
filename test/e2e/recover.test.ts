import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { type RecoverResult, recover } from '../../src/app/commands/recover.ts'
import { command as verdicts } from '../../src/app/commands/verdicts.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { RestartableServer } from '../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { startUnderstudy, type Understudy } from '../../src/kit/understudy/server.ts'
import { sumOf } from '../../src/operations/metrics/samples.ts'
import { keysUnder } from '../../src/store/redis/keys.ts'
import { perform } from '../support/commands.ts'
import { IN_PROOF } from '../support/in-proof.ts'
import { repeats } from '../support/ledger.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  recordsOf,
  type Service,
  send,
  settingsOf,
  silent,
  startService,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'
import { startedKafka } from '../support/servers.ts'

const folder = mkdtempSync(join(tmpdir(), 'gavel-recover-'))
const data = join(folder, 'redis')
let redis: RestartableServer
let client: Redis
let kafka: Awaited<ReturnType<typeof startedKafka>>
let understudy: Understudy
const services: Service[] = []
beforeAll(async () => {
  mkdirSync(data)
  redis = await startRedis({ say: tell, directory: data, fsync: 'always' })
  client = new Redis(redis.settings.REDIS_URL ?? '', { retryStrategy: () => 100, maxRetriesPerRequest: null })
  client.on('error', () => {})
  kafka = await startedKafka()
  understudy = await startUnderstudy({ latencyMs: 50 })
})
afterEach(async () => {
  for (const service of services.splice(0)) await service.kill('SIGKILL')
  await client.config('SET', 'maxmemory', '0')
  understudy.behave({ latencyMs: 50 })
})
afterAll(async () => {
  client?.disconnect()
  await understudy?.close()
  await kafka?.close()
  await redis?.close()
  rmSync(folder, { recursive: true, force: true })
})

const environmentOf = (changes: Record<string, string> = {}) =>
  environmentOn(
    { settings: { ...redis.settings, ...kafka.settings, ...understudy.settings } },
    { GAVEL_CLOCK_IDLE_AFTER: '1s', GAVEL_DRAIN: '3s', GAVEL_CHECKPOINTS_COUNTS: '2', ...changes },
  )

async function start(environment: Record<string, string>): Promise<Service> {
  const service = await startService(environment)
  services.push(service)
  return service
}

let files = 0
async function sendLines(environment: Record<string, string>, lines: readonly object[]): Promise<void> {
  const file = join(folder, `${++files}.jsonl`)
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
}
const commentOn = (id: string, number: number) => ({
  type: 'comment',
  id: `${id}-c${number}`,
  postId: id,
  text: ['It is true, I saw it.', 'Fake, this is an old picture.', 'Really?'][number % 3],
  createdAt: `2025-03-01T10:0${number + 1}:00Z`,
})
const threadOf = (id: string) => [
  { type: 'post', id, text: `The dam above ${id} has burst, they say.`, createdAt: '2025-03-01T10:00:00Z' },
  ...[0, 1, 2].map((number) => commentOn(id, number)),
]
const sendThreads = (environment: Record<string, string>, ids: readonly string[]) =>
  sendLines(environment, ids.flatMap(threadOf))
const named = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}-${at}`)

async function recovered(environment: Record<string, string>, dryRun = false): Promise<RecoverResult> {
  const io = { terminal: silent, signal: new AbortController().signal }
  const done = await recover(settingsOf(environment), { since: null, dryRun }, io)
  tell(`recovered: ${JSON.stringify(done)}`)
  return done
}

/** Waits until it is ready or not, as is asked for; that it is not may have another reason for a while, so `why` is waited for. */
async function untilReady(service: Service, status: 200 | 503, why = ''): Promise<void> {
  let said = ''
  await eventually(
    async () => {
      const response = await fetch(`http://127.0.0.1:${service.httpPort}/health/ready`)
      said = await response.text()
      return response.status === status && said.includes(why)
    },
    30_000,
    () => `ready says ${said}\n${service.log.slice(-20).join('\n')}`,
  )
}

async function allFinal(environment: Record<string, string>, ids: readonly string[], service: Service): Promise<void> {
  let missing: string[] = []
  await eventually(
    async () => {
      const finals = new Set(
        (await verdictsOf(environment)).filter(({ final }) => final).map(({ subjectId }) => subjectId),
      )
      missing = ids.filter((id) => !finals.has(id))
      return missing.length === 0
    },
    40_000,
    () => `without a final verdict: ${missing.join()}\n${service.log.slice(-20).join('\n')}`,
  )
}

/** Every subject has one final verdict at the end of its chain, 1, 2, 3 …, and no id stands for two contents. */
async function expectWholeChains(environment: Record<string, string>, ids: readonly string[]): Promise<Verdict[]> {
  const again = repeats(await recordsOf(environment, 'verdicts'))
  expect(again.filter(({ identical }) => !identical)).toEqual([])
  const verdicts = [...new Map((await verdictsOf(environment)).map((one) => [one.id, one])).values()]
  expect([...new Set(verdicts.map(({ subjectId }) => subjectId))].sort()).toEqual([...ids].sort())
  for (const id of ids) {
    const chain = verdicts.filter(({ subjectId }) => subjectId === id).sort((a, b) => a.revision - b.revision)
    expect(chain.map(({ revision }) => revision)).toEqual(chain.map((_, at) => at + 1))
    expect(chain.map(({ supersedes }) => supersedes)).toEqual([null, ...chain.map((one) => one.id)].slice(0, -1))
    expect(chain.filter(({ final }) => final).map(({ revision }) => revision)).toEqual([chain.length])
  }
  return verdicts
}

/** A late comment opens the revisions after the last one that stands on the topic, and no other. */
async function expectNextRevision(environment: Record<string, string>, id: string): Promise<void> {
  const chain = async () => {
    const own = (await verdictsOf(environment)).filter(({ subjectId }) => subjectId === id)
    return [...new Map(own.map((one) => [one.revision, one])).values()].sort((a, b) => a.revision - b.revision)
  }
  const before = await chain()
  await sendLines(environment, [commentOn(id, 4)])
  await eventually(async () => {
    const last = (await chain()).at(-1)
    return last?.final === true && last.revision > before.length
  }, 20_000)
  const after = await chain()
  expect(after.slice(0, before.length)).toEqual(before)
  expect(after.map(({ revision }) => revision)).toEqual(after.map((_, index) => index + 1))
  expect(after.map(({ supersedes }) => supersedes)).toEqual([null, ...after.map((one) => one.id)].slice(0, -1))
  expect(repeats(await recordsOf(environment, 'verdicts')).filter(({ identical }) => !identical)).toEqual([])
}

it('goes on where the topics are after Redis was emptied in mid-stream, and a second recovery changes nothing', {
  timeout: 120_000,
}, async () => {
  const names = named('flushed', 8)
  const environment = environmentOf()
  const service = await start(environment)
  await sendThreads(environment, names.slice(0, 3))
  await allFinal(environment, names.slice(0, 3), service)
  const early = (await verdictsOf(environment)).map(({ id }) => id).sort()
  understudy.behave({ latencyMs: 200 })
  await sendThreads(environment, names.slice(3, 6))
  const calls = understudy.calls().length
  await eventually(async () => understudy.calls().length > calls, 20_000)
  await client.flushall()

  await untilReady(service, 503, 'gavel recover')
  await sendThreads(environment, names.slice(6))
  const before = (await verdictsOf(environment)).length
  const planned = await recovered(environment, true)
  expect(planned).toMatchObject({ dryRun: true, outcomes: {}, givenUp: 0 })
  expect(planned.revisions).toBeGreaterThanOrEqual(3)
  await sleep(1_500)
  await untilReady(service, 503)
  expect((await verdictsOf(environment)).length).toBe(before)

  const done = await recovered(environment)
  expect(done.revisions).toBe(planned.revisions)
  await untilReady(service, 200)
  await allFinal(environment, names, service)
  const verdicts = await expectWholeChains(environment, names)
  // What had its final verdict was not judged again.
  const untouched = verdicts.filter(({ subjectId }) => names.slice(0, 3).includes(subjectId))
  expect(untouched.map(({ id }) => id).sort()).toEqual(early)

  const settled = (await recordsOf(environment, 'verdicts')).length
  const asked = understudy.calls().length
  expect(await recovered(environment)).toMatchObject({ revisions: 0, givenUp: 0 })
  await untilReady(service, 200)
  await sleep(2_000)
  expect((await recordsOf(environment, 'verdicts')).length).toBe(settled)
  expect(understudy.calls().length).toBe(asked)

  await expectNextRevision(environment, names[0] ?? '')
})

async function outcomes(service: Service, outcome: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${service.httpPort}/metrics`)).text()
  return sumOf(text, 'gavel_messages_total', { outcome }) ?? 0
}

/** The sum of a metric's series. */
async function metric(service: Service, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${service.httpPort}/metrics`)).text()
  return sumOf(text, name) ?? 0
}

/** Puts an earlier copy of its data in place of Redis' own, as a replica that was behind would, or a restored backup. */
async function rollBackTo(copy: string): Promise<void> {
  await redis.kill()
  rmSync(data, { recursive: true })
  cpSync(copy, data, { recursive: true })
  await redis.restart()
}

it.runIf(IN_PROOF)(
  'judges a comment on a forgotten thread with all that was said there, and no other thread again',
  {
    timeout: 120_000,
  },
  async () => {
    const names = named('forgotten', 3)
    const environment = environmentOf({ GAVEL_THREADS_KEEP_AFTER_FINAL: '1s' })
    const service = await start(environment)
    await sendThreads(environment, names)
    await allFinal(environment, names, service)
    await sleep(3_000)
    const [first = ''] = names
    await sendLines(environment, [commentOn(first, 5)])
    await eventually(async () => (await outcomes(service, 'late')) > 0, 10_000)
    const ids = async () => (await verdictsOf(environment)).map(({ id }) => id).sort()
    const settled = await ids()
    await recovered(environment)
    await untilReady(service, 200)
    await eventually(async () => (await ids()).length > settled.length, 20_000)
    await sleep(3_000)
    const more = (await verdictsOf(environment)).filter(({ id }) => !settled.includes(id))
    expect(new Set(more.map(({ subjectId }) => subjectId))).toEqual(new Set([first]))
    expect(more.map(({ counts }) => counts.accepted)).toEqual(more.map(() => 4))
  },
)

it('comes to no other verdict under an id that was published before Redis was rolled back', {
  timeout: 120_000,
}, async () => {
  const names = named('rolled', 6)
  const environment = environmentOf()
  const service = await start(environment)
  await sendThreads(environment, names.slice(0, 2))
  await allFinal(environment, names.slice(0, 2), service)
  understudy.behave({ latencyMs: 200 })
  const calls = understudy.calls().length
  await sendThreads(environment, names.slice(2, 4))
  await eventually(async () => understudy.calls().length > calls, 20_000)
  // In this copy cases are open whose verdicts are published a moment later.
  const copy = join(folder, 'copy')
  cpSync(data, copy, { recursive: true })
  await allFinal(environment, names.slice(0, 4), service)
  const before = (await verdictsOf(environment)).map(({ id }) => id)
  await rollBackTo(copy)

  await untilReady(service, 503, 'gavel recover')
  await sendThreads(environment, names.slice(4))
  const done = await recovered(environment)
  expect(done.givenUp).toBeGreaterThan(0)
  await untilReady(service, 200)
  await allFinal(environment, names, service)
  const verdicts = await expectWholeChains(environment, names)
  const known = verdicts.filter(({ subjectId }) => names.indexOf(subjectId) < 4).map(({ id }) => id)
  expect(known.sort()).toEqual([...new Set(before)].sort())

  // A service that was not there to see it finds that Kafka knows of more than Redis.
  await service.kill('SIGTERM')
  await rollBackTo(copy)
  const next = await start(environment)
  await untilReady(next, 503, 'gavel recover')
  await recovered(environment)
  await untilReady(next, 200)
  await expectNextRevision(environment, names[0] ?? '')
})

it.runIf(IN_PROOF)(
  'pauses with one clear alarm while Redis is out of memory, and goes on by itself',
  {
    timeout: 120_000,
  },
  async () => {
    const names = named('full', 6)
    const environment = environmentOf()
    const service = await start(environment)
    await untilReady(service, 200)
    await sendThreads(environment, names.slice(0, 4))
    const calls = understudy.calls().length
    await eventually(async () => understudy.calls().length > calls, 20_000)
    const used = Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1])
    // Short of memory it takes in nothing more, and still judges.
    await client.config('SET', 'maxmemory', String(Math.ceil(used * 1.05)))
    await eventually(async () => (await metric(service, 'gavel_intake_paused')) === 1, 10_000)
    await untilReady(service, 200)
    // Judging may fill those five percent for a moment, and tell of it: this alarm is another.
    const before = service.log.length
    await client.config('SET', 'maxmemory', String(used - 500_000))
    await sendThreads(environment, names.slice(4))
    await untilReady(service, 503, 'maxmemory')
    const from = service.log.length
    await sleep(3_000)
    const said = service.log.slice(from)
    tell(`out of memory for 3 s: ${said.length} lines`)
    expect(said.length).toBeLessThan(15)
    const alarms = service.log.slice(before).filter((line) => line.includes('"store:full"'))
    expect(alarms).toEqual([expect.stringContaining('CONFIG SET maxmemory')])
    expect(service.log.slice(before).join('\n')).not.toContain('"store:writable"')
    expect(await metric(service, 'gavel_intake_paused')).toBe(1)
    expect(await metric(service, 'gavel_redis_memory_share')).toBeGreaterThan(0.9)
    const troubles = await metric(service, 'gavel_troubles_total')
    tell(`${troubles} troubles were counted`)
    expect(troubles).toBeLessThan(500)

    await client.config('SET', 'maxmemory', '0')
    await untilReady(service, 200)
    await allFinal(environment, names, service)
    await expectWholeChains(environment, names)
  },
)

it.runIf(IN_PROOF)('goes on when Redis is started anew under a recovery', { timeout: 120_000 }, async () => {
  const names = named('restarted', 6)
  const environment = environmentOf()
  const service = await start(environment)
  await sendThreads(environment, names.slice(0, 3))
  await allFinal(environment, names.slice(0, 3), service)
  await client.flushall()
  await untilReady(service, 503, 'gavel recover')
  await sendThreads(environment, names.slice(3))
  const said: string[] = []
  const terminal = { ...silent, say: (line: unknown) => void said.push(String(line)) }
  const io = { terminal, signal: new AbortController().signal }
  const recovering = recover(settingsOf(environment), { since: null, dryRun: false }, io)
  // It is under way as soon as its hold is noted.
  await eventually(
    async () =>
      (await client.hget(keysUnder(environment.GAVEL_REDIS_PREFIX ?? '').incarnation, 'lost')) === 'recovering',
    20_000,
  )
  await redis.kill()
  await sleep(3_000)
  await redis.restart()
  await recovering
  expect(said.join('\n')).toContain('beginning again')
  await untilReady(service, 200)
  await allFinal(environment, names, service)
  await expectWholeChains(environment, names)
})

it.runIf(IN_PROOF)(
  'finds two contents under one id, and has the next revision supersede both',
  { timeout: 120_000 },
  async () => {
    const names = named('contested', 2)
    const environment = environmentOf()
    const service = await start(environment)
    await sendThreads(environment, names)
    await allFinal(environment, names, service)
    const quiet = { terminal: silent, signal: new AbortController().signal }
    const check = (): Promise<unknown> =>
      perform(verdicts, settingsOf(environment), [], { check: true as const }, quiet)
    await check()
    const last = (await verdictsOf(environment))
      .filter(({ subjectId, final }) => subjectId === names[0] && final)
      .at(-1)
    if (last === undefined) throw new Error('no final verdict')
    const producer = clientOf(environment).producer()
    await producer.connect()
    const other = { ...last, label: 'non-rumor', rationale: 'said by another master' }
    const messages = [{ key: last.subjectId, value: JSON.stringify(other) }]
    await producer.send({ topic: topicsOf(settingsOf(environment)).verdicts, messages })
    await producer.disconnect()

    await expect(check()).rejects.toThrow('gavel recover')
    expect((await recovered(environment)).contested).toEqual([last.id])
    await eventually(
      async () => (await verdictsOf(environment)).some(({ supersedes }) => supersedes === last.id),
      30_000,
      () => service.log.slice(-20).join('\n'),
    )
    await check()
    expect((await recovered(environment)).contested).toEqual([])
    await sleep(2_000)
    const chains = Map.groupBy(await verdictsOf(environment), ({ subjectId }) => subjectId)
    expect(chains.get(names[0] ?? '')?.at(-1)).toMatchObject({ revision: last.revision + 1, final: true })
    expect(chains.get(names[1] ?? '')?.at(-1)?.revision).toBe(last.revision)
  },
)
