import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { printableJson } from '../../src/contracts/facts/printable.ts'
import { startApacheKafka } from '../../src/kit/stack/servers/apache-kafka.ts'
import { startMemoryKafka } from '../../src/kit/stack/servers/memory-kafka.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { startUnderstudy, type Understudy } from '../../src/kit/understudy/server.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { blackHoleBefore } from '../support/black-hole.ts'
import { handful } from '../support/handful.ts'
import { IN_PROOF } from '../support/in-proof.ts'
import { ownFolder } from '../support/own-folder.ts'
import { environmentOn, eventually, type Service, send, startService, tell } from '../support/pipeline.ts'
import { aPostgres } from '../support/postgres-server.ts'

// Whoever has the log alone finds the cause of a fault and what to do in the lines of its first ten seconds, and is not flooded.

/** The severities of OpenTelemetry's logs that Gavel uses. */
const SEVERITIES = ['debug', 'info', 'warn', 'error']
/** Within which the fault is named, in ms; the proof holds it to that. */
const NAMED_WITHIN_MS = 10_000

interface Line {
  readonly level: string
  readonly time: string
  readonly process: string
  readonly version: string
  readonly event: string
  readonly [field: string]: unknown
}

/** As a shipper reads it: one object a line, whose names are given once, with a time, a severity as a word, and whose it is. */
function parsed(text: string): Line {
  const line = JSON.parse(text) as Line
  // A name that is given twice is lost here.
  expect(printableJson(JSON.stringify(line))).toBe(text)
  expect(SEVERITIES).toContain(line.level)
  expect(new Date(line.time).toISOString()).toBe(line.time)
  expect(line).toMatchObject({ process: expect.any(String), version: expect.any(String), event: expect.any(String) })
  return line
}

let redis: Awaited<ReturnType<typeof startRedis>>
let kafka: Awaited<ReturnType<typeof startMemoryKafka>>
let understudy: Understudy
const opened: { close(): Promise<unknown> }[] = []
beforeAll(async () => {
  ;[redis, kafka, understudy] = await Promise.all([
    startRedis({ say: tell }),
    startMemoryKafka({ say: () => {} }),
    startUnderstudy({ latencyMs: 100 }),
  ])
  opened.push(redis, kafka, understudy)
}, 60_000)
afterAll(async () => {
  for (const one of opened.reverse()) await one.close()
})

const environmentOf = (changes: Record<string, string> = {}) =>
  environmentOn(
    { settings: { ...redis.settings, ...kafka.settings, ...understudy.settings } },
    { GAVEL_CLOCK_IDLE_AFTER: '500ms', ...changes },
  )

/** The lines of a running service from its fault on, which is named by `event` in time, and those of the seconds after that. */
async function linesOf(
  environment: Record<string, string>,
  {
    fault,
    event,
    roles,
    posts = {},
  }: { fault: () => unknown; event: string; roles?: string; posts?: Record<string, string> },
): Promise<{ named: Line; lines: Line[]; service: Service }> {
  const service = await startService(environment, roles)
  opened.push({ close: () => service.kill('SIGKILL') })
  await sleep(1_500)
  const from = service.log.length
  const begun = Date.now()
  await fault()
  await send({ ...environment, ...posts }, handful(3).file, 'gavel', { kind: 'flat-out' }).catch(() => undefined)
  const lines = () => service.log.slice(from).map(parsed)
  await eventually(
    async () => lines().some((line) => line.event === event),
    NAMED_WITHIN_MS,
    () => service.log.slice(from).join('\n'),
  )
  await sleep(6_000)
  for (const line of service.log) parsed(line)
  const named = lines().find((line) => line.event === event) as Line // the wait above has seen it
  const afterMs = Date.parse(named.time) - begun
  tell(
    `${event}: named after ${(afterMs / 1_000).toFixed(1)} s, ${louder(lines()).length} lines of warnings and errors`,
  )
  if (IN_PROOF) expect(afterMs).toBeLessThan(NAMED_WITHIN_MS)
  return { named, lines: lines(), service }
}

/** What is neither information nor the fault's own first line: an operator who watches errors sees so many lines. */
const louder = (lines: readonly Line[]) => lines.filter(({ level }) => level === 'error' || level === 'warn')

describe.concurrent('a fault in the log alone', () => {
  it('Redis hangs: named, with where to look', async () => {
    const way = await blackHoleBefore(Number(new URL(redis.settings.REDIS_URL ?? '').port))
    opened.push(way)
    const environment = environmentOf({ REDIS_URL: `redis://127.0.0.1:${way.port}` })
    const { named, lines } = await linesOf(environment, {
      fault: () => way.swallow(),
      event: 'redis:away',
      posts: redis.settings,
    })
    expect(named).toMatchObject({
      level: 'error',
      why: expect.stringContaining('no answer'),
      advice: expect.stringContaining('REDIS_URL'),
    })
    expect(louder(lines).length, JSON.stringify(louder(lines), null, 1)).toBeLessThanOrEqual(4)
  }, 90_000)

  it.runIf(IN_PROOF)(
    'the model refuses the key: named, with the setting',
    async () => {
      const gate: Server = createServer((asked, answer) => {
        asked.resume()
        answer
          .writeHead(401, { 'content-type': 'application/json' })
          .end('{"error":{"message":"Incorrect API key provided"}}')
      })
      await new Promise<void>((done) => gate.listen(0, '127.0.0.1', done))
      opened.push({ close: async () => gate.close() })
      const OPENAI_BASE_URL = `http://127.0.0.1:${(gate.address() as AddressInfo).port}/v1`
      const { named, lines } = await linesOf(environmentOf({ OPENAI_BASE_URL }), {
        fault: () => {},
        event: 'model:away',
      })
      expect(named).toMatchObject({ reason: 'key', advice: expect.stringMatching(/OPENAI_API_KEY|openai\.apiKey/) })
      expect(louder(lines).length, JSON.stringify(louder(lines), null, 1)).toBeLessThanOrEqual(4)
    },
    90_000,
  )

  it('the settings are wrong: one line in the log’s form, which names each fault', async () => {
    const main = join(PROJECT, 'src', 'main.ts')
    const env = bareEnvironment({ ...environmentOf(), GAVEL_CASES_MAX_OPEN: 'many', GAVEL_RECORD_STOER: 'x' })
    const child = spawn(process.execPath, [main, 'run'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    const [code] = (await once(child, 'close')) as [number]
    expect(code).toBe(1)
    const lines = said.trimEnd().split('\n').map(parsed)
    expect(lines).toMatchObject([
      { level: 'error', event: 'service:failed', why: expect.stringContaining('cases.maxOpen') },
    ])
    expect(lines[0]?.why).toContain('GAVEL_RECORD_STOER')
  }, 60_000)

  it.runIf(IN_PROOF)(
    'the model is away: named, with its address',
    async () => {
      const own = await startUnderstudy({ latencyMs: 100 })
      const { named, lines } = await linesOf(environmentOf(own.settings), {
        fault: () => own.close(),
        event: 'model:away',
      })
      expect(named).toMatchObject({
        level: 'warn',
        why: expect.any(String),
        advice: expect.stringMatching(/OPENAI_BASE_URL|baseUrl/),
      })
      expect(louder(lines).length, JSON.stringify(louder(lines), null, 1)).toBeLessThanOrEqual(4)
    },
    90_000,
  )

  it.runIf(IN_PROOF)(
    'Redis is away: named',
    async () => {
      const own = await startRedis({ say: tell })
      opened.push(own)
      const { named, lines } = await linesOf(environmentOf(own.settings), {
        fault: () => own.kill(),
        event: 'redis:away',
      })
      expect(named).toMatchObject({
        why: expect.stringMatching(/ECONN|EPIPE/),
        advice: expect.stringContaining('REDIS_URL'),
      })
      expect(louder(lines).length, JSON.stringify(louder(lines), null, 1)).toBeLessThanOrEqual(4)
    },
    90_000,
  )

  it.runIf(IN_PROOF)(
    'Kafka is away: named, and what waits for it',
    async ({ skip }) => {
      const own = await startApacheKafka({ say: tell }).catch(() => undefined)
      if (own === undefined) return skip()
      opened.push(own)
      const { named, lines } = await linesOf(environmentOf(own.settings), {
        fault: () => own.kill(),
        event: 'kafka:away',
      })
      expect(named).toMatchObject({ why: expect.any(String), advice: expect.stringContaining('KAFKA_BROKERS') })
      expect(louder(lines).length, JSON.stringify(louder(lines), null, 1)).toBeLessThanOrEqual(4)
    },
    120_000,
  )

  it.runIf(IN_PROOF)(
    'PostgreSQL is away: named',
    async ({ skip }) => {
      const own = await aPostgres()
      if (own === null) return skip()
      opened.push(own)
      const record = { GAVEL_RECORD_STORE: 'postgres', GAVEL_RECORD_POSTGRES_URL: own.address('record').url }
      const roles = 'intake,judge,publish,record'
      const { named, lines } = await linesOf(environmentOf(record), {
        fault: () => own.server.kill(),
        event: 'record:away',
        roles,
      })
      expect(named).toMatchObject({ level: 'error', advice: expect.stringContaining('record.postgres.url') })
      expect(louder(lines).length, JSON.stringify(louder(lines), null, 1)).toBeLessThanOrEqual(5)
    },
    120_000,
  )

  it.runIf(IN_PROOF)(
    'the record’s disk is full: named once, though other topics are taken',
    async ({ skip }) => {
      const folder = join(ownFolder('full'), 'small')
      mkdirSync(folder)
      try {
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'none', folder])
      } catch {
        return skip('no file system of its own can be mounted here')
      }
      opened.push({ close: async () => execFileSync('umount', ['-l', folder]) })
      const fault = () => writeFileSync(join(folder, 'filler'), Buffer.alloc(8 * 2 ** 20))
      const record = { GAVEL_RECORD_PATH: join(folder, 'record.db') }
      const roles = 'intake,judge,publish,record'
      const { named, lines } = await linesOf(environmentOf(record), {
        fault: () => {
          try {
            fault()
          } catch {
            // It takes what room there is, as it should.
          }
        },
        event: 'record:stopped',
        roles,
      })
      expect(named).toMatchObject({ level: 'error', advice: expect.stringContaining('Free space') })
      expect(lines.filter(({ event }) => event === 'record:stopped')).toHaveLength(1)
      expect(lines.filter(({ event }) => event === 'record:resumed')).toEqual([])
    },
    120_000,
  )
})
