import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { LocalServer } from '../../src/kit/stack/servers/local-server.ts'
import { startMemoryKafka } from '../../src/kit/stack/servers/memory-kafka.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { startUnderstudy, type Understudy } from '../../src/kit/understudy/server.ts'
import { database } from '../../src/record/postgres/connection.ts'
import { handful } from '../support/handful.ts'
import { ownFolder } from '../support/own-folder.ts'
import { allFinal, environmentOn, eventually, type Service, send, startService, tell } from '../support/pipeline.ts'
import { aPostgres } from '../support/postgres-server.ts'

const WHSEC = {
  old: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
  new: `whsec_${Buffer.alloc(32, 2).toString('base64')}`,
}
const TOKEN = { old: 'old-token-of-metrics', new: 'new-token-of-metrics' }

const folder = ownFolder('secrets')
mkdirSync(folder, { recursive: true })
const at = (name: string) => join(folder, name)
/** As a mounted secret changes: whole, by its name. */
const put = (name: string, text: string) => {
  writeFileSync(`${at(name)}.new`, `${text}\n`)
  renameSync(`${at(name)}.new`, at(name))
}

let redis: LocalServer
let kafka: LocalServer
let understudy: Understudy
let postgres: Awaited<ReturnType<typeof aPostgres>>
let service: Service | undefined
/** The keys that the model takes, and what it was asked with others. */
const model = { takes: new Set(['old-key']), refused: 0, answered: 0 }
let gate: Server
const hooked: { body: string; headers: Record<string, string> }[] = []
let receiver: Server
const portOf = (server: Server) => (server.address() as AddressInfo).port

beforeAll(async () => {
  const user = ['--user', 'gavel', 'on', '>old-redis', '~*', '&*', '+@all']
  ;[redis, kafka, understudy, postgres] = await Promise.all([
    startRedis({ say: tell, args: user }),
    startMemoryKafka({ say: () => {} }),
    startUnderstudy({ latencyMs: 200 }),
    aPostgres({ password: 'old-postgres' }),
  ])
  gate = createServer((asked, answer) => {
    const key = asked.headers.authorization?.replace('Bearer ', '') ?? ''
    if (!model.takes.has(key)) {
      model.refused++
      answer.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"message":"wrong key"}}')
      return
    }
    model.answered++
    const to = new URL(asked.url ?? '', understudy.settings.OPENAI_BASE_URL)
    const { host: _, authorization: __, ...headers } = asked.headers
    const own = { ...headers, authorization: `Bearer ${understudy.settings.OPENAI_API_KEY}` }
    asked.pipe(
      request(to, { method: asked.method ?? 'POST', headers: own }, (given) => {
        answer.writeHead(given.statusCode ?? 500, given.headers)
        given.pipe(answer)
      }),
    )
  })
  receiver = createServer((asked, answer) => {
    let body = ''
    asked.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    asked.on('end', () => {
      hooked.push({ body, headers: asked.headers as Record<string, string> })
      answer.writeHead(200).end()
    })
  })
  await Promise.all([gate, receiver].map((one) => new Promise<void>((done) => one.listen(0, '127.0.0.1', done))))
}, 120_000)
afterAll(async () => {
  await service?.kill('SIGKILL')
  for (const server of [gate, receiver]) {
    server?.closeAllConnections()
    server?.close()
  }
  await Promise.all([redis, kafka, understudy, postgres].map((one) => one?.close()))
})

function settingsFile(secrets: readonly string[]): void {
  const to = { url: `http://127.0.0.1:${portOf(receiver)}/`, tenant: 'default', allowPrivate: true, secrets }
  put('gavel.yaml', JSON.stringify({ webhooks: { to: { shop: to } } }))
}

/** What the page of metrics answers whoever brings this token. */
async function metricsBy(token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  return (await fetch(`http://127.0.0.1:${service?.httpPort}/metrics`, { headers })).status
}

it('each secret is rotated under load, and no call fails', async () => {
  settingsFile([WHSEC.old])
  put('key', 'old-key')
  put('redis', 'old-redis')
  put('token', TOKEN.old)
  put('postgres', 'old-postgres')
  const { REDIS_URL = '' } = redis.settings
  const { url = '' } = postgres?.address('record') ?? {}
  const record = {
    GAVEL_RECORD_STORE: 'postgres',
    GAVEL_RECORD_POSTGRES_SCHEMA: 'record',
    GAVEL_RECORD_POSTGRES_URL: url,
    GAVEL_RECORD_POSTGRES_PASSWORD_FILE: at('postgres'),
  }
  const environment = environmentOn(
    { settings: { ...kafka.settings, REDIS_URL, OPENAI_BASE_URL: `http://127.0.0.1:${portOf(gate)}/v1` } },
    {
      OPENAI_API_KEY_FILE: at('key'),
      GAVEL_REDIS_USERNAME: 'gavel',
      GAVEL_REDIS_PASSWORD_FILE: at('redis'),
      GAVEL_HTTP_TOKEN_FILE: at('token'),
      GAVEL_CLOCK_IDLE_AFTER: '300ms',
      ...(postgres === null ? {} : record),
    },
  )
  // Whoever sends to the topics brings no secret of the service.
  const { OPENAI_API_KEY_FILE: _, GAVEL_HTTP_TOKEN_FILE: __, ...reader } = environment
  const roles = `intake,judge,publish${postgres === null ? '' : ',record'}`
  service = await startService(environment, roles, undefined, ['--config', at('gavel.yaml')])
  const [first, second, third] = [handful(4), handful(4), handful(4)]
  await send(reader, first.file, 'gavel', { kind: 'flat-out' })
  await eventually(async () => model.answered > 2, 20_000)

  // The servers take both, or as PostgreSQL the new one alone; connections that are open stay.
  const admin = new Redis(REDIS_URL).on('error', () => {})
  await admin.call('ACL', 'SETUSER', 'gavel', '>new-redis')
  model.takes.add('new-key')
  if (postgres !== null) {
    const own = database({ ...postgres.address('record'), password: 'old-postgres' }, 1)
    await own.rows("ALTER ROLE gavel PASSWORD 'new-postgres'")
    await own.close()
  }
  settingsFile([WHSEC.new, WHSEC.old])
  put('key', 'new-key')
  put('redis', 'new-redis')
  put('token', TOKEN.new)
  put('postgres', 'new-postgres')
  service.process.kill('SIGHUP')
  await eventually(
    async () => service?.log.some((line) => line.includes('settings:reloaded')) === true,
    10_000,
    () => service?.log.join('\n') ?? '',
  )
  await send(reader, second.file, 'gavel', { kind: 'flat-out' })
  expect(await metricsBy(TOKEN.new)).toBe(200)
  expect(await metricsBy(TOKEN.old)).toBe(200)
  expect(await metricsBy('neither-of-the-two-tokens')).toBe(401)

  // Then they take the new ones alone, and every connection is made anew.
  await sleep(500)
  model.takes.delete('old-key')
  await admin.call('ACL', 'SETUSER', 'gavel', '<old-redis')
  await admin.call('CLIENT', 'KILL', 'USER', 'gavel')
  if (postgres !== null) {
    const own = database({ ...postgres.address('record'), password: 'new-postgres' }, 1)
    await own.rows(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gavel-record' AND pid <> pg_backend_pid()",
    )
    await own.close()
  }
  await send(reader, third.file, 'gavel', { kind: 'flat-out' })
  await allFinal({ ...reader, GAVEL_REDIS_PASSWORD_FILE: at('redis') }, 12, 60_000)
  expect(model.refused).toBe(0)
  const signedAnew = ({ body, headers }: (typeof hooked)[number]) => {
    try {
      return new Webhook(WHSEC.new).verify(body, headers) !== undefined
    } catch {
      return false
    }
  }
  await eventually(async () => hooked.some(signedAnew), 20_000)
  // What was connected anew works: the record has taken what was published since.
  if (postgres !== null) {
    const own = database({ ...postgres.address('record'), password: 'new-postgres' }, 1)
    await eventually(
      async () => (await own.rows<{ n: number }>('SELECT count(*)::int8 AS n FROM subjects'))[0]?.n === 12,
      20_000,
      () => service?.log.join('\n') ?? '',
    )
    await own.close()
  }
  expect(service.log.join('\n')).not.toMatch(/WRONGPASS|NOAUTH|password authentication failed|wrong key/)
  expect(service.log.join('\n')).not.toMatch(/(?:old|new)-(?:key|redis|postgres|token)/)
  admin.disconnect()
}, 90_000)
