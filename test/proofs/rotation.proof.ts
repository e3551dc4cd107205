import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApacheKafka } from '../../src/kit/stack/servers/apache-kafka.ts'
import { type MemoryKafka, startMemoryKafka } from '../../src/kit/stack/servers/memory-kafka.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { startUnderstudy, type Understudy } from '../../src/kit/understudy/server.ts'
import { samplesOf } from '../../src/operations/metrics/samples.ts'
import { makeCertificates } from '../support/certificates.ts'
import { handful } from '../support/handful.ts'
import { ownFolder } from '../support/own-folder.ts'
import { allFinal, environmentOn, eventually, type Service, send, startService, tell } from '../support/pipeline.ts'
import { startRedisCluster, startRedisSentinel } from '../support/redis-servers.ts'

// test/e2e/secrets.test.ts rotates all others; these need servers that take longer to start.

const OLD = 'oldpassword4all'
const NEW = 'newpassword4all'
const folder = ownFolder('rotation')
const at = (name: string) => join(folder, name)
/** As a mounted secret changes: whole, by its name. */
const put = (name: string, text: string) => {
  writeFileSync(`${at(name)}.new`, text)
  renameSync(`${at(name)}.new`, at(name))
}

let understudy: Understudy
let memory: MemoryKafka
beforeAll(async () => {
  ;[understudy, memory] = await Promise.all([startUnderstudy({ latencyMs: 200 }), startMemoryKafka({ say: () => {} })])
})
afterAll(async () => {
  await Promise.all([understudy?.close(), memory?.close()])
})

/** Posts before, at and after a rotation, of which each gets its verdict, and no connection is refused. */
async function rotated(
  environment: Record<string, string>,
  reader: Record<string, string>,
  steps: { both(): Promise<unknown>; files(): void; newAlone(): Promise<unknown> },
): Promise<void> {
  let service: Service | undefined
  try {
    service = await startService(environment)
    await send(reader, handful(4).file, 'gavel', { kind: 'flat-out' })
    await steps.both()
    steps.files()
    service.process.kill('SIGHUP')
    const log = () => service?.log.join('\n') ?? ''
    await eventually(async () => log().includes('settings:reloaded'), 20_000, log)
    await send(reader, handful(4).file, 'gavel', { kind: 'flat-out' })
    await steps.newAlone()
    await send(reader, handful(4).file, 'gavel', { kind: 'flat-out' })
    await allFinal(reader, 12, 120_000)
    expect(log()).not.toMatch(/WRONGPASS|NOAUTH|authentication failed|SASLAuthenticationError/i)
    const page = await (await fetch(`http://127.0.0.1:${service.httpPort}/metrics`)).text()
    const outcomes = samplesOf(page, 'gavel_llm_calls_total').filter(({ value }) => value > 0)
    expect(new Set(outcomes.map(({ labels }) => labels.outcome))).toEqual(new Set(['answered']))
    for (const password of [OLD, NEW]) expect(log()).not.toContain(password)
  } finally {
    await service?.kill('SIGKILL')
  }
}

const on = (settings: Record<string, string>) =>
  environmentOn({ settings: { ...memory.settings, ...understudy.settings } }, settings)

/** Each of these servers by a client of the operator's. */
async function each(ports: readonly number[], password: string, ...commands: readonly (readonly string[])[]) {
  for (const port of ports) {
    const client = new Redis({ host: '127.0.0.1', port, password, retryStrategy: null }).on('error', () => {})
    for (const [name = '', ...args] of commands) await client.call(name, ...args)
    client.disconnect()
  }
}

const portsIn = (list: string | undefined) => (list ?? '').split(',').map((one) => Number(one.split(':')[1]))
const GAVEL = ['ACL', 'SETUSER', 'gavel', 'on', `>${OLD}`, '~*', '&*', '+@all']
const both = ['ACL', 'SETUSER', 'gavel', `>${NEW}`]
const alone = [
  ['ACL', 'SETUSER', 'gavel', `<${OLD}`],
  ['CLIENT', 'KILL', 'USER', 'gavel'],
]

it('a password of a cluster of Redis is rotated under load', { timeout: 240_000 }, async () => {
  const cluster = await startRedisCluster('operator')
  try {
    const ports = portsIn(cluster.settings.GAVEL_REDIS_CLUSTER)
    await each(ports, 'operator', GAVEL)
    put('cluster', OLD)
    const { GAVEL_REDIS_PASSWORD: _, ...settings } = cluster.settings
    const environment = on({ ...settings, GAVEL_REDIS_USERNAME: 'gavel', GAVEL_REDIS_PASSWORD_FILE: at('cluster') })
    await rotated(environment, environment, {
      both: () => each(ports, 'operator', both),
      files: () => put('cluster', NEW),
      newAlone: () => each(ports, 'operator', ...alone),
    })
  } finally {
    await cluster.close()
  }
})

it('passwords of Redis and of its sentinels are rotated under load', { timeout: 240_000 }, async () => {
  const sentinel = await startRedisSentinel('operator')
  try {
    const servers = sentinel.servers.map(({ settings }) => Number(new URL(settings.REDIS_URL ?? '').port))
    const watchers = portsIn(sentinel.settings.GAVEL_REDIS_SENTINELS)
    await each(servers, 'operator', GAVEL)
    await each(watchers, 'operators', GAVEL)
    put('redis', OLD)
    put('sentinel', OLD)
    const { GAVEL_REDIS_PASSWORD: _, GAVEL_REDIS_SENTINEL_PASSWORD: __, ...settings } = sentinel.settings
    const environment = on({
      ...settings,
      GAVEL_REDIS_USERNAME: 'gavel',
      GAVEL_REDIS_PASSWORD_FILE: at('redis'),
      GAVEL_REDIS_SENTINEL_USERNAME: 'gavel',
      GAVEL_REDIS_SENTINEL_PASSWORD_FILE: at('sentinel'),
    })
    await rotated(environment, environment, {
      both: async () => {
        await each(servers, 'operator', both)
        await each(watchers, 'operators', both)
      },
      files: () => {
        put('redis', NEW)
        put('sentinel', NEW)
      },
      newAlone: async () => {
        await each(servers, 'operator', ...alone)
        await each(watchers, 'operators', ...alone)
      },
    })
  } finally {
    await sentinel.close()
  }
})

it('user and password of Kafka are rotated under load, through a restart of the broker', {
  timeout: 300_000,
}, async () => {
  const certificates = makeCertificates()
  if (certificates === null) throw new Error('It takes openssl, to make certificates with.')
  const plain = { gavelold: OLD, gavelnew: NEW }
  const [kafka, redis] = await Promise.all([
    startApacheKafka({ say: tell, secured: { keyStore: certificates.keyStore, plain, scram: {} } }),
    startRedis({ say: tell }),
  ])
  try {
    put('user', 'gavelold')
    put('password', OLD)
    const reader = environmentOn({
      settings: { ...redis.settings, ...understudy.settings, KAFKA_BROKERS: kafka.openAddress },
    })
    const environment = {
      ...reader,
      ...kafka.settings,
      GAVEL_KAFKA_TLS_ENABLED: 'true',
      GAVEL_KAFKA_TLS_CA: certificates.ca,
      GAVEL_KAFKA_TLS_SERVER_NAME: 'gavel.test',
      GAVEL_KAFKA_SASL_MECHANISM: 'plain',
      GAVEL_KAFKA_SASL_USERNAME_FILE: at('user'),
      GAVEL_KAFKA_SASL_PASSWORD_FILE: at('password'),
    }
    const properties = join(kafka.data, '..', 'server.properties')
    await rotated(environment, reader, {
      both: async () => {},
      files: () => {
        put('user', 'gavelnew')
        put('password', NEW)
      },
      newAlone: async () => {
        const known = readFileSync(properties, 'utf8')
        writeFileSync(properties, known.replace(` user_gavelold="${OLD}"`, ''))
        await kafka.restart()
      },
    })
  } finally {
    await Promise.all([kafka.close(), redis.close()])
  }
})
