import type { Consumer, ConsumerRunConfig, EachBatchPayload, Kafka } from 'kafkajs'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { groupReader } from '../../consumers/group-reader.ts'
import type { Events } from '../../src/ports/report.ts'

const SETTINGS = {
  group: 'g',
  topics: ['posts'],
  sessionTimeoutMs: 6_000,
  maxBytesPerPartition: 1_000,
  fetchBytes: 1,
  fetchWaitMs: 250,
  partitionsAtOnce: 2,
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Consumers as kafkajs makes them, as far as their life goes; the test decides over it. */
function fakeKafka() {
  const consumers: ReturnType<typeof fakeConsumer>[] = []
  const world = { reachable: true, connecting: Promise.resolve() }

  function fakeConsumer() {
    const listeners = new Map<string, (event: { payload: unknown }) => void>()
    const steps: string[] = []
    let run: ConsumerRunConfig | undefined
    const needsRun = (what: string) => {
      if (run === undefined) throw new Error('Consumer group was not initialized, consumer#run must be called first')
      steps.push(what)
    }
    const consumer = {
      events: { CRASH: 'crash', GROUP_JOIN: 'join' },
      on: (name: string, listen: (event: { payload: unknown }) => void) => void listeners.set(name, listen),
      async connect() {
        await world.connecting
        if (!world.reachable) throw new Error('no broker')
      },
      subscribe: async () => {},
      async run(config: ConsumerRunConfig) {
        run = config
      },
      disconnect: async () => void steps.push('disconnect'),
      pause: () => needsRun('pause'),
      resume: () => needsRun('resume'),
      commitOffsets: async (offsets: unknown) => void steps.push(`commit ${JSON.stringify(offsets)}`),
    }
    return {
      consumer: consumer as unknown as Consumer,
      steps,
      join: () => listeners.get('join')?.({ payload: { memberAssignment: { posts: [0, 1] } } }),
      crash: () => listeners.get('crash')?.({ payload: { error: new Error('crashed'), restart: false } }),
      batch(change: Partial<EachBatchPayload> = {}) {
        const payload = {
          batch: {
            topic: 'posts',
            partition: 1,
            highWatermark: '8',
            messages: ['6', '7'].map((offset) => ({ offset, key: null, value: null, timestamp: '5', headers: {} })),
            lastOffset: () => '7',
          },
          heartbeat: async () => {},
          isRunning: () => true,
          isStale: () => false,
          resolveOffset: (offset: string) => void steps.push(`resolve ${offset}`),
          ...change,
        }
        return run?.eachBatch?.(payload as unknown as EachBatchPayload)
      },
    }
  }
  const kafka = {
    consumer() {
      const one = fakeConsumer()
      consumers.push(one)
      return one.consumer
    },
  }
  return { kafka: kafka as unknown as Kafka, consumers, world }
}

function setUp() {
  const { kafka, consumers, world } = fakeKafka()
  const troubles: Events['trouble:met'][] = []
  const reader = groupReader({
    kafka,
    settings: SETTINGS,
    clock: Date.now,
    report: (name, event) => {
      if (name === 'trouble:met') troubles.push(event as Events['trouble:met'])
    },
  })
  const last = () => {
    const one = consumers.at(-1)
    if (one === undefined) throw new Error('there is no consumer')
    return one
  }
  return { reader, consumers, world, troubles, last }
}
const nothing = async () => {}

it('resolves and commits behind the batch when it has been handled, in this order', async () => {
  const { reader, last } = setUp()
  await reader.start(async (batch) => {
    last().steps.push(`handle ${batch.messages.map(({ offset }) => offset).join()} ${batch.atEnd}`)
  })
  await last().batch()
  expect(last().steps).toEqual(['handle 6,7 true', 'resolve 7'])
  await vi.advanceTimersByTimeAsync(250)
  expect(last().steps).toEqual([
    'handle 6,7 true',
    'resolve 7',
    'commit [{"topic":"posts","partition":1,"offset":"8"}]',
  ])
})

it('resolves and commits nothing when the handling fails, and lets kafkajs know', async () => {
  const { reader, last } = setUp()
  await reader.start(async () => {
    throw new Error('Redis is away')
  })
  await expect(last().batch()).rejects.toThrow('Redis is away')
  expect(last().steps).toEqual([])
})

it('handles no batch of a consumer that stops, nor one from before a seek', async () => {
  const { reader, last } = setUp()
  const handle = vi.fn(nothing)
  await reader.start(handle)
  await last().batch({ isRunning: () => false })
  await last().batch({ isStale: () => true })
  expect(handle).not.toHaveBeenCalled()
  expect(last().steps).toEqual([])
})

it('replaces a consumer that crashed, says since when it is down, and forgets what was its', async () => {
  const { reader, consumers, last, troubles } = setUp()
  const began = Date.now()
  expect(reader.downSince).toBe(began)
  await reader.start(nothing)
  last().join()
  expect(reader.downSince).toBeNull()
  await vi.advanceTimersByTimeAsync(60_000)
  last().crash()
  expect(reader.downSince).toBe(began + 60_000)
  expect(await reader.positions()).toEqual([])
  expect(troubles).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(consumers).toHaveLength(2)
  expect(reader.downSince).toBe(began + 60_000)
  last().join()
  expect(reader.downSince).toBeNull()
})

it('goes on trying while no broker is there, less and less often, and is paused still when one is', async () => {
  const { reader, consumers, world, last } = setUp()
  world.reachable = false
  await reader.start(nothing)
  reader.setPaused(true)
  await vi.advanceTimersByTimeAsync(120_000)
  expect(consumers.length).toBeGreaterThan(10)
  expect(consumers.length).toBeLessThan(30)
  world.reachable = true
  await vi.advanceTimersByTimeAsync(15_000)
  last().join()
  expect(last().steps).toEqual(['pause'])
  reader.setPaused(false)
  expect(last().steps).toEqual(['pause', 'resume'])
})

it('ignores a second crash of a consumer that it has replaced', async () => {
  const { reader, consumers, last } = setUp()
  await reader.start(nothing)
  const first = last()
  first.crash()
  await vi.advanceTimersByTimeAsync(1_000)
  last().join()
  first.crash()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(consumers).toHaveLength(2)
  expect(reader.downSince).toBeNull()
})

it('can be paused at any moment, also while a consumer is connecting', async () => {
  const { reader, world, last } = setUp()
  const connected = Promise.withResolvers<void>()
  world.connecting = connected.promise
  const started = reader.start(nothing)
  expect(() => reader.setPaused(true)).not.toThrow()
  connected.resolve()
  await started
  last().join()
  expect(last().steps).toEqual(['pause'])
})

it('is replaced as quickly as the first time once it has worked', async () => {
  const { reader, consumers, last } = setUp()
  await reader.start(nothing)
  for (let crash = 0; crash < 6; crash++) {
    last().join()
    await vi.advanceTimersByTimeAsync(3_600_000)
    last().crash()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(consumers).toHaveLength(crash + 2)
  }
})

it('stays closed: a consumer that died just before is not replaced', async () => {
  const { reader, consumers, last } = setUp()
  await reader.start(nothing)
  last().join()
  last().crash()
  await reader.close()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(consumers).toHaveLength(1)
})

it('stays closed: a consumer that was connecting is let go', async () => {
  const { reader, world, consumers, last } = setUp()
  const connected = Promise.withResolvers<void>()
  world.connecting = connected.promise
  const started = reader.start(nothing)
  await reader.close()
  connected.resolve()
  await started
  await vi.advanceTimersByTimeAsync(60_000)
  expect(consumers).toHaveLength(1)
  expect(last().steps).toContain('disconnect')
  expect(last().steps).not.toContain('commit')
})
