import { describe, expect, it } from 'vitest'
import { intake, type TopicHandler } from '../../consumers/intake.ts'
import { posts } from '../../consumers/posts.ts'
import { type RedisGuard, redisGuard } from '../../consumers/redis-guard.ts'
import { besideThoseOver, tenantShares } from '../../consumers/tenant-shares.ts'
import type { Events } from '../../src/contracts/ports/report.ts'
import type { MessageBatch, TopicReader } from '../../src/contracts/ports/topic.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import type { Incarnation, Loss } from '../../src/store/redis/incarnation.ts'
import { refusalOf } from '../../src/store/redis/refusals.ts'
import { intakeContext } from '../support/intake-context.ts'

const FULL = new Error("OOM command not allowed when used memory > 'maxmemory'.")
const POST = Buffer.from(JSON.stringify({ id: 'p1', text: 'words', createdAt: '2020-01-01T12:00:00Z' }))
const BATCH: MessageBatch = {
  topic: 'posts',
  partition: 2,
  messages: [
    { topic: 'posts', partition: 2, offset: '41', key: null, value: POST, headers: {}, timestamp: 0 },
    { topic: 'posts', partition: 2, offset: '42', key: null, value: POST, headers: {}, timestamp: 0 },
  ],
  // Behind them stands the mark of a transaction's end.
  next: '44',
  atEnd: true,
}

function make() {
  const store = {
    lost: null as Loss | null,
    full: false,
    away: false,
    share: 0,
    noted: [] as [string, string][][],
    refuses: '',
    waitsFor: '',
  }
  const told: (keyof Events)[] = []
  const shares: (number | null)[] = []
  const incarnation: Pick<Incarnation, 'lost' | 'advance'> = {
    get lost() {
      return store.lost
    },
    async advance(durable = new Map()) {
      if (store.refuses !== '') throw new Error(store.refuses)
      if (store.full) throw FULL
      store.noted.push([...durable])
      return store.lost
    },
  }
  const watch = redisGuard({
    incarnation: incarnation as Incarnation,
    memoryUse: async () => {
      if (store.waitsFor !== '') return new Promise(() => {})
      if (store.away) throw new Error('no answer')
      return { share: store.share, most: null }
    },
    whyItWaits: async () => refusalOf(new Error(store.waitsFor)),
    pauseAt: () => ({ pause: 0.9, stop: 0.95 }),
    report(name, event) {
      if (name === 'store:watched') shares.push((event as Events['store:watched']).memoryShare)
      else if (name !== 'redis:faults') told.push(name)
    },
  })
  return { store, told, shares, watch }
}

/** A reader that hands over one batch when it is started. */
const oneBatch: TopicReader = {
  start: (handle) =>
    handle(
      BATCH,
      async () => {},
      (work) => void work(),
    ),
  positions: async () => [],
  setPaused: () => {},
  downSince: null,
  close: async () => {},
}

/** An intake under the watch, which handles a batch so. */
function intakeUnder(guard: RedisGuard, reader: TopicReader, handle: () => Promise<void> = async () => {}) {
  const stores = memoryStores(() => 0)
  const handler: TopicHandler = {
    ...(posts as TopicHandler),
    clocked: false,
    async handle(_, read) {
      await handle()
      return read.map(() => 'judged')
    },
  }
  const handlers = new Map([['posts', handler]])
  return intake({ reader, handlers, context: intakeContext(stores), marks: stores.marks, guard })
}

describe('the watch over the store', () => {
  it('notes a batch once its effects are there, so that its offset can be missed later', async () => {
    const { store, watch } = make()
    const steps: string[] = []
    const handle = async () => void steps.push(`handled, ${store.noted.length} noted`)
    await intakeUnder(watch, oneBatch, handle).start()
    expect(steps).toEqual(['handled, 0 noted'])
    expect(store.noted).toEqual([[['posts/2', '44']]])
  })

  it('knows no share of memory while Redis does not answer, instead of the last one', async () => {
    const { store, shares, watch } = make()
    store.share = 0.5
    await watch.poll()
    store.away = true
    await expect(watch.poll()).rejects.toThrow('no answer')
    store.away = false
    await watch.poll()
    expect(shares).toEqual([0.5, null, 0.5])
  })

  it('pauses intake by another signal near the end of its memory, which no share of a tenant takes back', async () => {
    const { store, watch } = make()
    const shares = tenantShares({
      by: 'store-full',
      isScarce: () => watch.isScarce,
      tenantsOver: async () => ['big'],
      othersUnread: async () => true,
      othersShare: async () => 0,
      report: () => {},
    })
    const pressures: [string, number][] = []
    for (const share of [0.92, 0.96, 0.94, 0.92]) {
      store.share = share
      await watch.poll()
      await shares.poll()
      const { by, share: pressure } = await shares.beside(() => watch.pressure())()
      pressures.push([by, pressure])
      // What was fetched by then is refused all the same.
      expect(shares.isInForce()).toBe(true)
    }
    expect(pressures).toEqual([
      ['store-full', 0],
      ['store-near-full', Number.POSITIVE_INFINITY],
      ['store-near-full', Number.POSITIVE_INFINITY],
      ['store-full', 0],
    ])
    const door = besideThoseOver(() => ['big'])
    expect((await door(() => watch.pressure())()).share).toBe(0)
    store.share = 0.96
    await watch.poll()
    expect((await door(() => watch.pressure())()).share).toBe(Number.POSITIVE_INFINITY)
  })

  it('hands a batch over again that Redis had no memory for, and tells of it once', async () => {
    const { told, watch } = make()
    let tries = 0
    const handle = async () => {
      if (++tries < 3) throw FULL
    }
    await intakeUnder(watch, oneBatch, handle).start()
    expect(tries).toBe(3)
    expect(told).toEqual(['store:full'])
    expect((await watch.pressure()).share).toBe(Number.POSITIVE_INFINITY)
    await watch.poll()
    expect(told).toEqual(['store:full', 'store:writable'])
    expect((await watch.pressure()).share).toBe(0)
  })

  it('tells once of a store whose memory stays at its edge, where small writes pass and large ones do not', async () => {
    const { store, told, watch } = make()
    for (const share of [1, 0.999, 1, 0.985]) {
      store.share = share
      store.full = share === 1
      await watch.poll()
    }
    expect(told).toEqual(['store:full'])
    store.share = 0.97
    await watch.poll()
    expect(told).toEqual(['store:full', 'store:writable'])
  })

  it('says that Redis fills before it is short of memory', async () => {
    const { store, watch } = make()
    const said: boolean[][] = []
    for (const share of [0.5, 0.71, 0.73, 0.91, 0.5]) {
      store.share = share
      await watch.poll()
      said.push([watch.isFilling, watch.isScarce])
    }
    expect(said).toEqual([
      [false, false],
      [false, false],
      [true, false],
      [true, true],
      [false, false],
    ])
  })

  it('lets every other error through', async () => {
    const { watch } = make()
    const failing = async () => {
      throw new Error('a bug')
    }
    await expect(intakeUnder(watch, oneBatch, failing).start()).rejects.toThrow('a bug')
  })

  it('gives a waiting batch back when the reader closes', async () => {
    const { watch } = make()
    const taking = intakeUnder(watch, oneBatch, async () => {
      throw FULL
    })
    const waiting = taking.start()
    await Promise.all([taking.close(), expect(waiting).rejects.toThrow()])
  })

  it('pauses above the share of memory, and goes on only when there is room', async () => {
    const { store, watch } = make()
    const shares = [0.89, 0.91, 0.89, 0.86, 0.84]
    const paused: boolean[] = []
    for (const share of shares) {
      store.share = share
      await watch.poll()
      paused.push((await watch.pressure()).share > 1)
    }
    expect(paused).toEqual([false, true, true, true, false])
    expect(watch.problem).toBeNull()
  })

  it('tells of a loss once, and what to run, until it is recovered', async () => {
    const { store, told, watch } = make()
    store.lost = 'emptied'
    await watch.poll()
    await watch.poll()
    expect(watch.problem).toContain('gavel recover')
    expect((await watch.pressure()).share).toBe(Number.POSITIVE_INFINITY)
    store.lost = null
    await watch.poll()
    expect(told).toEqual(['store:lost', 'store:recovered'])
    expect(watch.problem).toBeNull()
  })
})

describe('a reader that is started while data are missing', () => {
  it('joins its group once they have been recovered, and counts as down no sooner', async () => {
    const { store, watch } = make()
    let starts = 0
    const reader = intakeUnder(watch, { ...oneBatch, start: async () => void starts++, downSince: 5 })
    store.lost = 'forgotten'
    await reader.start()
    await watch.poll()
    expect({ starts, downSince: reader.downSince }).toEqual({ starts: 0, downSince: null })
    store.lost = null
    await watch.poll()
    await watch.poll()
    expect({ starts, downSince: reader.downSince }).toEqual({ starts: 1, downSince: 5 })
  })

  it('never joins after it was closed', async () => {
    const { store, watch } = make()
    let starts = 0
    const reader = intakeUnder(watch, { ...oneBatch, start: async () => void starts++ })
    store.lost = 'forgotten'
    await reader.start()
    await reader.close()
    store.lost = null
    await watch.poll()
    expect(starts).toBe(0)
  })
})

describe('what Redis refuses', () => {
  const MISCONF = 'MISCONF Errors writing to the AOF file: No space left on device script: 7d, on @user_script:22.'

  it.each([
    [MISCONF, 'disk'],
    ['NOREPLICAS Not enough good replicas to write.', 'no-replicas'],
    ["READONLY You can't write against a read only replica.", 'read-only'],
    ['ERR Error running script (call to f_1): @user_script:1: -MISCONF Errors writing', 'disk'],
  ])('is told once, pauses intake, and ends when a write is taken: %s', async (said, fault) => {
    const { store, watch, told } = make()
    store.refuses = said
    await watch.poll()
    await watch.poll()
    expect(watch.problem).toBe(watch.refusal)
    expect(watch.refusal).toContain('the service then continues by itself')
    expect(await watch.pressure()).toMatchObject({ by: 'store-refused', share: Number.POSITIVE_INFINITY })
    store.refuses = ''
    await watch.poll()
    expect(watch.problem).toBeNull()
    expect(told).toEqual(['store:refused', 'store:writable'])
    expect(refusalOf(new Error(said))?.fault).toBe(fault)
  })

  it('hands a batch over again once Redis takes writes', async () => {
    const { store, watch } = make()
    const tries: number[] = []
    store.refuses = MISCONF
    const handle = async () => {
      tries.push(store.noted.length)
      if (tries.length === 1) throw new Error(MISCONF)
      store.refuses = ''
    }
    await intakeUnder(watch, oneBatch, handle).start()
    expect(tries).toHaveLength(2)
    expect(store.noted).toHaveLength(1)
  })

  it('is asked for where it keeps its clients waiting, and no more known once it is gone altogether', async () => {
    const { store, watch, told } = make()
    store.waitsFor = 'LOADING Redis is loading the dataset in memory'
    await expect(watch.poll()).rejects.toThrow('loading its data')
    expect(watch.refusal).toContain('LOADING')
    store.waitsFor = ''
    store.away = true
    await expect(watch.poll()).rejects.toThrow('no answer')
    expect(watch.refusal).toBeNull()
    expect(told).toEqual(['store:refused'])
  })
})
