import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startKafka } from '../../src/kit/stack/servers/kafka.ts'
import type { LocalServer } from '../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { startUnderstudy, type Understudy } from '../../src/kit/understudy/server.ts'
import { sumOf } from '../../src/operations/metrics/samples.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { whyItWaits } from '../../src/store/redis/refusals.ts'
import { expectJudged } from '../support/handful.ts'
import { environmentOn, eventually, type Service, settingsOf, startService, tell } from '../support/pipeline.ts'

const folder = mkdtempSync(join(tmpdir(), 'gavel-refusals-'))
let redis: LocalServer
let kafka: LocalServer & { readonly settings: Record<string, string> }
let understudy: Understudy
let admin: Redis
let service: Service
let environment: Record<string, string>
beforeAll(async () => {
  redis = await startRedis({ say: tell, args: ['--enable-debug-command', 'yes', '--enable-protected-configs', 'yes'] })
  admin = new Redis(redis.settings.REDIS_URL ?? '')
  kafka = await startKafka({ prefer: 'memory', say: () => {} })
  understudy = await startUnderstudy({ latencyMs: 5 })
  environment = environmentOn({ settings: { ...redis.settings, ...kafka.settings, ...understudy.settings } })
  service = await startService(environment)
}, 60_000)
afterAll(async () => {
  await service?.kill('SIGKILL')
  admin?.disconnect()
  await Promise.all([redis, kafka, understudy].map((one) => one?.close()))
  rmSync(folder, { recursive: true, force: true })
})

const page = async (path: string) => {
  const response = await fetch(`http://127.0.0.1:${service.httpPort}${path}`)
  return { status: response.status, text: await response.text() }
}
const fault = async (reason: string) => sumOf((await page('/metrics')).text, 'gavel_redis_fault', { reason })

/** Health, log and metric name it within seconds; and afterwards everything works, with no restart. */
async function expectNamed(word: string, reason: string, end: () => Promise<unknown>): Promise<void> {
  let said = ''
  await eventually(
    async () => {
      const { status, text } = await page('/health/ready')
      said = text
      return status === 503 && text.includes(word) && (await fault(reason)) === 1
    },
    10_000,
    () => `${said}\n${service.log.slice(-10).join('\n')}`,
  )
  const named = service.log.filter((line) => line.includes('"store:refused"') && line.includes(word))
  expect(named).toHaveLength(1)
  await end()
  await eventually(
    async () => (await page('/health/ready')).status === 200,
    15_000,
    () => said,
  )
  expect(await fault(reason)).toBe(0)
}

it('names a disk that is full, and goes on by itself', async () => {
  const disk = join(folder, 'disk')
  mkdirSync(disk)
  const [, before = ''] = (await admin.config('GET', 'dir')) as string[]
  await admin.config('SET', 'dir', disk)
  await admin.config('SET', 'save', '3600 1')
  rmSync(disk, { recursive: true })
  await admin.bgsave()
  await expectNamed('MISCONF', 'disk', async () => {
    await admin.config('SET', 'dir', before)
    await admin.bgsave()
  })
  await admin.config('SET', 'save', '')
  await expectJudged(environment)
})

it('names missing replicas, and goes on by itself', async () => {
  await admin.config('SET', 'min-replicas-to-write', '1')
  await expectNamed('NOREPLICAS', 'no-replicas', () => admin.config('SET', 'min-replicas-to-write', '0'))
})

it('names a replica in the place of a master', async () => {
  await admin.call('REPLICAOF', '127.0.0.1', '1')
  await expectNamed('READONLY', 'read-only', () => admin.call('REPLICAOF', 'NO', 'ONE') as Promise<unknown>)
})

it('names a server that loads its data, also where its clients are kept waiting', async () => {
  await admin.config('SET', 'key-load-delay', '50000', 'loading-process-events-interval-bytes', '1024')
  for (let n = 0; n < 100; n++) await admin.set(`filler-${n}`, 'x'.repeat(1_500))
  const loader = new Redis(redis.settings.REDIS_URL ?? '')
  const loaded = loader.call('DEBUG', 'RELOAD')
  const waiting = connect(settingsOf(environment).redis, () => {}, 'fail-fast')
  await expect.poll(async () => (await whyItWaits(waiting))?.fault, { timeout: 5_000 }).toBe('loading')
  await expectNamed('LOADING', 'loading', () => loaded as Promise<unknown>)
  for (const client of [waiting, loader]) client.disconnect()
  await admin.config('SET', 'key-load-delay', '0')
  expect(await whyItWaits(admin)).toBeNull()
})
