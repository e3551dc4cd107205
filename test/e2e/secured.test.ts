import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { command as doctor } from '../../src/app/commands/doctor.ts'
import type { Finding } from '../../src/contracts/facts/finding.ts'
import { type ApacheKafka, startApacheKafka } from '../../src/kit/stack/servers/apache-kafka.ts'
import { type LocalServer, type RestartableServer, UnavailableError } from '../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { startUnderstudy, type Understudy } from '../../src/kit/understudy/server.ts'
import { checkRedis, connect, serversOf } from '../../src/store/redis/connect.ts'
import { checkBrokers, kafkaClient } from '../../src/stream/client.ts'
import { type Certificates, makeCertificates } from '../support/certificates.ts'
import { perform } from '../support/commands.ts'
import { expectJudged, finalOrRecovered, handful } from '../support/handful.ts'
import { IN_PROOF } from '../support/in-proof.ts'
import {
  environmentOn,
  eventually,
  recordsOf,
  type Service,
  send,
  settingsOf,
  startService,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'
import { type RedisServers, startRedisCluster, startRedisSentinel } from '../support/redis-servers.ts'

const certificates = makeCertificates()
if (certificates === null) tell('Not tried: TLS, as there is no openssl on the PATH to make certificates with.')

/** Passwords that must be found nowhere. */
const REDIS_PASSWORD = 'canary4redis'
const KAFKA_PASSWORD = 'canary4kafka'
const SCRAM_PASSWORD = 'canary4scram'
const SECRET = /canary4/

let kafka: ApacheKafka | undefined
let understudy: Understudy
let redis: LocalServer | undefined
let cluster: RedisServers | undefined
let sentinel: RedisServers<RestartableServer> | undefined
const services: Service[] = []

beforeAll(async () => {
  const secured = certificates && {
    keyStore: certificates.keyStore,
    plain: { gavel: KAFKA_PASSWORD },
    scram: { gavel: SCRAM_PASSWORD },
  }
  // A user of its own, who may do no more than docs/connections.md says.
  const user = ['on', `>${REDIS_PASSWORD}`, '~{test-*', '+@all', '-@admin', '-@dangerous', '+info']
  const users = ['--user', 'gavel', ...user, '--user', 'default', 'off']
  ;[understudy, kafka, cluster, sentinel, redis] = await Promise.all([
    startUnderstudy({ latencyMs: 5 }),
    startApacheKafka({ say: tell, ...(secured && { secured }) }).catch((error: unknown) => {
      if (!(error instanceof UnavailableError)) throw error
      tell(`Not tried: connections to Apache Kafka, which is not to be had: ${error.message}.`)
      return undefined
    }),
    IN_PROOF ? startRedisCluster() : undefined,
    IN_PROOF ? startRedisSentinel(REDIS_PASSWORD) : undefined,
    certificates === null ? undefined : startRedis({ say: tell, tls: certificates, args: users }),
  ])
})
afterAll(async () => {
  for (const service of services) await service.kill('SIGKILL')
  await Promise.all([kafka, understudy, redis, cluster, sentinel].map((server) => server?.close()))
})

/** A service of its own on Kafka's open listener, and on the Redis that these settings lead to. */
const openOn = (servers: Record<string, string>) =>
  environmentOn({ settings: { KAFKA_BROKERS: kafka?.openAddress ?? '', ...understudy.settings } }, servers)

/** The same on TLS and passwords everywhere. */
const securedOn = (environment: Record<string, string>, { ca }: Certificates): Record<string, string> => ({
  ...environment,
  ...kafka?.settings,
  GAVEL_KAFKA_TLS_ENABLED: 'true',
  GAVEL_KAFKA_TLS_CA: ca,
  GAVEL_KAFKA_SASL_MECHANISM: 'scram-sha-512',
  GAVEL_KAFKA_SASL_USERNAME: 'gavel',
  GAVEL_KAFKA_SASL_PASSWORD: SCRAM_PASSWORD,
  REDIS_URL: redis?.settings.REDIS_URL?.replace('//', `//gavel:${REDIS_PASSWORD}@`) ?? '',
  GAVEL_REDIS_TLS_CA: ca,
})

async function started(environment: Record<string, string>): Promise<Service> {
  const service = await startService(environment)
  services.push(service)
  return service
}

describe.concurrent('the service judges', () => {
  it.skipIf(certificates === null)('with TLS and passwords everywhere, and reveals none of them', async ({ skip }) => {
    if (kafka === undefined || certificates === null) return skip()
    const reader = openOn({})
    const environment = securedOn(reader, certificates)
    const service = await started(environment)
    await expectJudged(environment, reader)
    await service.kill('SIGTERM')
    expect(service.log.join('\n')).not.toMatch(SECRET)
  })

  it.runIf(IN_PROOF)('on a cluster of Redis, with all keys on one of its masters', async ({ skip }) => {
    if (kafka === undefined) return skip()
    const environment = openOn(cluster?.settings ?? {})
    const service = await started(environment)
    await expectJudged(environment)
    await service.kill('SIGTERM')
    const client = connect(settingsOf(environment).redis, () => {}, 'fail-fast')
    try {
      await client.ping()
      const sizes = await Promise.all(serversOf(client).map((server) => server.dbsize()))
      expect(sizes.filter((size) => size > 0)).toHaveLength(1)
      expect(sizes).toHaveLength(3)
    } finally {
      client.disconnect()
    }
  })

  it.runIf(IN_PROOF)(
    'on after a failover by sentinels, what was there before and what comes meanwhile',
    async ({ skip }) => {
      if (kafka === undefined) return skip()
      const environment = openOn(sentinel?.settings ?? {})
      const service = await started(environment)
      const [before, during] = [handful(), handful()]
      await send(environment, before.file, 'gavel', { kind: 'flat-out' })
      await eventually(async () => (await recordsOf(environment, 'verdicts')).length > 0, 20_000)
      await sentinel?.servers[0]?.kill()
      await send(environment, during.file, 'gavel', { kind: 'flat-out' })
      await finalOrRecovered(service, environment, before.ids.length + during.ids.length)
      const subjects = new Set((await verdictsOf(environment)).map(({ subjectId }) => subjectId))
      expect([...subjects].sort()).toEqual([...before.ids, ...during.ids].sort())
      await service.kill('SIGTERM')
      expect(service.log.join('\n')).not.toMatch(SECRET)
    },
    120_000,
  )
})

describe.skipIf(certificates === null)('what does not let Gavel in', () => {
  const files = certificates as Certificates
  let secured: Record<string, string>
  beforeAll(() => {
    secured = securedOn(openOn({}), files)
  })

  /** What is said, in one line, when these settings are changed; the secret is in none. */
  async function saidBy(check: 'kafka' | 'redis', changes: Record<string, string>): Promise<string> {
    const settings = settingsOf({ ...secured, ...changes })
    const said = await (check === 'kafka' ? checkBrokers(settings.kafka) : redisChecked(settings.redis)).then(
      () => 'nothing',
      (error: unknown) => `${(error as Error).name}: ${(error as Error).message}`,
    )
    expect(said).not.toMatch(SECRET)
    expect(said).not.toContain('\n')
    return said
  }
  async function redisChecked(settings: ReturnType<typeof settingsOf>['redis']): Promise<void> {
    const client = connect(settings, () => {}, 'fail-fast')
    try {
      await checkRedis(client, settings)
    } finally {
      client.disconnect()
    }
  }

  it('is explained with the setting to correct, for Redis', async () => {
    expect(await saidBy('redis', {})).toBe('nothing')
    const url = redis?.settings.REDIS_URL ?? ''
    expect(await saidBy('redis', { REDIS_URL: url.replace('//', '//gavel:canary4wrong@') })).toMatch(
      /^OperatorError: .*rejected the user and password: set redis.username/,
    )
    expect(await saidBy('redis', { REDIS_URL: url })).toMatch(/requires a password: set redis.username/)
    expect(await saidBy('redis', { GAVEL_REDIS_TLS_CA: files.otherCa })).toMatch(/not signed by .*: set redis.tls.ca/)
    expect(await saidBy('redis', { GAVEL_REDIS_TLS_CA: '' })).toMatch(/not signed by .*: set redis.tls.ca/)
    expect(await saidBy('redis', { GAVEL_REDIS_TLS_SERVER_NAME: 'other.test' })).toMatch(/set redis.tls.serverName/)
    expect(await saidBy('redis', { GAVEL_REDIS_TLS_SERVER_NAME: 'gavel.test' })).toBe('nothing')
    expect(await saidBy('redis', { GAVEL_REDIS_TLS_CA: `${files.ca}.gone` })).toMatch(/redis.tls.ca: .*ENOENT/)
    expect(await saidBy('redis', { REDIS_URL: url.replace('rediss', 'redis'), GAVEL_REDIS_TLS_CA: '' })).toMatch(
      /The server uses TLS: set redis.tls.enabled to true/,
    )
  })

  it('is explained with the setting to correct, for Kafka', async ({ skip }) => {
    if (kafka === undefined) return skip()
    const off = { GAVEL_KAFKA_TLS_ENABLED: '', GAVEL_KAFKA_TLS_CA: '' }
    const noUser = { GAVEL_KAFKA_SASL_MECHANISM: '', GAVEL_KAFKA_SASL_USERNAME: '', GAVEL_KAFKA_SASL_PASSWORD: '' }
    expect(await saidBy('kafka', {})).toBe('nothing')
    expect(
      await saidBy('kafka', { GAVEL_KAFKA_SASL_MECHANISM: 'plain', GAVEL_KAFKA_SASL_PASSWORD: KAFKA_PASSWORD }),
    ).toBe('nothing')
    const wrong = { GAVEL_KAFKA_SASL_PASSWORD: 'canary4wrong' }
    expect(await saidBy('kafka', wrong)).toMatch(
      /^OperatorError: .*rejected the user and password: set kafka.sasl.username/,
    )
    expect(await saidBy('kafka', { ...wrong, GAVEL_KAFKA_SASL_MECHANISM: 'plain' })).toMatch(
      /rejected the user and password/,
    )
    expect(await saidBy('kafka', { GAVEL_KAFKA_SASL_MECHANISM: 'scram-sha-256' })).toMatch(
      /scram-sha-256 is not enabled there: set kafka.sasl.mechanism/,
    )
    expect(await saidBy('kafka', { GAVEL_KAFKA_TLS_CA: files.otherCa })).toMatch(/not signed by .*: set kafka.tls.ca/)
    expect(await saidBy('kafka', off)).toMatch(/The server uses TLS: set kafka.tls.enabled to true/)
    expect(await saidBy('kafka', noUser)).toMatch(/requires SASL: set kafka.sasl.mechanism/)
    const open = { KAFKA_BROKERS: kafka.openAddress }
    expect(await saidBy('kafka', open)).toMatch(/The server does not use TLS: set kafka.tls.enabled to false/)
    expect(await saidBy('kafka', { ...open, ...off })).toMatch(/does not use SASL: set kafka.sasl.mechanism to none/)
  })

  it('is let in by Kafka with the password of the time, by a client that was refused before', async ({ skip }) => {
    if (kafka === undefined) return skip()
    const { kafka: right } = settingsOf(secured)
    const { kafka: wrong } = settingsOf({ ...secured, GAVEL_KAFKA_SASL_PASSWORD: 'canary4wrong' })
    const sasl = { ...wrong.sasl }
    const client = kafkaClient({ ...wrong, sasl }, 'rotating', () => {})
    const tries = async () => {
      const admin = client.admin({ retry: { retries: 0 } })
      const said = await admin.connect().then(() => 'connected', String)
      await admin.disconnect()
      return said
    }
    expect(await tries()).toContain('SASL')
    Object.assign(sasl, right.sasl)
    expect(await tries()).toBe('connected')
  })

  it('is reported by the doctor too', async () => {
    const settings = settingsOf({ ...secured, GAVEL_REDIS_TLS_CA: files.otherCa, GAVEL_KAFKA_TLS_CA: files.otherCa })
    const told: string[] = []
    const terminal = { out: (line: unknown) => void told.push(String(line)), say() {}, progress() {} }
    const io = { terminal, signal: new AbortController().signal }
    await expect(perform(doctor, settings, [], { json: true }, io)).rejects.toThrow('mend what is BROKEN')
    const findings = JSON.parse(told.join('')) as Finding[]
    const of = (name: string) => findings.find(({ what }) => what === name)
    expect(of('Redis')).toMatchObject({ state: 'broken', detail: expect.stringContaining('set redis.tls.ca') })
    if (kafka !== undefined)
      expect(of('Kafka')).toMatchObject({ state: 'broken', detail: expect.stringContaining('set kafka.tls.ca') })
  })

  it('ends the service with one line that says so, and exit code 1', async () => {
    const url = redis?.settings.REDIS_URL?.replace('//', '//gavel:canary4wrong@') ?? ''
    const end = await startService({ ...secured, REDIS_URL: url, GAVEL_LOG_LEVEL: 'silent' }).catch(String)
    expect(end).toMatch(
      /ended with 1:\n\{[^\n]*"why":"Redis does not answer at [^\n]*rejected the user and password: set [^\n]*$/,
    )
    expect(end).not.toMatch(SECRET)
  })
})

describe('settings that would be passed over', () => {
  const faults: [string, Record<string, string>, string][] = [
    ['an authority for Kafka without TLS', { GAVEL_KAFKA_TLS_CA: '/ca.pem' }, 'kafka.tls.enabled'],
    [
      'an authority for Redis without TLS',
      { REDIS_URL: 'redis://a', GAVEL_REDIS_TLS_CA: '/ca.pem' },
      'redis.tls.enabled',
    ],
    ['a certificate without its key', { REDIS_URL: 'rediss://a', GAVEL_REDIS_TLS_CERT: '/c.pem' }, 'redis.tls.key'],
    ['a password without a mechanism', { GAVEL_KAFKA_SASL_PASSWORD: 'canary4x' }, 'kafka.sasl.mechanism'],
    ['a mechanism without a password', { GAVEL_KAFKA_SASL_MECHANISM: 'plain' }, 'kafka.sasl.password'],
    ['a cluster beside a URL', { REDIS_URL: 'redis://a', GAVEL_REDIS_CLUSTER: 'b:1' }, 'redis'],
    ['a password that breaks the URL', { REDIS_URL: 'redis://u:canary4?x@a' }, 'redis.url'],
    ['a password with half an escape', { REDIS_URL: 'redis://u:canary4%@a' }, 'redis.url'],
  ]
  it.each(faults)('are faults: %s', (_, environment, path) => {
    let said = ''
    try {
      settingsOf(environment)
    } catch (error) {
      said = String(error)
    }
    expect(said).toContain(`${path}: `)
    expect(said).not.toMatch(SECRET)
  })
})
