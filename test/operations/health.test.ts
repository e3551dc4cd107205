import { expect, it, vi } from 'vitest'
import { healthOf, redisWatch } from '../../src/operations/health.ts'
import { namedLoops } from '../../src/operations/loop.ts'

const MINUTE = 60_000
const PROCESS = { gavel: 'g', version: '1', settings: 'f00', host: 'h', roles: ['judge'] }

function setUp() {
  const world = {
    now: 0,
    redisAnswers: true,
    says: 'away',
    downSince: null as number | null,
    problem: null as string | null,
    refusal: null as string | null,
    risk: null as string | null,
    closed: null as string | null,
    run: null as { loop: string; ms: number } | null,
    isStopping: false,
  }
  const { live, ready } = healthOf({
    redis: redisWatch(
      { ping: async () => (world.redisAnswers ? 'PONG' : Promise.reject(new Error(world.says))) },
      () => world.refusal,
    ),
    downSince: () => world.downSince,
    publication: () => world.closed,
    problem: () => world.problem,
    risk: () => world.risk,
    isStopping: () => world.isStopping,
    loops: { longestRun: () => world.run },
    clock: () => world.now,
    process: PROCESS,
  })
  return { world, live, ready }
}

it('an outage of Kafka or Redis makes a process not ready, and restarts nobody', async () => {
  const { world, live, ready } = setUp()
  world.now = 95 * MINUTE
  world.downSince = 0
  expect((await live()).ok).toBe(true)
  expect(await ready()).toEqual({
    ok: false,
    checks: { redis: 'answers', consumer: 'joining for 5700 s' },
    process: PROCESS,
  })
  world.downSince = null
  world.redisAnswers = false
  world.run = { loop: 'opener', ms: 60 * MINUTE }
  expect((await live()).ok).toBe(true)
  expect(await ready()).toMatchObject({ ok: false, checks: { redis: 'does not answer' } })
})

it('a process that was told to stop is not ready and stays live, whatever has been closed', async () => {
  const { world, live, ready } = setUp()
  ;[world.isStopping, world.redisAnswers, world.run] = [true, false, { loop: 'opener', ms: 60 * MINUTE }]
  expect(await ready()).toEqual({ ok: false, checks: { process: 'stopping' }, process: PROCESS })
  expect(await live()).toEqual({ ok: true, checks: { process: 'stopping' } })
})

it('a loop that does not end while Redis answers makes a process dead', async () => {
  const { world, live } = setUp()
  world.run = { loop: 'opener', ms: 5 * MINUTE }
  expect((await live()).ok).toBe(true)
  world.run = { loop: 'opener', ms: 5 * MINUTE + 1 }
  expect(await live()).toEqual({ ok: false, checks: { loops: 'opener: no end for 300 s' } })
})

it('a loop that waited for Redis gets its time anew', async () => {
  const { world, live } = setUp()
  world.redisAnswers = false
  world.run = { loop: 'opener', ms: 20 * MINUTE }
  await live()
  world.redisAnswers = true
  world.now = 4 * MINUTE
  expect((await live()).ok).toBe(true)
  world.now = 6 * MINUTE
  expect((await live()).ok).toBe(false)
})

it('the longest run is that of the loop that began first and has not ended', async () => {
  const loops = namedLoops(() => {})
  expect(loops.longestRun()).toBeNull()
  const ends: (() => void)[] = []
  loops.start('opener', 1, async () => {})
  for (const name of ['clock', 'reconciler'] as const) {
    loops.start(name, MINUTE, () => new Promise<void>((resolve) => ends.push(resolve)))
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  expect(loops.longestRun()?.loop).toBe('clock')
  ends[0]?.()
  await vi.waitFor(() => expect(loops.longestRun()?.loop).toBe('reconciler'))
  ends[1]?.()
  await loops.close()
})

it('what Redis refuses is named, whether the page hears it or the watch has, and so is a risk that is accepted', async () => {
  const { world, ready } = setUp()
  const redis = async () => (await ready()).checks.redis
  world.risk = 'takes writes without a replica (accepted)'
  expect(await ready()).toMatchObject({ ok: true, checks: { redis: `answers; ${world.risk}` } })
  world.redisAnswers = false
  world.says = 'MISCONF Redis is configured to save RDB snapshots, but it is not able to persist on disk.'
  expect(await redis()).toContain("can't write to its disk")
  world.says = 'MASTERDOWN Link with MASTER is down'
  expect(await redis()).toContain('lost its master')
  world.says = 'no answer after 4 tries'
  world.refusal = 'Redis is loading its data'
  expect(await redis()).toBe('Redis is loading its data')
})
