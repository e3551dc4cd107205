import { afterEach, expect, it } from 'vitest'
import { type Stack, startStack } from '../../src/kit/stack/stack.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { environmentOn, eventually, type Service, startService, tell } from '../support/pipeline.ts'

let stack: Stack | undefined
let service: Service | undefined
afterEach(async () => {
  await service?.kill('SIGKILL')
  await stack?.close()
})

it.each(['memory', 'apache'] as const)(
  'a service that is told to stop logs no error where there is none: %s',
  {
    timeout: 300_000,
  },
  async (kafka) => {
    stack = await startStack({}, { kafka, say: tell, understudy: { latencyMs: 10 } })
    const stopped = await startService(environmentOn(stack, { GAVEL_LOG_LEVEL: 'info' }))
    service = stopped
    const ready = async () => (await fetch(`http://127.0.0.1:${stopped.httpPort}/health/ready`)).ok
    await eventually(ready, 20_000, () => stopped.log.join('\n'))
    const before = stopped.log.length
    await stopped.kill('SIGTERM')
    expect(stopped.process.exitCode).toBe(0)
    const told = stopped.log.slice(before).map((line) => JSON.parse(line) as { level: number; event: string })
    expect(told.filter(({ level }) => level > 30)).toEqual([])
    expect(told.map(({ event }) => event)).toEqual(['service:stopping', 'service:stopped'])
  },
)

it('a service that Redis keeps from ending is cut off, and says so in its last line and its exit code', async () => {
  stack = await startStack({}, { kafka: 'memory', say: tell, understudy: { latencyMs: 10 } })
  const stopped = await startService(environmentOn(stack, { GAVEL_LOG_LEVEL: 'info', GAVEL_DRAIN: '1s' }))
  service = stopped
  const redis = connect(stack.settings.REDIS_URL ?? '', () => {}, 'retrying')
  await redis.client('PAUSE', 60_000)
  await stopped.kill('SIGTERM')
  redis.disconnect()
  expect(stopped.process.exitCode).toBe(1)
  await eventually(
    async () => stopped.log.at(-1)?.includes('service:cut-off') === true,
    5_000,
    () => stopped.log.join('\n'),
  )
  expect(JSON.parse(stopped.log.at(-1) ?? '')).toMatchObject({ level: 'error', calls: 0 })
})
