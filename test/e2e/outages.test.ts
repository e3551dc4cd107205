import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { type LocalKafka, startKafka } from '../../src/kit/stack/servers/kafka.ts'
import { freePort, type RestartableServer } from '../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { startUnderstudy, type Understudy } from '../../src/kit/understudy/server.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { blackHoleBefore } from '../support/black-hole.ts'
import { IN_PROOF } from '../support/in-proof.ts'
import { repeats } from '../support/ledger.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  allFinal,
  environmentOn,
  eventually,
  recordsOf,
  type Service,
  send,
  startService,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'

const DRAIN_MS = 3_000
/** For a process to end on a busy machine, on top of what is promised; a call that is not cut off takes a minute. */
const SLACK_MS = IN_PROOF ? 2_000 : 20_000

let redis: RestartableServer
let kafka: LocalKafka
let understudy: Understudy
const services: Service[] = []
const folder = ownFolder('outages')
beforeAll(async () => {
  // It is killed: on a disk that lags behind, `everysec` would lose what it acknowledged, and the service would rightly stop.
  redis = await startRedis({ say: tell, fsync: 'always' })
  kafka = await startKafka({ prefer: 'apache', say: tell })
  understudy = await startUnderstudy({ latencyMs: 100 })
})
afterEach(async () => {
  for (const service of services.splice(0)) await service.kill('SIGKILL')
  understudy.behave({ latencyMs: 100, faults: { rate: 0 } })
})
afterAll(async () => {
  await understudy?.close()
  await kafka?.close()
  await redis?.close()
})

const environmentOf = (changes: Record<string, string> = {}) =>
  environmentOn(
    { settings: { ...redis.settings, ...kafka.settings, ...understudy.settings } },
    { GAVEL_CLOCK_IDLE_AFTER: '1s', GAVEL_DRAIN: `${DRAIN_MS}ms`, ...changes },
  )

async function start(environment: Record<string, string>): Promise<Service> {
  const service = await startService(environment)
  services.push(service)
  return service
}

let files = 0
/** A file of posts, each with three comments. */
function fileOf(...ids: string[]): string {
  const file = join(folder, `${++files}.jsonl`)
  const lines = ids.flatMap((id) => [
    { type: 'post', id, text: `The dam above ${id} has burst, they say.`, createdAt: '2025-03-01T10:00:00Z' },
    ...['It is true, I saw it.', 'Fake, this is an old picture.', 'Really?'].map((text, at) => ({
      type: 'comment',
      id: `${id}-c${at}`,
      postId: id,
      text,
      createdAt: `2025-03-01T10:0${at + 1}:00Z`,
    })),
  ])
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return file
}
const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `dam-${from + at}`)
const sendPosts = (environment: Record<string, string>, names: readonly string[]) =>
  send(environment, fileOf(...names), 'gavel', { kind: 'flat-out' })

async function health(service: Service, which: 'live' | 'ready'): Promise<{ status: number; said: string }> {
  const url = `http://127.0.0.1:${service.httpPort}/health/${which}`
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000) })
  return { status: response.status, said: await response.text() }
}

/** Resolves when the service says that it is ready, or that it is not. */
async function untilReady(service: Service, status: 200 | 503, withinMs: number): Promise<string> {
  let last = { status: 0, said: '' }
  await eventually(
    async () => {
      last = await health(service, 'ready')
      return last.status === status
    },
    withinMs,
    () => `ready says ${last.status} ${last.said}`,
  )
  return last.said
}

async function callsGoOn(beyond = understudy.calls().length): Promise<void> {
  await eventually(
    async () => understudy.calls().length > beyond,
    20_000,
    () => 'no model call',
  )
}

async function expectEachOnce(environment: Record<string, string>, names: readonly string[]): Promise<void> {
  const finals = (await verdictsOf(environment)).filter(({ final }) => final)
  const subjects = finals.map(({ subjectId }) => subjectId)
  expect([...new Set(subjects)].sort()).toEqual([...names].sort())
  // A repeat is what a lost acknowledgement may cost; it says the same.
  const again = repeats(await recordsOf(environment, 'verdicts'))
  expect(again.filter(({ identical }) => !identical)).toEqual([])
  const bySubject = Map.groupBy(new Set(finals.map(({ id }) => id)), (id) => id.slice(0, id.lastIndexOf('~')))
  expect([...bySubject.values()].filter((ids) => ids.length > 1)).toEqual([])
}

describe('a service that is started without', () => {
  /** `gavel run` to its end. */
  async function run(environment: Record<string, string>) {
    const main = join(PROJECT, 'src', 'main.ts')
    const child = spawn(process.execPath, ['--disable-warning=TimeoutNegativeWarning', main, 'run'], {
      env: bareEnvironment(environment),
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 30_000,
    })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    const [code] = (await once(child, 'close')) as [number | null]
    const lines = said.split('\n').filter((line) => line !== '')
    const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    return { code, said, failed: logged.filter(({ event }) => event === 'service:failed') }
  }

  it.each([
    ['Redis', 'REDIS_URL', (port: number) => `redis://user:hunter2@127.0.0.1:${port}`],
    ['Kafka', 'KAFKA_BROKERS', (port: number) => `127.0.0.1:${port}`],
  ])('%s says so in one line that names what to set, and ends with 1', async (what, variable, urlAt) => {
    const port = await freePort()
    const began = Date.now()
    const { code, said, failed } = await run(environmentOf({ [variable]: urlAt(port) }))
    expect(failed).toEqual([expect.objectContaining({ level: 'error', why: expect.stringContaining(what) })])
    expect(failed[0]?.why).toContain(variable)
    expect(failed[0]?.why).toContain(`127.0.0.1:${port}`)
    expect(said).not.toContain('hunter2')
    expect(code).toBe(1)
    // Whoever waits at a terminal should not have to wonder.
    expect(Date.now() - began).toBeLessThan(30_000)
  })

  it.runIf(IN_PROOF)('an answer of what takes its connections to Redis says so too', async () => {
    const silent = createServer((socket) => socket.on('error', () => {}).resume())
    const port = await freePort()
    await new Promise<void>((resolve) => silent.listen(port, '127.0.0.1', resolve))
    try {
      const { code, failed } = await run(environmentOf({ REDIS_URL: `redis://127.0.0.1:${port}` }))
      expect(failed).toMatchObject([{ why: expect.stringMatching(/^Redis does not answer at .*answers nothing/) }])
      expect(code).toBe(1)
    } finally {
      silent.close()
    }
  })

  it('its model starts all the same, and holds the case for as long as the settings say', async () => {
    const environment = environmentOf({
      OPENAI_BASE_URL: `http://127.0.0.1:${await freePort()}/v1`,
      GAVEL_STAGES_DEFAULT_ATTEMPTS: '2',
      GAVEL_STAGES_DEFAULT_BACKOFF: '100ms',
      GAVEL_CASES_DEADLINE: '3s',
      GAVEL_CASES_MOST_HELD: '2s',
    })
    const service = await start(environment)
    await sendPosts(environment, ['alone'])
    await allFinal(environment, 1, 20_000)
    const [decided] = await verdictsOf(environment)
    expect(decided).toMatchObject({ label: null, decidedBy: 'none' })
    expect(decided?.degraded.join()).toContain('deadline')
    const { openedAt, decidedAt } = decided?.timing ?? { openedAt: '', decidedAt: '' }
    expect(Date.parse(decidedAt) - Date.parse(openedAt)).toBeGreaterThan(3_000)
    expect((await health(service, 'live')).status).toBe(200)
  })

  it.runIf(IN_PROOF)('an answering model ends its cases at their deadline', async () => {
    understudy.behave({ faults: { rate: 1, kinds: ['timeout'] } })
    const environment = environmentOf({ GAVEL_CASES_DEADLINE: '2s' })
    await start(environment)
    await sendPosts(environment, ['unhurried'])
    await allFinal(environment, 1, 20_000)
    const [decided] = await verdictsOf(environment)
    expect(decided).toMatchObject({ label: null, decidedBy: 'none' })
    expect(decided?.degraded.join()).toContain('deadline')
  })
})

it('goes on where it was after Redis, Kafka and the model were away', { timeout: 120_000 }, async () => {
  const names = ids(0, 24)
  const environment = environmentOf({ GAVEL_STAGES_DEFAULT_ATTEMPTS: '8' })
  const service = await start(environment)
  await untilReady(service, 200, 15_000)
  const timed = async (what: string, outage: () => Promise<void>) => {
    const began = Date.now()
    await outage()
    tell(`${what} was away; the service was ready again after ${Date.now() - began} ms`)
  }

  const errors = () => service.log.filter((line) => line.includes('"level":"error"'))
  expect(errors(), 'at a first start').toEqual([])
  await sendPosts(environment, names.slice(0, 6))
  await callsGoOn()
  await timed('Redis', async () => {
    await redis.kill()
    await sendPosts(environment, names.slice(6, 12))
    expect(await untilReady(service, 503, 10_000)).toContain('"redis":"does not answer"')
    expect((await health(service, 'live')).status).toBe(200)
    await redis.restart()
    await untilReady(service, 200, 20_000)
    expect(errors().filter((line) => line.includes('"redis:away"'))).toHaveLength(1)
    expect(errors().length, errors().join('\n')).toBeLessThanOrEqual(3)
  })
  await callsGoOn()

  if (kafka.kind === 'apache') {
    const { kill, restart } = kafka
    await timed('Kafka', async () => {
      await kill()
      const killed = Date.now()
      await untilReady(service, 503, 30_000)
      tell(`Kafka's absence was told after ${Date.now() - killed} ms`)
      expect((await health(service, 'live')).status).toBe(200)
      await restart()
      await untilReady(service, 200, 30_000)
    })
  } else tell('SKIPPED: the in-memory broker keeps nothing; an outage of Kafka was not rehearsed.')

  await sendPosts(environment, names.slice(12, 18))
  await callsGoOn()
  understudy.behave({ faults: { rate: 1, kinds: ['500', 'reset', '503'] } })
  await sendPosts(environment, names.slice(18))
  await sleep(3_000)
  expect((await health(service, 'ready')).status).toBe(200)
  understudy.behave({ faults: { rate: 0 } })

  await allFinal(environment, names.length, 60_000)
  await expectEachOnce(environment, names)
  const undecided = (await verdictsOf(environment)).filter(({ label }) => label === null)
  expect(undecided.map(({ id, degraded }) => ({ id, degraded }))).toEqual([])
  expect(service.process.exitCode).toBeNull()
  await service.kill('SIGTERM')
  expect(service.process.exitCode).toBe(0)
})

it.runIf(IN_PROOF)(
  'works on over new connections when those to Redis have died in silence, and what was sent on them arrives late',
  {
    timeout: 120_000,
  },
  async () => {
    const names = ids(200, 212)
    const way = await blackHoleBefore(Number(new URL(redis.settings.REDIS_URL ?? '').port))
    try {
      const environment = environmentOf({ REDIS_URL: `redis://127.0.0.1:${way.port}` })
      const service = await start(environment)
      await untilReady(service, 200, 15_000)
      understudy.behave({ latencyMs: 600 })
      await sendPosts(environment, names.slice(0, 6))
      await callsGoOn()
      way.swallow()
      await sendPosts(environment, names.slice(6))
      await untilReady(service, 503, 10_000)
      way.pass()
      const began = Date.now()
      await untilReady(service, 200, 30_000)
      tell(`after Redis's connections had died in silence, ready again after ${Date.now() - began} ms`)
      way.deliverLate()
      await allFinal(environment, names.length, 60_000)
      await expectEachOnce(environment, names)
      expect((await verdictsOf(environment)).filter(({ label }) => label === null)).toEqual([])
    } finally {
      for (const service of services.splice(0)) await service.kill('SIGKILL')
      await way.close()
    }
  },
)

it('ends within its drain time on SIGTERM in mid-debate, and nothing is lost', {
  timeout: 90_000,
}, async () => {
  const names = ids(100, 112)
  const environment = environmentOf()
  const stopped = async (service: Service) => {
    const began = Date.now()
    await service.kill('SIGTERM')
    const ms = Date.now() - began
    tell(`told to stop, it was gone after ${ms} ms`)
    expect(service.process.exitCode).toBe(0)
    expect(ms).toBeLessThan(DRAIN_MS + SLACK_MS)
  }
  understudy.behave({ latencyMs: 600 })
  const quick = await start(environment)
  await sendPosts(environment, names)
  await callsGoOn()
  await stopped(quick)

  // Calls that will not end in time are cut off, and made again by the next.
  understudy.behave({ latencyMs: 60_000 })
  // It may have made every call that it can before it is known to be ready.
  const before = understudy.calls().length
  const stuck = await start(environment)
  await callsGoOn(before)
  await stopped(stuck)

  understudy.behave({ latencyMs: 50 })
  const last = await start(environment)
  await allFinal(environment, names.length, 30_000)
  await stopped(last)
  await expectEachOnce(environment, names)
  expect((await verdictsOf(environment)).filter(({ label }) => label === null)).toEqual([])
})

// By the clock: where four files run at once the machine itself can be late.
it.runIf(IN_PROOF)(
  'ends within its drain time on SIGTERM also while Kafka answers nothing',
  { timeout: 90_000 },
  async (context) => {
    if (kafka.kind !== 'apache' || kafka.pid === undefined) return context.skip('the in-memory broker is no process')
    const drainMs = 8_000
    const environment = environmentOf({ GAVEL_DRAIN: `${drainMs}ms` })
    understudy.behave({ latencyMs: 60_000 })
    const before = understudy.calls().length
    const service = await start(environment)
    await sendPosts(environment, ids(112, 116))
    await callsGoOn(before)
    process.kill(kafka.pid, 'SIGSTOP')
    try {
      const began = Date.now()
      await service.kill('SIGTERM')
      const ms = Date.now() - began
      tell(`told to stop while Kafka stood still, it was gone after ${ms} ms`)
      expect(service.process.exitCode).toBe(0)
      expect(ms).toBeLessThan(drainMs + SLACK_MS)
    } finally {
      process.kill(kafka.pid, 'SIGCONT')
    }
  },
)

it.runIf(IN_PROOF)('is gone within its drain time also while Redis is away', async () => {
  const environment = environmentOf()
  const service = await start(environment)
  await untilReady(service, 200, 15_000)
  await redis.kill()
  try {
    await sleep(500)
    const began = Date.now()
    await service.kill('SIGTERM')
    const ms = Date.now() - began
    tell(`told to stop without Redis, it was gone after ${ms} ms, with exit code ${service.process.exitCode}`)
    expect(ms).toBeLessThan(DRAIN_MS + SLACK_MS)
  } finally {
    await redis.restart()
  }
})
