import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApacheKafka, startApacheKafka } from '../../src/kit/stack/servers/apache-kafka.ts'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { startUnderstudy, type Understudy } from '../../src/kit/understudy/server.ts'
import { checkRedis, connect } from '../../src/store/redis/connect.ts'
import '../e2e/secured.test.ts'
import { makeCertificates } from '../support/certificates.ts'
import { expectJudged, finalOrRecovered, handful } from '../support/handful.ts'
import {
  environmentOn,
  eventually,
  type Service,
  send,
  settingsOf,
  startService,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'
import { startRedisCluster, startRedisSentinel } from '../support/redis-servers.ts'

const PASSWORD = 'canary4all'

const certificates = makeCertificates()
if (certificates === null) throw new Error('These proofs take openssl, to make certificates with.')
let kafka: ApacheKafka
let understudy: Understudy
beforeAll(async () => {
  understudy = await startUnderstudy({ latencyMs: 5 })
  kafka = await startApacheKafka({
    say: tell,
    secured: { keyStore: certificates.keyStore, plain: { gavel: PASSWORD }, scram: {} },
  })
})
afterAll(async () => {
  await kafka?.close()
  await understudy?.close()
})

const openOn = (changes: Record<string, string>) =>
  environmentOn({ settings: { KAFKA_BROKERS: kafka.openAddress, ...understudy.settings } }, changes)

async function judges(environment: Record<string, string>, reader = environment): Promise<void> {
  let service: Service | undefined
  try {
    service = await startService(environment)
    await expectJudged(environment, reader)
    await service.kill('SIGTERM')
    expect(service.log.join('\n')).not.toContain(PASSWORD)
  } finally {
    await service?.kill('SIGKILL')
  }
}

describe('the service judges', () => {
  it('on a Redis that wants a certificate of the client’s, and Kafka with a plain password over TLS', async () => {
    const redis = await startRedis({ say: tell, tls: certificates, args: ['--tls-auth-clients', 'yes'] })
    try {
      const reader = openOn({})
      const environment = {
        ...reader,
        ...kafka.settings,
        ...redis.settings,
        GAVEL_KAFKA_TLS_ENABLED: 'true',
        GAVEL_KAFKA_TLS_CA: certificates.ca,
        GAVEL_KAFKA_TLS_SERVER_NAME: 'gavel.test',
        GAVEL_KAFKA_SASL_MECHANISM: 'plain',
        GAVEL_KAFKA_SASL_USERNAME: 'gavel',
        GAVEL_KAFKA_SASL_PASSWORD: PASSWORD,
        GAVEL_REDIS_TLS_CA: certificates.ca,
      }
      const own = { GAVEL_REDIS_TLS_CERT: certificates.cert, GAVEL_REDIS_TLS_KEY: certificates.key }
      await judges({ ...environment, ...own }, reader)
      const { redis: without } = settingsOf(environment)
      const client = connect(without, () => {}, 'fail-fast')
      await expect(checkRedis(client, without)).rejects.toThrow(/set redis.tls.cert and redis.tls.key/)
      client.disconnect()
    } finally {
      await redis.close()
    }
  })

  it('on a cluster of Redis with TLS and a password', async () => {
    const cluster = await startRedisCluster(PASSWORD, certificates)
    try {
      const tls = { GAVEL_REDIS_TLS_ENABLED: 'true', GAVEL_REDIS_TLS_CA: certificates.ca }
      await judges(openOn({ ...cluster.settings, ...tls, GAVEL_REDIS_PASSWORD: PASSWORD }))
    } finally {
      await cluster.close()
    }
  })
})

it('goes on with "gavel recover" after a failover to a replica that was behind', async () => {
  const sentinel = await startRedisSentinel(PASSWORD)
  const environment = openOn(sentinel.settings)
  const service = await startService(environment)
  const [master, replica] = sentinel.servers.map(({ settings }) => {
    const url = new URL(settings.REDIS_URL ?? '')
    return new Redis({ host: url.hostname, port: Number(url.port), password: PASSWORD })
  })
  try {
    const [before, during] = [handful(), handful()]
    await send(environment, before.file, 'gavel', { kind: 'flat-out' })
    await replica?.config('SET', 'masterauth', 'wrong')
    await master?.call('CLIENT', 'KILL', 'TYPE', 'replica')
    await eventually(async () => (await verdictsOf(environment)).length > 0, 20_000)
    master?.disconnect()
    await sentinel.servers[0]?.kill()
    await send(environment, during.file, 'gavel', { kind: 'flat-out' })
    expect(await finalOrRecovered(service, environment, before.ids.length + during.ids.length)).toBe(true)
    await service.kill('SIGTERM')
  } finally {
    for (const client of [master, replica]) client?.disconnect()
    await service.kill('SIGKILL')
    await sentinel.close()
  }
}, 120_000)

describe('while Redis is away', () => {
  it('commands on a cluster fail or wait, and go through when it is back, on the connections that were open', async () => {
    const cluster = await startRedisCluster()
    const settings = settingsOf(cluster.settings).redis
    const [failFast, retrying] = (['fail-fast', 'retrying'] as const).map((kind) => connect(settings, () => {}, kind))
    if (failFast === undefined || retrying === undefined) throw new Error('no clients')
    try {
      await Promise.all([failFast.set('{gavel}:a', 1), retrying.set('{gavel}:a', 1)])
      await Promise.all(cluster.servers.map((server) => server.kill()))
      await sleep(500)
      // What is under way while the last node goes fails on both; what comes after it waits on the retrying one.
      await within(retrying.set('{gavel}:a', 2)).catch(() => undefined)
      await sleep(1_000)
      const waiting = retrying.set('{gavel}:a', 3).then(
        () => 'done',
        (error: unknown) => String(error),
      )
      await expect(within(failFast.get('{gavel}:a'))).rejects.toThrow(/no answer after|redirections|closed/)
      expect(await Promise.race([waiting, sleep(2_000, 'waits')])).toBe('waits')
      await Promise.all(cluster.servers.map((server) => server.restart()))
      expect(await within(waiting, 30_000)).toBe('done')
      expect(await within(failFast.get('{gavel}:a'))).toBe('3')
    } finally {
      failFast.disconnect()
      retrying.disconnect()
      await cluster.close()
    }
  })

  it('a fail-fast command fails where no sentinel answers', async () => {
    const { redis } = settingsOf({ GAVEL_REDIS_SENTINELS: `127.0.0.1:${await freePort()}` })
    const client = connect(redis, () => {}, 'fail-fast')
    await expect(within(client.get('{gavel}:a'))).rejects.toThrow('no answer after 4 tries')
    client.disconnect()
  })
})

/** Fails if it takes longer, so that a command that hangs is told from one that fails. */
async function within<Result>(work: Promise<Result>, ms = 15_000): Promise<Result> {
  const late = sleep(ms, undefined, { ref: false }).then(() => {
    throw new Error(`still not done after ${ms} ms`)
  })
  return Promise.race([work, late])
}
