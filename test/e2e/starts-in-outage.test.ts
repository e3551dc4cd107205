import { createServer } from 'node:net'
import { afterEach, expect } from 'vitest'
import { freePort, type RestartableServer } from '../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { onServers } from '../support/on-servers.ts'
import { environmentOn, eventually, type Service, startService } from '../support/pipeline.ts'
import type { Servers } from '../support/servers.ts'

const it = onServers({}, 'memory')
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function health(port: number, page: 'live' | 'ready') {
  const response = await fetch(`http://127.0.0.1:${port}/health/${page}`)
  const said = (await response.json()) as { checks: Record<string, string>; process?: object }
  return { ...said, status: response.status }
}

async function isListening(port: number): Promise<boolean> {
  return health(port, 'live').then(
    () => true,
    () => false,
  )
}

/** Everything but Redis, which would have to be on `redisPort`. */
async function withoutRedis(stack: Servers) {
  const [port, redisPort] = [await freePort(), await freePort()]
  const environment = environmentOn(stack, {
    REDIS_URL: `redis://127.0.0.1:${redisPort}`,
    GAVEL_HTTP_PORT: String(port),
  })
  return { environment, port, redisPort }
}

it('with --wait-for-dependencies a process waits, live and not ready, then works; a later outage restarts nobody', {
  timeout: 90_000,
}, async ({ stack }) => {
  const { environment, port, redisPort } = await withoutRedis(stack)
  const starting = startService(environment, 'intake,judge,publish', undefined, ['--wait-for-dependencies'])
  await eventually(() => isListening(port), 20_000)
  expect((await health(port, 'live')).status).toBe(200)
  await eventually(async () => 'redis' in (await health(port, 'ready')).checks, 20_000)
  const waiting = await health(port, 'ready')
  expect(waiting.status).toBe(503)
  expect(Object.keys(waiting.checks)).toEqual(['redis'])
  expect(waiting.checks.redis).toContain(`127.0.0.1:${redisPort}`)
  expect(waiting.process).toMatchObject({ gavel: 'gavel', roles: ['intake', 'judge', 'publish'] })

  const redis: RestartableServer = await startRedis({ say: () => {}, port: redisPort })
  closing.push(() => redis.close())
  const service: Service = await starting
  closing.push(() => service.kill('SIGKILL'))
  await eventually(async () => (await health(port, 'ready')).status === 200, 20_000)
  const said = service.log.map(
    (line) => JSON.parse(line) as { event: string; process?: string; identity?: object; for?: object },
  )
  const waitedFor = said.flatMap(({ event, for: what }) => (event === 'service:waiting' ? [what] : []))
  expect(waitedFor).toContainEqual({ redis: expect.any(String) })
  for (const line of said) expect(line.process).toMatch(/^gavel@\S+:\d+$/)
  expect(said[0]?.identity).toMatchObject({ gavel: 'gavel', version: expect.any(String) })

  await redis.kill()
  await eventually(async () => (await health(port, 'ready')).status === 503, 20_000)
  expect((await health(port, 'live')).status).toBe(200)
})

it('a process that waits for its dependencies says so, too, while what it reached is silent', async ({ stack }) => {
  const { environment, port, redisPort } = await withoutRedis(stack)
  const silent = createServer((socket) => socket.on('error', () => {}).resume())
  await new Promise<void>((resolve) => silent.listen(redisPort, '127.0.0.1', resolve))
  closing.push(async () => silent.close())
  startService(environment, 'judge', undefined, ['--wait-for-dependencies'], (child) => {
    closing.push(async () => child.kill('SIGKILL'))
  }).catch(() => {})
  await eventually(() => isListening(port), 12_000)
  expect((await health(port, 'ready')).checks).toEqual({ dependencies: 'have not all answered yet' })
  await eventually(async () => 'redis' in (await health(port, 'ready')).checks, 20_000)
  expect((await health(port, 'ready')).checks.redis).toContain('answers nothing')
})

it('a process that waits for its dependencies ends on SIGTERM', async ({ stack }) => {
  const { environment, port } = await withoutRedis(stack)
  let ended: unknown
  const service = startService(environment, 'judge', undefined, ['--wait-for-dependencies'], (child) => {
    closing.push(async () => child.kill('SIGKILL'))
    void eventually(() => isListening(port), 20_000).then(() => child.kill('SIGTERM'))
  }).catch((error: unknown) => {
    ended = error
  })
  await service
  expect(String(ended)).toContain('the service ended with')
  expect(String(ended)).toContain('service:waiting')
  expect(await isListening(port)).toBe(false)
})

it('without that option a process names at once what is missing', async ({ stack }) => {
  const { environment, redisPort } = await withoutRedis(stack)
  await expect(startService(environment)).rejects.toThrow(`Redis does not answer at redis://127.0.0.1:${redisPort}`)
})
