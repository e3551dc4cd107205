import type { Consumer, ConsumerRunConfig, EachBatchPayload, Kafka } from 'kafkajs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { groupReader } from '../../consumers/group-reader.ts'
import type { Events } from '../../src/contracts/ports/report.ts'

const SETTINGS = {
  group: 'g',
  topics: ['posts'],
  sessionTimeout: 6_000,
  maxBytesPerPartition: 1_000,
  fetchBytes: 1,
  fetchWait: 250,
  partitions: 2,
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const HEARTBEAT_MS = 2_000
const BOTH = { posts: [0, 1] }

/** Consumers as kafkajs makes them, as far as their life goes; the test decides over it. */
function fakeKafka() {
  const consumers: ReturnType<typeof fakeConsumer>[] = []
  const world = { reachable: true, connecting: Promise.resolve(), commits: true }

  function fakeConsumer() {
    const listeners = new Map<string, (event: { payload: unknown }) => void>()
    const steps: string[] = []
    let run: ConsumerRunConfig | undefined
    let beating: NodeJS.Timeout | undefined
    const tell = (name: string, payload: unknown = {}) => listeners.get(name)?.({ payload })
    const needsRun = (what: string) => {
      if (run === undefined) throw new Error('Consumer group was not initialized, consumer#run must be called first')
      steps.push(what)
    }
    const consumer = {
      events: {
        CRASH: 'crash',
        GROUP_JOIN: 'join',
        HEARTBEAT: 'heartbeat',
        FETCH_START: 'asked',
        FETCH: 'fetched',
        END_BATCH_PROCESS: 'batch ended',
      },
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
      async commitOffsets(offsets: unknown) {
        if (!world.commits) throw new Error('the coordinator moves')
        steps.push(`commit ${JSON.stringify(offsets)}`)
      },
    }
    return {
      consumer: consumer as unknown as Consumer,
      steps,
      /** Joins the group, whose heartbeats are answered from then on. */
      join(memberAssignment: Record<string, number[]> = BOTH) {
        tell('join', { memberAssignment })
        beating ??= setInterval(() => tell('heartbeat'), HEARTBEAT_MS)
      },
      /** No heartbeat is answered any more. */
      fallSilent: () => clearInterval(beating),
      /** One heartbeat is answered. */
      beats: () => tell('heartbeat'),
      asks: (nodeId: string) => tell('asked', { nodeId }),
      fetched: (nodeId: string) => tell('fetched', { nodeId }),
      /** Fetches offsets up to and with this one, none of which holds a record. */
      passesOver: (lastOffset: string) =>
        tell('batch ended', { topic: 'posts', partition: 1, batchSize: 0, lastOffset, highWatermark: '8' }),
      crash() {
        clearInterval(beating)
        tell('crash', { error: new Error('crashed'), restart: false })
      },
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

function setUp(more: { readonly turn?: number } = {}) {
  const { kafka, consumers, world } = fakeKafka()
  const troubles: Events['error'][] = []
  const succeeded: string[] = []
  const assigned: string[][] = []
  const reader = groupReader({
    kafka,
    settings: { ...SETTINGS, ...more },
    clock: Date.now,
    report: (name, event) => {
      if (name === 'error') troubles.push(event as Events['error'])
      if (name === 'partitions:assigned')
        assigned.push((event as Events['partitions:assigned']).partitions.map((one) => `${one.topic}/${one.partition}`))
      if (name === 'loop:succeeded') succeeded.push((event as Events['loop:succeeded']).loop)
    },
  })
  const last = () => {
    const one = consumers.at(-1)
    if (one === undefined) throw new Error('there is no consumer')
    return one
  }
  return { reader, consumers, world, troubles, last, succeeded, assigned }
}
const nothing = async () => {}
/** What `batch()` brings is committed. */
const COMMITTED = 'commit [{"topic":"posts","partition":1,"offset":"8"}]'

/** A reader whose consumer has joined, and whose batches are in work until `end` is called. */
async function setUpInWork() {
  const all = setUp()
  const working = Promise.withResolvers<void>()
  await all.reader.start(() => working.promise)
  all.last().join()
  return { ...all, end: working.resolve }
}

it('resolves and commits behind the batch when it has been handled, in this order', async () => {
  const { reader, last } = setUp()
  await reader.start(async (batch) => {
    last().steps.push(`handle ${batch.messages.map(({ offset }) => offset).join()} ${batch.atEnd}`)
  })
  last().join()
  await last().batch()
  expect(last().steps).toEqual(['resume', 'handle 6,7 true', 'resolve 7'])
  await vi.advanceTimersByTimeAsync(250)
  expect(last().steps).toEqual(['resume', 'handle 6,7 true', 'resolve 7', COMMITTED])
})

/** What a batch of four messages of 1.5 MB each has in place of its own. */
const LARGE = {
  batch: {
    topic: 'posts',
    partition: 1,
    fetchedOffset: '2',
    highWatermark: '8',
    messages: ['3', '4', '5', '6'].map((offset) => ({
      offset,
      key: null,
      value: Buffer.alloc(1_500_000),
      timestamp: '5',
      headers: {},
    })),
    lastOffset: () => '7',
  },
} as unknown as Partial<EachBatchPayload> // as far as it is read

it('resolves and commits a large batch in parts: where the group forms anew, the rest alone is read again', async () => {
  const { reader, last } = setUp()
  const handling = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await reader.start(async ({ messages, from, next, atEnd }) => {
    last().steps.push(`handle ${messages.map(({ offset }) => offset).join()} of ${from} to ${next} ${atEnd}`)
    await handling.shift()?.promise
  })
  last().join()
  handling[0]?.resolve()
  const second = handling[1]
  const consumed = last().batch(LARGE)
  await vi.advanceTimersByTimeAsync(250)
  expect(last().steps.slice(1)).toEqual([
    'handle 3 of 2 to 4 false',
    'resolve 3',
    'handle 4 of 4 to 5 false',
    COMMITTED.replace('"8"', '"4"'),
  ])
  last().join({ posts: [1] })
  second?.resolve()
  await consumed
  await vi.advanceTimersByTimeAsync(250)
  expect(last().steps.slice(5)).toEqual(['resume'])
  // All of it where nothing comes between, and its end where the batch ends.
  await last().batch(LARGE)
  await vi.advanceTimersByTimeAsync(250)
  expect(last().steps.slice(-3)).toEqual(['handle 6 of 6 to 8 true', 'resolve 6', COMMITTED])
})

it('gives others their turn: what it has not handled by then is fetched again', async () => {
  const { reader, last } = setUp({ turn: 250 })
  const messages = Array.from({ length: 1_000 }, (_, nth) => ({
    offset: String(nth),
    key: null,
    value: null,
    timestamp: '5',
    headers: {},
  }))
  const batch = { topic: 'posts', partition: 1, highWatermark: '1000', messages, lastOffset: () => '999' }
  let handled = 0
  await reader.start(async (part) => {
    handled += part.messages.length
    expect(part.atEnd).toBe(false)
    await new Promise((resolve) => setTimeout(resolve, 100))
  })
  last().join()
  const consumed = last().batch({ batch } as unknown as Partial<EachBatchPayload>) // as far as it is read
  await vi.advanceTimersByTimeAsync(1_000)
  await consumed
  expect(handled).toBe(600)
  expect(last().steps.filter((step) => step.startsWith('resolve'))).toEqual([
    'resolve 199',
    'resolve 399',
    'resolve 599',
  ])
})

it('tells which partitions it reads, and of none once its consumer has died', async () => {
  const { reader, last, assigned } = setUp()
  await reader.start(nothing)
  last().join()
  last().join({ posts: [1] })
  last().crash()
  expect(assigned).toEqual([['posts/0', 'posts/1'], ['posts/1'], []])
})

it('commits nothing of a batch that is in work, however long that takes', async () => {
  const { last, end } = await setUpInWork()
  last().steps.length = 0
  const batch = last().batch()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(last().steps).toEqual([])
  end()
  await batch
  await vi.advanceTimersByTimeAsync(250)
  expect(last().steps).toEqual(['resolve 7', COMMITTED])
})

describe('work that a batch begins for later', () => {
  const offsets = (...of: string[]) =>
    of.map((offset) => ({ offset, key: null, value: null, timestamp: '5', headers: {} }))
  const second = () => ({
    batch: { topic: 'posts', partition: 1, highWatermark: '9', messages: offsets('8'), lastOffset: () => '8' },
  })
  const both = 'commit [{"topic":"posts","partition":1,"offset":"9"}]'

  it('is waited for by no batch after it, and by the commits of its partition', async () => {
    const { reader, last } = setUp()
    const working = Promise.withResolvers<void>()
    let begun = 0
    await reader.start(async (_, __, later) => {
      if (begun++ === 0) later(() => working.promise)
    })
    last().join()
    last().steps.length = 0
    await last().batch()
    // The fields of kafkajs' payload that the reader uses.
    await last().batch(second() as unknown as Partial<EachBatchPayload>)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(last().steps).toEqual(['resolve 7', 'resolve 8'])
    working.resolve()
    await vi.advanceTimersByTimeAsync(250)
    expect(last().steps).toEqual(['resolve 7', 'resolve 8', both])
  })

  it('has its consumer replaced where it fails, and nothing committed', async () => {
    const { reader, consumers, last, troubles, succeeded } = setUp()
    const working = Promise.withResolvers<void>()
    await reader.start(async (_, __, later) => later(() => working.promise))
    last().join()
    const [first] = consumers
    await last().batch()
    succeeded.length = 0
    working.reject(new Error('Redis is away'))
    await vi.advanceTimersByTimeAsync(1_000)
    expect(first?.steps.filter((step) => step.startsWith('commit'))).toEqual([])
    expect(consumers).toHaveLength(2)
    expect(troubles.map(({ error }) => (error as Error).message)).toEqual(['Redis is away'])
    last().join()
    await vi.advanceTimersByTimeAsync(5 * HEARTBEAT_MS)
    expect(succeeded, 'what failed has not succeeded since').toEqual([])
  })

  it('ends before the consumer leaves its group', async () => {
    const { reader, last } = setUp()
    const working = Promise.withResolvers<void>()
    await reader.start(async (_, __, later) => later(() => working.promise))
    last().join()
    await last().batch()
    last().steps.length = 0
    const closing = reader.close()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(last().steps).not.toContain('disconnect')
    working.resolve()
    await closing
    expect(last().steps.slice(-2)).toEqual([COMMITTED, 'disconnect'])
  })

  it('has nothing behind it committed where it fails while the consumer leaves its group', async () => {
    const { reader, last } = setUp()
    const working = Promise.withResolvers<void>()
    const third = Promise.withResolvers<void>()
    let begun = 0
    await reader.start(async (_, __, later) => {
      begun++
      if (begun === 1) later(() => working.promise)
      if (begun === 3) await third.promise
    })
    last().join()
    await last().batch()
    await last().batch(second() as unknown as Partial<EachBatchPayload>)
    const inWork = last().batch(second() as unknown as Partial<EachBatchPayload>)
    const closing = reader.close()
    working.reject(new Error('Redis is away'))
    await vi.advanceTimersByTimeAsync(500)
    third.resolve()
    await Promise.all([inWork, closing])
    expect(last().steps.filter((step) => step.startsWith('commit'))).toEqual([])
  })
})

it('resolves and commits nothing when the handling fails, and lets kafkajs know', async () => {
  const { reader, last } = setUp()
  await reader.start(async () => {
    throw new Error('Redis is away')
  })
  last().join()
  last().steps.length = 0
  await expect(last().batch()).rejects.toThrow('Redis is away')
  expect(last().steps).toEqual([])
})

describe('as a loop', () => {
  it('succeeds while the group answers and there is nothing to handle, and with each batch', async () => {
    const { reader, last, succeeded } = setUp()
    await reader.start(nothing)
    expect(succeeded).toEqual(['kafka consumer'])
    last().join()
    await vi.advanceTimersByTimeAsync(2 * HEARTBEAT_MS)
    expect(succeeded).toHaveLength(3)
    await last().batch()
    expect(succeeded).toHaveLength(4)
    last().fallSilent()
    await vi.advanceTimersByTimeAsync(5 * HEARTBEAT_MS)
    expect(succeeded).toHaveLength(4)
  })

  it('does not succeed while a batch hangs, though its heartbeats are answered', async () => {
    const { last, succeeded, end } = await setUpInWork()
    const batch = last().batch()
    succeeded.length = 0
    await vi.advanceTimersByTimeAsync(400_000)
    expect(succeeded).toEqual([])
    end()
    await batch
    expect(succeeded).toEqual(['kafka consumer'])
  })

  it('does not succeed after a batch that failed, until one is handled', async () => {
    const { reader, last, succeeded } = setUp()
    let works = false
    await reader.start(async () => {
      if (!works) throw new Error('Redis is away')
    })
    last().join()
    await expect(last().batch()).rejects.toThrow('Redis is away')
    last().crash()
    await vi.advanceTimersByTimeAsync(1_000)
    last().join()
    succeeded.length = 0
    await vi.advanceTimersByTimeAsync(5 * HEARTBEAT_MS)
    expect(succeeded).toEqual([])
    works = true
    await last().batch()
    await vi.advanceTimersByTimeAsync(HEARTBEAT_MS)
    expect(succeeded).toHaveLength(2)
  })

  it('succeeds where the partition whose batch failed is another member’s now', async () => {
    const { reader, last, succeeded } = setUp()
    await reader.start(async () => {
      throw new Error('Redis is away')
    })
    last().join()
    await expect(last().batch()).rejects.toThrow('Redis is away')
    last().crash()
    await vi.advanceTimersByTimeAsync(1_000)
    last().join({ comments: [3] })
    succeeded.length = 0
    await vi.advanceTimersByTimeAsync(5 * HEARTBEAT_MS)
    expect(succeeded.length).toBeGreaterThan(0)
  })
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

describe('notices and replaces', () => {
  /** Lets the consumer die in its way and tells after how many seconds it was replaced, by one that joins at once. */
  async function secondsToReplace(die: (one: ReturnType<ReturnType<typeof setUp>['last']>) => void): Promise<number> {
    const { reader, consumers, last } = setUp()
    await reader.start(nothing)
    last().join()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(consumers).toHaveLength(1)
    die(last())
    const died = Date.now()
    while (consumers.length === 1 && Date.now() < died + 120_000) await vi.advanceTimersByTimeAsync(500)
    const seconds = (Date.now() - died) / 1000
    expect(reader.downSince).not.toBeNull()
    last().join()
    expect(reader.downSince).toBeNull()
    await vi.advanceTimersByTimeAsync(120_000)
    expect(consumers).toHaveLength(2)
    return seconds
  }

  it.each<[string, Parameters<typeof secondsToReplace>[0]]>([
    ['a crash without restart', (one) => one.crash()],
    ['a group that answers no heartbeat, without any event', (one) => one.fallSilent()],
    ['a fetch that does not end, though the group answers', (one) => one.asks('1')],
    [
      'a fetch from one broker that does not end, though another answers',
      (one) => {
        one.asks('1')
        setInterval(() => {
          one.asks('2')
          one.fetched('2')
        }, 1_000)
      },
    ],
  ])('%s, within 30 s', async (_, die) => {
    expect(await secondsToReplace(die)).toBeLessThanOrEqual(30)
  })

  it.each(['connect', 'join'])('a consumer that never comes to an end with its %s', async (step) => {
    const { reader, consumers, world, last, troubles } = setUp()
    if (step === 'connect') world.connecting = new Promise(() => {})
    void reader.start(nothing)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(consumers.length).toBeGreaterThan(1)
    expect(troubles).not.toEqual([])
    world.connecting = Promise.resolve()
    await vi.advanceTimersByTimeAsync(30_000)
    last().join()
    expect(reader.downSince).toBeNull()
  })

  it('no consumer because the process stood still, or its clock jumped', async () => {
    const { reader, consumers, last } = setUp()
    await reader.start(nothing)
    last().join()
    await vi.advanceTimersByTimeAsync(5_000)
    vi.setSystemTime(Date.now() + 3_600_000)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(consumers).toHaveLength(1)
  })

  it('no third consumer while batches of the first hang: it says that it is down until they end', async () => {
    const { reader, consumers, last, end } = await setUpInWork()
    const first = last().batch()
    last().fallSilent()
    await vi.advanceTimersByTimeAsync(30_000)
    expect(consumers).toHaveLength(2)
    last().join()
    last().fallSilent()
    await vi.advanceTimersByTimeAsync(300_000)
    expect(consumers).toHaveLength(2)
    expect(reader.downSince).not.toBeNull()
    end()
    await first
    await vi.advanceTimersByTimeAsync(10_000)
    expect(consumers).toHaveLength(3)
    last().join()
    expect(reader.downSince).toBeNull()
  })
})

it('is paused and resumed also where that was asked while it was silent', async () => {
  const { reader, last, end } = await setUpInWork()
  const first = last().batch()
  last().fallSilent()
  await vi.advanceTimersByTimeAsync(30_000)
  last().join()
  for (const step of ['pause', 'resume']) {
    last().fallSilent()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(reader.downSince).not.toBeNull()
    reader.setPaused(step === 'pause')
    last().beats()
    expect([reader.downSince, last().steps.at(-1)]).toEqual([null, step])
  }
  end()
  await first
})

describe('offsets that hold no record', () => {
  it('are handled as a batch without messages, and committed', async () => {
    const { reader, last } = setUp()
    const handle = vi.fn(nothing)
    await reader.start(handle)
    last().join()
    last().passesOver('5')
    last().passesOver('7')
    await vi.advanceTimersByTimeAsync(250)
    const batch = { topic: 'posts', partition: 1, messages: [], isOurs: expect.any(Function) }
    expect(handle.mock.calls.map(([given]: unknown[]) => given)).toEqual([
      { ...batch, next: '6', atEnd: false },
      { ...batch, next: '8', atEnd: true },
    ])
    expect(last().steps).toEqual(['resume', COMMITTED])
  })

  it('are handled before the next batch of their partition, which sends the heartbeats meanwhile', async () => {
    const { reader, last } = setUp()
    const steps: string[] = []
    const [tell, working] = [(step: string) => void steps.push(step), Promise.withResolvers<void>()]
    await reader.start(async ({ messages }, heartbeat) => {
      tell(`begin ${messages.length}`)
      if (messages.length > 0) return
      await working.promise
      await heartbeat()
      tell('end 0')
    })
    last().join()
    last().passesOver('5')
    const batch = last().batch({ heartbeat: async () => tell('heartbeat') })
    await vi.advanceTimersByTimeAsync(1_000)
    expect(steps).toEqual(['begin 0'])
    working.resolve()
    await batch
    expect(steps).toEqual(['begin 0', 'heartbeat', 'end 0', 'begin 2'])
    await vi.advanceTimersByTimeAsync(250)
    expect(last().steps.at(-1)).toBe(COMMITTED)
  })

  it('come again, by another consumer and with the batch behind them, when they could not be handled', async () => {
    const { reader, consumers, last } = setUp()
    let fails = true
    const handle = vi.fn(async () => {
      if (fails) throw new Error('Redis is away')
    })
    await reader.start(handle)
    const first = last()
    first.join()
    first.passesOver('5')
    await first.batch()
    fails = false
    await vi.advanceTimersByTimeAsync(1_000)
    expect(consumers).toHaveLength(2)
    expect(handle).toHaveBeenCalledTimes(1)
    expect(first.steps).toEqual(['resume', 'disconnect'])
    first.passesOver('5')
    last().join()
    last().passesOver('5')
    await vi.advanceTimersByTimeAsync(250)
    expect(handle).toHaveBeenCalledTimes(2)
    expect(last().steps).toEqual(['resume', 'commit [{"topic":"posts","partition":1,"offset":"6"}]'])
  })

  it('are not committed when the group formed anew while they were handled', async () => {
    const { last, end } = await setUpInWork()
    last().passesOver('5')
    last().join()
    end()
    await vi.advanceTimersByTimeAsync(3_000)
    expect(last().steps).toEqual(['resume', 'resume'])
  })
})

it('lets a consumer go that joins after it was given up, and counts neither its life nor its batches', async () => {
  const { reader, consumers, last } = setUp()
  const handle = vi.fn(nothing)
  await reader.start(handle)
  const late = last()
  await vi.advanceTimersByTimeAsync(30_000)
  expect(consumers).toHaveLength(2)
  late.steps.length = 0
  late.join()
  expect(late.steps).toEqual(['disconnect'])
  expect(reader.downSince).not.toBeNull()
  await late.batch()
  expect(handle).not.toHaveBeenCalled()
  expect(late.steps).toEqual(['disconnect'])
})

it('neither resolves nor commits what a consumer had in work when it was replaced', async () => {
  const { last, end } = await setUpInWork()
  const first = last()
  const batch = first.batch()
  first.crash()
  await vi.advanceTimersByTimeAsync(1_000)
  last().join()
  end()
  await batch
  await vi.advanceTimersByTimeAsync(10_000)
  expect([...first.steps, ...last().steps].filter((step) => /^(resolve|commit)/.test(step))).toEqual([])
})

it('commits again what could not be committed, but nothing of before the group formed anew: others may be further', async () => {
  const { reader, world, last, troubles } = setUp()
  const committed = () => last().steps.filter((step) => step.startsWith('commit'))
  await reader.start(nothing)
  last().join()
  world.commits = false
  await last().batch()
  await vi.advanceTimersByTimeAsync(3_000)
  expect(troubles.length).toBeGreaterThan(0)
  world.commits = true
  await vi.advanceTimersByTimeAsync(3_000)
  expect(committed()).toEqual([COMMITTED])
  for (const assigned of [{ posts: [0] }, BOTH]) {
    last().join()
    world.commits = false
    await last().batch()
    await vi.advanceTimersByTimeAsync(3_000)
    last().join(assigned)
    world.commits = true
    await vi.advanceTimersByTimeAsync(10_000)
    expect(committed()).toHaveLength(1)
  }
})

it('leaves a batch to be read again that was in work while the group formed anew', async () => {
  const { last, end } = await setUpInWork()
  const batch = last().batch()
  last().join()
  last().steps.length = 0
  end()
  await batch
  await vi.advanceTimersByTimeAsync(3_000)
  expect(last().steps).toEqual([])
  await last().batch()
  await vi.advanceTimersByTimeAsync(250)
  expect(last().steps).toEqual(['resolve 7', COMMITTED])
})

it('is paused again after each rebalance', async () => {
  const { reader, last } = setUp()
  await reader.start(nothing)
  last().join()
  reader.setPaused(true)
  last().steps.length = 0
  last().join()
  last().join()
  expect(last().steps).toEqual(['pause', 'pause'])
})

it('finishes and commits what is in work before it leaves, and takes nothing more', async () => {
  const { reader, last, end } = await setUpInWork()
  const batch = last().batch()
  last().steps.length = 0
  const closed = reader.close()
  await last().batch()
  expect(last().steps).toEqual(['pause'])
  end()
  await Promise.all([batch, closed])
  expect(last().steps).toEqual(['pause', 'resolve 7', COMMITTED, 'disconnect'])
})
