import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { redisCases } from '../../src/adapters/redis/cases.ts'
import { keysUnder } from '../../src/adapters/redis/keys.ts'
import { redisLineage } from '../../src/adapters/redis/lineage.ts'
import { redisRecovery } from '../../src/adapters/redis/recovery.ts'
import { redisThreads } from '../../src/adapters/redis/threads.ts'
import type { CaseRecord } from '../../src/domain/case.ts'
import type { ThreadRef } from '../../src/domain/thread.ts'
import { StandsStill } from '../../src/ports/cases.ts'
import type { ThreadRules } from '../../src/ports/threads.ts'
import type { LocalServer } from '../../src/tools/stack/servers/local-server.ts'
import { startRedis } from '../../src/tools/stack/servers/redis.ts'
import { tell } from '../support/pipeline.ts'

const KEEP = { keepTombstoneMs: 60_000, keepThreadMs: 60_000 }
const REF: ThreadRef = { tenant: 'default', postId: 'p', kind: 'post' }
const POST = { id: 'p', text: 'The dam has burst.', createdAt: 1_000 }
const RULES: ThreadRules = {
  ...{ window: 1e9, counts: [], cap: 10, perAuthor: null, reopen: true, textChars: 1_000, orphanWait: 1_000 },
  rank: () => 0,
  draw: 'a draw',
}

let server: LocalServer
let client: Redis
let keys: ReturnType<typeof keysUnder>
beforeAll(async () => {
  server = await startRedis({ say: tell })
  client = new Redis(server.settings.REDIS_URL ?? '')
})
beforeEach(() => {
  keys = keysUnder(`test-${randomUUID()}`)
})
afterAll(async () => {
  client?.disconnect()
  await server?.close()
})

const at = (offset: number) => new Map([['posts/0', String(offset)]])
const clean = async () => client.del(keys.lineage)
/** The lineage as it was a while ago: what a failover to a replica that was behind leaves. */
async function rolledBack(during: () => Promise<unknown>): Promise<void> {
  const before = await client.hgetall(keys.lineage)
  await during()
  await clean()
  await client.hset(keys.lineage, before)
}

function recordOf(revision: number): CaseRecord {
  return {
    ...{ id: `rumor~p~r${revision}`, protocol: 'rumor', tenant: 'default', subjectId: 'p', kind: 'post', revision },
    ...{
      final: true,
      supersedes: null,
      subject: null,
      comments: { accepted: 0, cap: 0, late: 0, author: 0 },
      pressed: false,
      carry: null,
    },
    versions: { script: 1, prompts: '', settings: '' },
    ...{ createdAt: 1_000, receivedAt: 1_000, openedAt: 1_000, deadline: 1e15 },
  }
}

describe('a lineage', () => {
  it('is founded where nothing was accepted, and found again by whoever comes later', async () => {
    const [first, second] = [redisLineage(client, keys), redisLineage(client, keys)]
    expect(await first.begin(new Map(), true)).toBeNull()
    expect(await first.beat(at(5))).toBeNull()
    expect(await second.begin(at(5), true)).toBeNull()
    expect(second.stamp()[0]).toBe(first.stamp()[0])
  })

  it('is missed by a living process, and by one that starts, once Redis was emptied', async () => {
    const living = redisLineage(client, keys)
    await living.begin(new Map(), true)
    await clean()
    expect(await living.beat()).toBe('emptied')
    await clean()
    expect(await redisLineage(client, keys).begin(at(5), true)).toBe('emptied')
    expect(await living.beat()).toBe('emptied')
  })

  it('is adopted from data that an earlier version wrote', async () => {
    await client.hset(keys.marks, 'posts/0', '{}')
    expect(await redisLineage(client, keys).begin(at(5), true)).toBeNull()
    expect(await redisLineage(client, keys).begin(at(5), true)).toBeNull()
  })

  it('shows a living process that Redis went back behind what it was told', async () => {
    const living = redisLineage(client, keys)
    await living.begin(new Map(), true)
    await rolledBack(() => living.beat())
    expect(await living.beat()).toBe('rolled-back')
    expect(await redisLineage(client, keys).begin(new Map(), true)).toBe('rolled-back')
  })

  it('shows a process that starts alone that Kafka knows of more, and spares one beside others', async () => {
    const before = redisLineage(client, keys)
    await before.begin(new Map(), true)
    await before.beat(at(5))
    await rolledBack(() => before.beat(at(9)))
    expect(await redisLineage(client, keys).begin(at(9), false)).toBeNull()
    await rolledBack(() => before.beat(at(12)))
    expect(await redisLineage(client, keys).begin(at(12), true)).toBe('rolled-back')
  })

  it('takes no process for one that lost something whose offsets another commits while it begins', async () => {
    const [living, next, last] = [1, 2, 3].map(() => redisLineage(client, keys))
    await living?.begin(new Map(), true)
    await living?.beat(at(5))
    // It has made this durable and commits it in a moment; who begins now has asked before that.
    await living?.beat(at(9))
    expect(await next?.begin(at(5), false)).toBeNull()
    expect(await last?.begin(at(9), true)).toBeNull()
  })

  describe('on a server that starts anew', () => {
    let second: LocalServer
    let other: Redis
    /** The client of whichever server is up. */
    let up: Redis
    const moving = new Proxy({} as Redis, {
      get: (_, name) => {
        const value: unknown = Reflect.get(up, name)
        return typeof value === 'function' ? value.bind(up) : value
      },
    })
    beforeAll(async () => {
      second = await startRedis({ say: tell })
      other = new Redis(second.settings.REDIS_URL ?? '')
    })
    beforeEach(() => {
      up = client
    })
    afterAll(async () => {
      other?.disconnect()
      await second?.close()
    })
    const copied = async () => client.hgetall(keys.lineage)
    const startWith = async (data: Record<string, string>) => {
      await other.hset(keys.lineage, data)
      up = other
    }

    it('is missed by whoever was told of a later beat, however often others have beaten since', async () => {
      const [knowing, ignorant] = [redisLineage(moving, keys), redisLineage(moving, keys)]
      await knowing.begin(new Map(), true)
      await ignorant.begin(new Map(), false)
      const before = await copied()
      expect(await knowing.beat()).toBeNull()
      await startWith(before)
      for (let beats = 0; beats < 3; beats++) expect(await ignorant.beat()).toBeNull()
      expect(await knowing.beat()).toBe('rolled-back')
      expect(await ignorant.beat()).toBe('rolled-back')
    })

    it('is missed by nobody where nothing is lost, through one start and another', async () => {
      const [one, two] = [redisLineage(moving, keys), redisLineage(moving, keys)]
      await one.begin(new Map(), true)
      await two.begin(new Map(), false)
      for (let beats = 0; beats < 3; beats++) await one.beat()
      await startWith(await copied())
      expect(await two.beat()).toBeNull()
      // One has not been heard of in this run.
      const again = await other.hgetall(keys.lineage)
      await client.del(keys.lineage)
      await client.hset(keys.lineage, { ...again, 'end:between': '9' })
      up = client
      expect(await one.beat()).toBeNull()
      expect(await two.beat()).toBeNull()
    })

    it('opens and concludes nothing for a moment, so that who knows better can say so', async () => {
      const lineage = redisLineage(moving, keys)
      await lineage.begin(new Map(), true)
      expect(lineage.quiet).toBe(false)
      const threads = redisThreads(moving, keys, KEEP, lineage.stamp)
      const cases = redisCases(moving, keys, Date.now, lineage.stamp)
      await startWith(await copied())
      const arrival = { firstDue: 0, now: 0, threaded: true, atOnce: false }
      await threads.putPost(REF, POST, arrival, RULES)
      const state = await threads.read(REF)
      if (state === null) throw new Error('no thread')
      const record = recordOf(1)
      const opening = { cases: [{ record, seen: 1 }], waiting: [], held: [], nextDue: null, final: true }
      expect(await threads.open(state, opening)).toEqual([])
      expect(await lineage.beat()).toBeNull()
      expect(lineage.quiet).toBe(true)
      expect(await threads.open(state, opening)).toEqual([])
      const stillQuiet = async () => {
        await lineage.beat()
        return lineage.quiet
      }
      await expect.poll(stillQuiet, { timeout: 10_000, interval: 100 }).toBe(false)
      expect(await threads.open(state, opening)).toEqual([record.id])
      const end = { verdict: '{}', transcript: '{}', carry: null }
      const { epoch = 0 } = (await cases.take(record.id)) ?? {}
      await moving.hset(keys.lineage, 'run', 'another')
      expect(await cases.conclude(record, epoch, end)).toBe(false)
      await expect(cases.take(record.id)).rejects.toThrow(StandsStill)
      expect((await cases.peek(record.id))?.epoch, 'no taking over is counted').toBe(epoch)
      // Nor does a clock that is set back make it longer.
      await moving.hset(keys.lineage, 'quiet', Date.now() + 3_600_000)
      await lineage.beat()
      expect(lineage.quiet).toBe(false)
    })
  })

  it('holds everybody until it is released, under a new id', async () => {
    const living = redisLineage(client, keys)
    await living.begin(new Map(), true)
    const [id] = living.stamp()
    expect(await living.hold()).toBe(false)
    expect(await living.hold()).toBe(true)
    expect(await living.beat()).toBe('recovering')
    await living.release(at(7))
    expect(await living.beat()).toBeNull()
    expect(living.stamp()[0]).not.toBe(id)
    expect(await redisLineage(client, keys).begin(at(7), true)).toBeNull()
  })
})

describe('since when everything that was published is known', () => {
  const since = () => client.hget(keys.lineage, 'since')

  it('is said by a beginning with nothing, and by no other', async () => {
    await redisLineage(client, keys).begin(new Map(), true)
    expect(Date.now() - Number(await since())).toBeLessThan(60_000)
    await client.del(keys.lineage)
    await client.hset(keys.marks, 'posts/0', '{}')
    await redisLineage(client, keys).begin(at(5), true)
    expect(await since()).toBeNull()
  })

  it('is forgotten by a recovery, unless it vouches for it', async () => {
    const lineage = redisLineage(client, keys)
    await lineage.begin(new Map(), true)
    await lineage.hold()
    await lineage.vouch(false)
    await lineage.release(at(7))
    expect(await since()).toBeNull()
    await lineage.hold()
    await lineage.vouch(true)
    await lineage.release(at(7))
    expect(Date.now() - Number(await since())).toBeLessThan(60_000)
  })
})

describe('on data that a process does not know', () => {
  async function make() {
    const lineage = redisLineage(client, keys)
    await lineage.begin(new Map(), true)
    const threads = redisThreads(client, keys, KEEP, lineage.stamp)
    const cases = redisCases(client, keys, () => 1_000, lineage.stamp)
    await threads.putPost(REF, POST, { firstDue: 1, now: 1, threaded: true, atOnce: false }, RULES)
    const open = async () => {
      const state = await threads.read(REF)
      if (state === null) throw new Error('the thread is not there')
      const opening = { cases: [{ record: recordOf(1), seen: 1 }], waiting: [], held: [], nextDue: null, final: true }
      return threads.open(state, opening)
    }
    return { lineage, threads, cases, open }
  }
  const END = { verdict: '{}', transcript: '{}', carry: null }

  it.each([
    ['emptied', async (_: unknown) => clean()],
    ['rolled back', async (beat: () => Promise<unknown>) => rolledBack(beat)],
    ['held', async (_: unknown) => redisLineage(client, keys).hold()],
  ])('no case opens and none concludes: it was %s', async (_, lose) => {
    const { lineage, cases, open, threads } = await make()
    expect(await open()).toEqual(['rumor~p~r1'])
    const taken = await cases.take('rumor~p~r1')
    await lose(lineage.beat)
    expect(await cases.conclude(recordOf(1), taken?.epoch ?? 0, END)).toBe(false)
    expect(await client.xlen(keys.outbox)).toBe(0)
    await client.hdel(keys.thread('default:p'), 'open:rumor', 'rev:rumor')
    expect(await open()).toEqual([])
    expect((await threads.read(REF))?.revisions.size).toBe(0)
  })

  it('a published revision is gone on from, and the case that is open under it given up', async () => {
    const { threads, cases, open } = await make()
    await open()
    const recovery = redisRecovery(client, keys, { ...KEEP, clock: () => 1_000, allAgain: true })
    const published = [{ protocol: 'rumor', revision: 1, final: true, deleted: false }]
    expect(await recovery.restore(REF, published)).toEqual({ raised: 1, givenUp: 1 })
    expect(await recovery.restore(REF, published)).toEqual({ raised: 0, givenUp: 0 })
    expect(await cases.take('rumor~p~r1')).toBeNull()
    expect(await cases.countOpen()).toBe(0)
    expect((await threads.read(REF))?.revisions.get('rumor')).toMatchObject({ revision: 1, final: true, openId: null })
  })
})
