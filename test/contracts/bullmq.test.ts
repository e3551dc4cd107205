import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Events, Report } from '../../src/contracts/ports/report.ts'
import type { StageQueues } from '../../src/contracts/ports/stage-queues.ts'
import type { RestartableServer } from '../../src/kit/stack/servers/local-server.ts'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'
import { bullJobDesk } from '../../src/store/queue/job-desk.ts'
import type { QueueSettings } from '../../src/store/queue/stage-queues.ts'
import { bullQueues } from '../../src/store/queue/workers.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { keysUnder } from '../../src/store/redis/keys.ts'
import { startProxy } from '../chaos/proxy.ts'
import { onRedis } from '../support/on-redis.ts'
import {
  ATTEMPTS,
  alone,
  askOf,
  BACKOFF_MS,
  notedWork,
  STAGES,
  stageQueuesContract,
  strandedIn,
  together,
} from './stage-queues.ts'
import { KILL_SETTINGS } from './worker-settings.ts'

const SOON = { timeout: 10_000, interval: 10 }
const GRACE_MS = 10_000
let server: RestartableServer
let client: Redis
onRedis.beforeAll(({ redis, client: one }) => {
  server = redis
  client = one
})

const freshPrefix = () => keysUnder(`test-${randomUUID()}`).queues

function makeQueues(
  prefix: string,
  change: Partial<QueueSettings> = {},
  ahead = 0,
  report: Report = () => {},
  connection = client,
): StageQueues {
  return bullQueues({
    connection,
    stages: STAGES,
    settings: {
      prefix,
      cases: { concurrency: 8 },
      stages: { default: { concurrency: 8, attempts: ATTEMPTS, backoff: BACKOFF_MS } },
      classes: { waiting: 0.25, rest: 0.5 },
      queues: { lock: 5_000, stalledCheck: 2_500 },
      ...change,
    },
    clock: () => Math.round(performance.timeOrigin + performance.now()) + ahead,
    report,
  })
}

stageQueuesContract('in BullMQ', async () => makeQueues(freshPrefix()))

describe('in BullMQ', () => {
  let prefix: string
  const opened: StageQueues[] = []
  const children: ChildProcess[] = []

  beforeEach(() => {
    prefix = freshPrefix()
  })
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    await Promise.all(opened.splice(0).map((queues) => queues.close(0)))
  })

  function queuesHere(
    ...given: Parameters<typeof makeQueues> extends [string, ...infer Rest] ? Rest : never
  ): StageQueues {
    const queues = makeQueues(prefix, ...given)
    opened.push(queues)
    return queues
  }
  it.each([
    ['a job each', alone],
    ['one job', together],
  ])('a stage runs at most its set number of asks at once, in each process; here %s', async (_, groups) => {
    const queues = queuesHere({
      stages: {
        default: { concurrency: 8, attempts: 1, backoff: 1 },
        'rumor.stance': { concurrency: 2, attempts: 1, backoff: 1 },
      },
    })
    let [now, most] = [0, 0]
    const noted = notedWork((caseId) => Array.from({ length: 6 }, (_, index) => askOf(caseId, `0.${index}`)), {
      groups,
      async answer() {
        most = Math.max(most, ++now)
        await sleep(15)
        now--
        return { end: 'done' }
      },
    })
    queues.work(noted.work)
    await queues.push(['c1', 'c2'])
    await expect.poll(() => noted.advanced.length, SOON).toBe(4)
    expect(most).toBe(2)
  })

  it('lost locks are reported with the cases of their jobs', async () => {
    const lapsed: Events['job:lapsed'][] = []
    const queues = queuesHere({ queues: { lock: 1_000, stalledCheck: 2_500 } }, 0, (name, event) => {
      if (name === 'job:lapsed') lapsed.push(event as Events['job:lapsed'])
    })
    const answering = Promise.withResolvers<void>()
    const noted = notedWork((caseId) => [askOf(caseId, '0.0')], {
      async answer() {
        await answering.promise
        return { end: 'done' }
      },
    })
    queues.work(noted.work)
    await queues.push(['c1', 'c2'])
    try {
      await expect
        .poll(async () => {
          const locks = await client.keys(`${prefix}:*:lock`)
          if (locks.length > 0) await client.del(locks)
          return new Set(lapsed.flatMap(({ caseIds = [] }) => caseIds))
        }, SOON)
        .toEqual(new Set(['c1', 'c2']))
      for (const { jobs, cases } of lapsed) expect(cases).toBe(jobs)
    } finally {
      answering.resolve()
    }
  })

  it('a job that was fetched keeps its lock while others are fetched, however slow the way to Redis is', async () => {
    const to = new URL(server.settings.REDIS_URL ?? '').host
    const way = await startProxy(await freePort(), () => to)
    const slow = connect(`redis://${way.address}`, () => {}, 'retrying')
    try {
      const lapsed: Events['job:lapsed'][] = []
      const jobs = 30
      const queues = queuesHere(
        {
          stages: { default: { concurrency: jobs, attempts: 1, backoff: 1 } },
          queues: { lock: 1_200, stalledCheck: 60_000 },
        },
        0,
        (name, event) => {
          if (name === 'job:lapsed') lapsed.push(event as Events['job:lapsed'])
        },
        slow,
      )
      const noted = notedWork((caseId) => Array.from({ length: jobs }, (_, index) => askOf(caseId, `0.${index}`)), {
        async answer() {
          await sleep(1_500)
          return { end: 'done' }
        },
      })
      await queues.push(['c1'])
      await way.set({ kind: 'delay', ms: 50 })
      queues.work(noted.work)
      await expect.poll(() => noted.answered.length, { timeout: 30_000 }).toBe(jobs)
      await expect.poll(() => noted.advanced.length, SOON).toBe(2)
      expect(lapsed).toEqual([])
    } finally {
      await Promise.all(opened.splice(0).map((queues) => queues.close(0)))
      slow.disconnect()
      await way.close()
    }
  })

  it('a job that was put off keeps its lock where it comes again at once, and others are fetched before it begins', async () => {
    const to = new URL(server.settings.REDIS_URL ?? '').host
    const way = await startProxy(await freePort(), () => to)
    const slow = connect(`redis://${way.address}`, () => {}, 'retrying')
    try {
      let lapsed = 0
      const jobs = 40
      const queues = queuesHere(
        {
          stages: { default: { concurrency: jobs + 1, attempts: 1, backoff: 1 } },
          queues: { lock: 1_200, stalledCheck: 60_000 },
        },
        0,
        (name) => {
          if (name === 'job:lapsed') lapsed++
        },
        slow,
      )
      const fetching = Promise.withResolvers<void>()
      const noted = notedWork(
        (caseId) => Array.from({ length: caseId === 'c1' ? 1 : jobs }, (_, index) => askOf(caseId, `0.${index}`)),
        {
          async answer({ caseId }) {
            if (caseId === 'c1' && noted.answered.length === 1) {
              await fetching.promise
              return { end: 'deferred', delayMs: 0, why: 'a limit' }
            }
            await sleep(1_500)
            return { end: 'done' }
          },
        },
      )
      queues.work(noted.work)
      await queues.push(['c1'])
      await expect.poll(() => noted.answered.length, SOON).toBe(1)
      await way.set({ kind: 'delay', ms: 50 })
      await queues.push(['c2'])
      await expect.poll(async () => (await client.keys(`${prefix}:*:lock`)).length, SOON).toBeGreaterThan(5)
      fetching.resolve()
      await expect.poll(() => noted.answered.length, { timeout: 30_000 }).toBe(jobs + 2)
      await expect.poll(() => noted.advanced.length, SOON).toBe(4)
      expect(lapsed).toBe(0)
    } finally {
      await Promise.all(opened.splice(0).map((queues) => queues.close(0)))
      slow.disconnect()
      await way.close()
    }
  })

  it('a drain begins none of the asks of a job that had no place yet; another worker answers them', async () => {
    const one = { default: { concurrency: 1, attempts: 1, backoff: 1 } }
    const [first, second] = [queuesHere({ stages: one }), queuesHere({ stages: one })]
    const gate = Promise.withResolvers<void>()
    const keys = ['0.0', '0.1', '0.2']
    const draining = notedWork((caseId) => keys.map((key) => askOf(caseId, key)), {
      groups: together,
      async answer() {
        await gate.promise
        return { end: 'done' }
      },
    })
    first.work(draining.work)
    await first.push(['c1'])
    await expect.poll(() => draining.answered.length, SOON).toBe(1)
    const closed = first.close(GRACE_MS)
    gate.resolve()
    await closed
    expect(draining.answered).toHaveLength(1)
    const noted = notedWork(() => [])
    second.work(noted.work)
    await expect.poll(() => noted.answered.map(({ ask }) => ask.key), SOON).toEqual(['0.1', '0.2'])
    expect(noted.answered.map(({ attempt }) => attempt.number)).toEqual([1, 1])
  })

  it('the backlog is how many wait, and how long the oldest has waited', async () => {
    const queues = queuesHere(
      { cases: { concurrency: 1 }, stages: { default: { concurrency: 1, attempts: 1, backoff: 1 } } },
      30_000,
    )
    await queues.push(['c1', 'c2', 'c3'])
    const [cases] = await queues.backlog()
    expect(cases).toMatchObject({ stage: 'case', states: { waiting: 3, active: 0, delayed: 0 } })
    expect(cases?.oldestWaitingSeconds).toBeGreaterThan(25)
    expect(cases?.oldestWaitingSeconds).toBeLessThan(60)
    const noted = notedWork((caseId) => [askOf(caseId, '0.0'), askOf(caseId, '0.1'), askOf(caseId, '0.2', 'judge')], {
      answer: async ({ stage }, { signal }) =>
        stage === 'judge'
          ? { end: 'deferred', delayMs: 60_000 }
          : new Promise((resolve) => signal.addEventListener('abort', () => resolve({ end: 'done' }))),
    })
    queues.work(noted.work)
    const states = async () =>
      Object.fromEntries((await queues.backlog()).map(({ stage, states: counts }) => [stage, counts]))
    await expect.poll(states, SOON).toEqual({
      case: { waiting: 0, active: 0, delayed: 0 },
      stance: { waiting: 5, active: 1, delayed: 0 },
      judge: { waiting: 0, active: 0, delayed: 3 },
      waiting: { waiting: 0, active: 0, delayed: 0 },
      'waiting-case': { waiting: 0, active: 0, delayed: 0 },
    })
  })

  it('a case that is handed back waits from when it may be taken up, not from its beginning', async () => {
    const queues = queuesHere({ cases: { concurrency: 4 } })
    const ending = Promise.withResolvers<void>()
    const { work } = notedWork(() => [], {
      async advance(caseId) {
        if (caseId === 'c1') return { next: 'later', delayMs: 300 }
        await (caseId < 'busy4' ? sleep(1_000) : ending.promise)
        return { next: 'done' }
      },
    })
    await queues.push(['c1'])
    const [job = ''] = await client.keys(`${prefix}:cases:j*`)
    await client.hset(job, 'timestamp', Date.now() - 30_000)
    queues.work(work)
    await expect.poll(async () => (await queues.backlog())[0]?.states.delayed, SOON).toBe(1)
    await queues.push(Array.from({ length: 8 }, (_, at) => `busy${at}`))
    // Four at once; when the first four have ended, c1 waits behind the others.
    await expect
      .poll(async () => (await queues.backlog())[0]?.states, SOON)
      .toEqual({ waiting: 1, active: 4, delayed: 0 })
    const [cases] = await queues.backlog()
    ending.resolve()
    expect(cases?.oldestWaitingSeconds).toBeLessThan(20)
  })

  it('the job of a case that has ended elsewhere can be taken away', async () => {
    const queues = queuesHere()
    queues.work(notedWork(() => [], { advance: async () => ({ next: 'later', delayMs: 60_000 }) }).work)
    await queues.push(['c1'])
    const delayed = async () => (await queues.backlog()).reduce((sum, { states }) => sum + states.delayed, 0)
    await expect.poll(delayed, SOON).toBe(1)
    expect(await strandedIn(queues, ['c1'])).toEqual([])
    await queues.drop(['c1', 'unknown'])
    expect(await delayed()).toBe(0)
    expect(await strandedIn(queues, ['c1'])).toEqual(['c1'])
  })

  it('jobs hold ids and no content, and none is left when all has ended', async () => {
    const queues = queuesHere()
    const noted = notedWork((caseId) => [askOf(caseId)])
    queues.work(noted.work)
    await queues.push(['c1', 'c2'])
    await expect.poll(() => noted.advanced.length, SOON).toBe(4)
    await expect.poll(() => client.keys(`${prefix}:*:j*`), SOON).toEqual([])
  })

  it('another worker goes on where one was closed', async () => {
    const first = queuesHere()
    const left = notedWork((caseId) => [askOf(caseId)], {
      answer: (_, { signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve({ end: 'deferred', delayMs: 0 }))),
    })
    first.work(left.work)
    await first.push(['c1'])
    await expect.poll(() => left.answered.length, SOON).toBe(1)
    await first.close(0)
    const second = queuesHere()
    const noted = notedWork(() => [], { advance: async () => ({ next: 'done' }) })
    second.work(noted.work)
    await expect.poll(() => noted.advanced.length, SOON).toBe(1)
    expect(noted.answered.map(({ attempt }) => attempt.number)).toEqual([1])
  })

  it('a case whose job was lost while it waited is found stranded, and goes on when it is pushed', async () => {
    const queues = queuesHere()
    await queues.push(['lost'])
    const [job = ''] = await client.keys(`${prefix}:cases:j*`)
    await queues.push(['kept'])
    expect(await client.del(job)).toBe(1)
    expect(await strandedIn(queues, ['lost', 'kept'])).toEqual(['lost'])
    await queues.push(['lost'])
    const noted = notedWork((caseId) => [askOf(caseId)])
    queues.work(noted.work)
    // Its id may stand in the queue twice: then it is advanced once more, and asked once all the same.
    const answered = () => noted.answered.filter(({ ask }) => ask.caseId === 'lost').length
    await expect.poll(answered, SOON).toBe(1)
    await expect.poll(() => noted.timesAdvanced('lost'), SOON).toBeGreaterThanOrEqual(2)
    await expect.poll(() => noted.stranded(queues, ['lost']), SOON).toEqual(['lost'])
    expect(answered()).toBe(1)
  })

  it('each ask that has no answer is seen to wait: for a worker, for its time and why, or for a job', async () => {
    const queues = queuesHere()
    const asks = [askOf('c1', '0.0'), askOf('c1', '0.1'), askOf('c1', '0.2', 'judge')]
    const deferredMs: number[] = []
    const noted = notedWork(() => asks, {
      groups: together,
      answer: async ({ key, stage }, { signal, number, heldMs }) => {
        if (stage === 'judge') {
          deferredMs.push(heldMs)
          return { end: 'deferred', delayMs: 3_600_000, why: 'limited: the limit of m is reached' }
        }
        if (key === '0.0' && number === 1) return { end: 'again', why: 'timeout: no answer' }
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ end: 'done' })))
      },
    })
    queues.work(noted.work)
    await queues.push(['c1'])
    const desk = bullJobDesk({ connection: client, prefix, stages: STAGES, clock: Date.now })
    const waits = () => desk.waits([...together(asks), ...alone([askOf('c2')])])
    await expect
      .poll(async () => (await waits()).map(({ state }) => state), SOON)
      .toEqual(['active', 'active', 'deferred', 'none'])
    const [first, second, judged, none] = await waits()
    expect(first).toMatchObject({ key: '0.0', tries: 1, heldMs: 0, why: 'timeout: no answer' })
    expect(second).toMatchObject({ key: '0.1', tries: 0, why: null })
    expect(judged).toMatchObject({ heldMs: 3_600_000, tries: 0, why: 'limited: the limit of m is reached' })
    expect((judged?.readyAt ?? 0) - Date.now()).toBeGreaterThan(3_500_000)
    expect(none).toEqual({ key: '0.0', state: 'none', readyAt: null, tries: 0, heldMs: 0, why: null })
    // Hurried, the deferred one is asked again at once; what a worker has is left as it is.
    const asked = () => noted.answered.filter(({ ask }) => ask.stage === 'judge').length
    expect(asked()).toBe(1)
    expect(await desk.hurry(together(asks))).toBe(1)
    await expect.poll(asked, SOON).toBe(2)
    expect(deferredMs[1], 'what it did not wait does not count as deferred').toBeLessThan(60_000)
    await desk.close()
  })

  it('a case whose asks’ jobs were all lost is found stranded, and goes on when it is pushed', async () => {
    const first = queuesHere()
    const noted = notedWork((caseId) => [askOf(caseId, '0.0'), askOf(caseId, '0.1'), askOf(caseId, '0.2', 'judge')], {
      answer: async () => ({ end: 'deferred', delayMs: 3_600_000 }),
    })
    first.work(noted.work)
    await first.push(['c1'])
    await expect
      .poll(async () => (await first.backlog()).map(({ states }) => states.delayed), SOON)
      .toEqual([0, 2, 1, 0, 0])
    await first.close(0)
    const second = queuesHere()
    for (const [stage, stranded] of [
      ['rumor.stance', []],
      ['rumor.judge', ['c1']],
    ] as const) {
      await client.del(...(await client.keys(`${prefix}:${stage}:*`)))
      expect(await noted.stranded(second, ['c1'])).toEqual(stranded)
    }
    const after = notedWork((caseId) => [askOf(caseId, '1.0')])
    second.work(after.work)
    await second.push(['c1'])
    await expect.poll(() => after.advanced, SOON).toEqual(['c1', 'c1'])
  })

  it('a case whose every key was lost is found stranded', async () => {
    const queues = queuesHere()
    await queues.push(['c1'])
    await client.del(...(await client.keys(`${prefix}:*`)))
    expect(await strandedIn(queues, ['c1'])).toEqual(['c1'])
    await queues.push(['c1'])
    const noted = notedWork((caseId) => [askOf(caseId)])
    queues.work(noted.work)
    await expect.poll(() => noted.advanced.length, SOON).toBe(2)
  })

  it('a job that is deferred on a machine whose clock is ahead runs elsewhere at the right time', async () => {
    const [wrong, right] = [queuesHere(), queuesHere()]
    const real = Date.now.bind(Date)
    const clock = vi.spyOn(Date, 'now')
    try {
      const closed = Promise.withResolvers<void>()
      wrong.work(
        notedWork((caseId) => [askOf(caseId)], {
          async answer() {
            clock.mockImplementation(() => real() + 320_000)
            // It fetches nothing more, so that it can't take up again itself what it puts off.
            wrong.close(1_000).then(closed.resolve, closed.reject)
            return { end: 'deferred', delayMs: 200 }
          },
        }).work,
      )
      await wrong.push(['c'])
      await closed.promise
    } finally {
      clock.mockRestore()
    }
    const noted = notedWork(() => [])
    right.work(noted.work)
    await expect.poll(() => noted.answered.length, SOON).toBe(1)
  })

  it('a killed worker’s case and ask start again elsewhere within 10 s, at no attempt’s cost', async () => {
    const url = server.settings.REDIS_URL ?? ''
    const doomed = spawn(
      process.execPath,
      [fileURLToPath(new URL('./doomed-worker.ts', import.meta.url)), url, prefix],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    children.push(doomed)
    let said = ''
    doomed.stdout?.on('data', (chunk: Buffer) => {
      said += chunk.toString()
    })
    const queues = queuesHere(KILL_SETTINGS)
    await queues.push(['hangs in advance', 'hangs in answer'])
    await expect.poll(() => said.trim().split('\n').sort(), SOON).toEqual(['hangs in advance', 'hangs in answer'])
    const again = new Map<string, number>()
    const noted = notedWork(() => [], {
      async advance(caseId) {
        again.set(`${caseId}, advanced`, performance.now())
        return { next: 'done' }
      },
      async answer({ caseId }) {
        again.set(`${caseId}, asked`, performance.now())
        return { end: 'done' }
      },
    })
    queues.work(noted.work)
    await sleep(2_500)
    expect(again.size, 'a living worker keeps its jobs').toBe(0)
    doomed.kill('SIGKILL')
    const killed = performance.now()
    await expect.poll(() => again.size, { timeout: 20_000, interval: 20 }).toBe(3)
    const seconds = [...again].map(([what, at]) => `${what}: ${((at - killed) / 1_000).toFixed(1)} s`)
    process.stdout.write(`after SIGKILL of a worker, ${seconds.join('; ')}\n`)
    for (const at of again.values()) expect(at - killed).toBeLessThan(10_000)
    expect(noted.answered.map(({ attempt }) => attempt.number)).toEqual([1])
  })
})

/** Lets nothing else run for so long, in ms. */
function occupyLoop(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

describe('an event loop that lags', () => {
  it('lets no lock lapse: locks hold as long as it lags, and fewer slots are taken, which is said', {
    timeout: 30_000,
  }, async () => {
    const said: Events['loop:lagged'][] = []
    let lapsed = 0
    const report: Report = (name, event) => {
      if (name === 'job:lapsed') lapsed++
      if (name === 'loop:lagged') said.push(event as Events['loop:lagged'])
    }
    const queues = makeQueues(freshPrefix(), { queues: { lock: 400, stalledCheck: 60_000 } }, 0, report)
    let answered = 0
    const { work } = notedWork((caseId) => [askOf(caseId, '0.0'), askOf(caseId, '0.1')], {
      async answer() {
        await sleep(4_000)
        answered++
        return { end: 'done' }
      },
    })
    queues.work(work)
    const occupy = async (times: number) => {
      for (let n = 0; n < times; n++) {
        await sleep(300)
        occupyLoop(600)
      }
    }
    await occupy(2)
    await vi.waitFor(() => expect(said.at(-1)?.share).toBeLessThan(1), SOON)
    await queues.push(['c'])
    await occupy(6)
    await vi.waitFor(() => expect(answered).toBeGreaterThan(0), SOON)
    expect(lapsed).toBe(0)
    await queues.close(GRACE_MS)
  })
})
