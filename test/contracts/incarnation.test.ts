import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { CaseRecord } from '../../src/contracts/facts/case.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import { StoreSuspended } from '../../src/contracts/ports/cases.ts'
import type { ThreadRules } from '../../src/contracts/ports/threads.ts'
import type { LocalServer } from '../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { redisCases } from '../../src/store/case/redis.ts'
import { redisRecovery } from '../../src/store/recovery/redis.ts'
import { checkSchema, raiseForm, redisIncarnation } from '../../src/store/redis/incarnation.ts'
import { keysUnder, memberOf, PUBLISHERS } from '../../src/store/redis/keys.ts'
import { redisThreads } from '../../src/store/thread/redis.ts'
import { redisMarks } from '../../src/store/thread/redis-marks.ts'
import { onRedis } from '../support/on-redis.ts'
import { tell } from '../support/pipeline.ts'

const KEEP = { keepTombstoneMs: 60_000, keepAfterFinalMs: 60_000 }
const REF: ThreadRef = { tenant: 'default', postId: 'p', kind: 'post' }
const POST = { id: 'p', text: 'The dam has burst.', createdAt: 1_000 }
const RULES: ThreadRules = {
  finalAge: 1e9,
  counts: [],
  maxComments: 10,
  maxPerAuthor: null,
  maxUnnamed: null,
  isPlaceholder: () => false,
  reopen: true,
  maxTextChars: 1_000,
  orphanWait: 1_000,
  rank: () => 0,
  samplingKeyVersion: 'a key',
}

let client: Redis
let keys: ReturnType<typeof keysUnder>
onRedis.beforeAll(({ client: one }) => {
  client = one
})
beforeEach(() => {
  keys = keysUnder(`test-${randomUUID()}`)
})

const at = (offset: number) => new Map([['posts/0', String(offset)]])
const clean = async () => client.del(keys.incarnation)
/** The incarnation's hash as it was a while ago: what a failover to a replica that was behind leaves. */
async function rolledBack(during: () => Promise<unknown>): Promise<void> {
  const before = await client.hgetall(keys.incarnation)
  await during()
  await clean()
  await client.hset(keys.incarnation, before)
}

function recordOf(revision: number): CaseRecord {
  return {
    id: `rumor~p~r${revision}`,
    protocol: 'rumor',
    tenant: 'default',
    subjectId: 'p',
    kind: 'post',
    revision,

    final: true,
    supersedes: null,
    subject: null,
    comments: { accepted: 0, cap: 0, late: 0, author: 0 },
    overloaded: false,
    carry: null,
    versions: { script: 1, prompts: '', settings: '' },
    createdAt: 1_000,
    receivedAt: 1_000,
    openedAt: 1_000,
    deadline: 1e15,
  }
}

describe('an incarnation of the data', () => {
  it('is raised past entries of the outbox that it has for this publisher, and past no others', async () => {
    const living = redisIncarnation(client, keys)
    await living.begin(new Map(), true)
    const put = () => client.xadd(keys.outbox, '*', 'kind', 'dead-letter', 'key', 'p', 'letter', '{}')
    const [mine = '', theirs = '', unread = ''] = [await put(), await put(), '9999999999999-0'].map(String)
    const given = ['mine', 'theirs'] as const
    await client.xgroup('CREATE', keys.outbox, PUBLISHERS, '0')
    for (const name of given)
      await client.xreadgroup('GROUP', PUBLISHERS, name, 'COUNT', 1, 'STREAMS', keys.outbox, '>')
    const before = living.token().watermark
    expect([...(await living.advancePast('mine', [mine, theirs, unread]))]).toEqual([mine])
    expect(living.token().watermark).toBe(before + 1)
    // A failover: the data are as they were before this publisher read the entry, and were raised elsewhere.
    await client.xack(keys.outbox, PUBLISHERS, mine)
    expect([...(await living.advancePast('mine', [mine]))]).toEqual([])
    // One that has lost what this process knows of hands out nothing.
    await client.xgroup('SETID', keys.outbox, PUBLISHERS, '0')
    await client.xreadgroup('GROUP', PUBLISHERS, 'mine', 'COUNT', 1, 'STREAMS', keys.outbox, '>')
    await clean()
    expect([...(await living.advancePast('mine', [mine]))]).toEqual([])
    expect(living.lost).toBe('emptied')
  })

  it('is founded where nothing was accepted, and found again by whoever comes later', async () => {
    const [first, second] = [redisIncarnation(client, keys), redisIncarnation(client, keys)]
    expect(await first.begin(new Map(), true)).toBeNull()
    expect(await first.advance(at(5))).toBeNull()
    expect(await second.begin(at(5), true)).toBeNull()
    expect(second.token().incarnationId).toBe(first.token().incarnationId)
  })

  it('is missed by a living process, and by one that starts, once Redis was emptied', async () => {
    const living = redisIncarnation(client, keys)
    await living.begin(new Map(), true)
    await clean()
    expect(await living.advance()).toBe('emptied')
    await clean()
    expect(await redisIncarnation(client, keys).begin(at(5), true)).toBe('emptied')
    expect(await living.advance()).toBe('emptied')
  })

  it('is not founded beside verdicts that empty data do not know, though the group has no offsets either', async () => {
    expect(await redisIncarnation(client, keys).begin(new Map(), true, true)).toBe('forgotten')
    const recovery = redisIncarnation(client, keys)
    await recovery.suspend()
    await recovery.createIncarnation(at(5))
    expect(await redisIncarnation(client, keys).begin(new Map(), true, true)).toBeNull()
  })

  it('is not hidden by the marks of a process that did not know yet that Redis was emptied', async () => {
    const living = redisIncarnation(client, keys)
    await living.begin(new Map(), true)
    const marks = redisMarks(client, keys, living.token)
    const mark = { newest: 1, second: 1, endSince: null, seenAt: 1 }
    await marks.write(new Map([['posts/0', mark]]))
    expect((await marks.read()).size).toBe(1)
    await client.del(keys.incarnation, keys.marks)
    await marks.write(new Map([['posts/0', mark]]))
    expect(await redisIncarnation(client, keys).begin(at(5), true)).toBe('emptied')
  })

  it('is of the form that this version keeps data in; what is in another is left alone, and said with what to do', async () => {
    await checkSchema(client, keys)
    await redisIncarnation(client, keys).begin(new Map(), true)
    await checkSchema(client, keys)
    const recovery = redisIncarnation(client, keys)
    await recovery.suspend()
    await recovery.createIncarnation(at(5))
    await checkSchema(client, keys)
    await client.hset(keys.incarnation, 'schema', 3)
    await expect(checkSchema(client, keys)).rejects.toThrow(
      /holds data in the form 3, and this version .* form 2\. Run the version that wrote them; or .* "gavel recover"/,
    )
    await client.hdel(keys.incarnation, 'schema')
    await expect(checkSchema(client, keys)).rejects.toThrow('in the form 0')
  })

  it('rises to the form of schema 2 once no process of an earlier version raises the watermark', async () => {
    const form = () => client.hget(keys.incarnation, 'schema')
    const own = redisIncarnation(client, keys, 1)
    await own.begin(new Map(), true)
    // An earlier version raises the watermark, and tells of it nowhere else.
    const earlier = () => client.hincrby(keys.incarnation, 'watermark', 1)
    await earlier()
    const beside = setInterval(() => void Promise.all([own.advance(), earlier()]), 10)
    await expect(raiseForm(client, keys, 100)).rejects.toThrow(/verdicts\.schema: 1 beside them/)
    clearInterval(beside)
    expect(await form()).toBe('1')

    const alone = setInterval(() => void own.advance(), 10)
    await raiseForm(client, keys, 100)
    clearInterval(alone)
    expect(await form()).toBe('2')
    // Data that are restored keep their form, whoever restores them.
    await own.suspend()
    await own.createIncarnation(at(5))
    expect(await form()).toBe('2')
  })

  it('shows a running process that Redis lost writes that were acknowledged to it', async () => {
    const living = redisIncarnation(client, keys)
    await living.begin(new Map(), true)
    await rolledBack(() => living.advance())
    expect(await living.advance()).toBe('rolled-back')
    expect(await redisIncarnation(client, keys).begin(new Map(), true)).toBe('rolled-back')
  })

  it('accepts no message if Redis lost writes acknowledged to the process, and accepts it when they are restored', async () => {
    const living = redisIncarnation(client, keys)
    await living.begin(new Map(), true)
    const threads = redisThreads(client, keys, KEEP, living.token)
    const arrival = { firstDue: 0, now: 0, threaded: true, atOnce: false }
    const said = (id: string, offset: number) => ({
      kind: 'said' as const,
      comment: { id, text: 'x', createdAt: 1 },
      origin: () => ({ topic: 'comments', partition: 0, offset: String(offset), timestamp: 0, raw: '', bytes: 0 }),
      place: { partition: 0, offset: String(offset), timestamp: 0 },
    })
    const put = (id: string, offset: number) => threads.putComments(REF, [said(id, offset)], 0, RULES)
    await threads.putPost(REF, POST, arrival, RULES)
    await rolledBack(async () => {
      await put('lost', 1)
      await living.advance()
    })
    await client.hdel(keys.thread(memberOf(REF)), 'commentPlace', 'accepted')
    await client.del(keys.comments(memberOf(REF)))
    // It does not know of the loss yet: this one stands behind what was lost, which would count as taken.
    await expect(put('next', 2)).rejects.toThrow(StoreSuspended)
    await expect(threads.putPost(REF, { ...POST, text: 'edited' }, arrival, RULES)).rejects.toThrow(StoreSuspended)
    expect(await living.advance()).toBe('rolled-back')
    await expect(put('next', 2)).rejects.toThrow(StoreSuspended)
    const recovery = redisThreads(client, keys, KEEP)
    expect(await recovery.putComments(REF, [said('lost', 1)], 0, RULES)).toEqual(['judged'])
    await living.createIncarnation(new Map())
    expect(await living.advance()).toBeNull()
    expect(await put('next', 2)).toEqual(['judged'])
  })

  it('shows a process that starts alone that Kafka knows of more, and spares one beside others', async () => {
    const before = redisIncarnation(client, keys)
    await before.begin(new Map(), true)
    await before.advance(at(5))
    await rolledBack(() => before.advance(at(9)))
    expect(await redisIncarnation(client, keys).begin(at(9), false)).toBeNull()
    await rolledBack(() => before.advance(at(12)))
    expect(await redisIncarnation(client, keys).begin(at(12), true)).toBe('rolled-back')
  })

  it('takes no process for one that lost something whose offsets another commits while it begins', async () => {
    const [living, next, last] = [1, 2, 3].map(() => redisIncarnation(client, keys))
    await living?.begin(new Map(), true)
    await living?.advance(at(5))
    // It has made this durable and commits it in a moment; who begins now has asked before that.
    await living?.advance(at(9))
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
    const copied = async () => client.hgetall(keys.incarnation)
    const startWith = async (data: Record<string, string>) => {
      await other.hset(keys.incarnation, data)
      up = other
    }

    it('is missed by every process that saw a higher watermark, however far others have raised it since', async () => {
      const [knowing, ignorant] = [redisIncarnation(moving, keys), redisIncarnation(moving, keys)]
      await knowing.begin(new Map(), true)
      await ignorant.begin(new Map(), false)
      const before = await copied()
      expect(await knowing.advance()).toBeNull()
      await startWith(before)
      for (let times = 0; times < 3; times++) expect(await ignorant.advance()).toBeNull()
      expect(await knowing.advance()).toBe('rolled-back')
      expect(await ignorant.advance()).toBe('rolled-back')
    })

    it('is missed by nobody where nothing is lost, through one start and another', async () => {
      const [one, two] = [redisIncarnation(moving, keys), redisIncarnation(moving, keys)]
      await one.begin(new Map(), true)
      await two.begin(new Map(), false)
      for (let times = 0; times < 3; times++) await one.advance()
      await startWith(await copied())
      expect(await two.advance()).toBeNull()
      // One has not been heard of in this run.
      const again = await other.hgetall(keys.incarnation)
      await client.del(keys.incarnation)
      await client.hset(keys.incarnation, { ...again, 'end:between': '9' })
      up = client
      expect(await one.advance()).toBeNull()
      expect(await two.advance()).toBeNull()
    })

    it('is not created by a recovery that began in an earlier run: some of what it wrote may be gone', async () => {
      const recovery = redisIncarnation(moving, keys)
      await recovery.suspend()
      await startWith(await copied())
      expect(await recovery.createIncarnation(at(7))).toBe(false)
      expect(await other.hget(keys.incarnation, 'lost')).toBe('recovering')
      expect(await recovery.suspend()).toBe(true)
      expect(await recovery.createIncarnation(at(7))).toBe(true)
    })

    it('opens and concludes nothing for a moment, so that who knows better can say so', async () => {
      const incarnation = redisIncarnation(moving, keys)
      await incarnation.begin(new Map(), true)
      expect(incarnation.quiet).toBe(false)
      const threads = redisThreads(moving, keys, KEEP, incarnation.token)
      const cases = redisCases(moving, keys, Date.now, incarnation.token)
      await startWith(await copied())
      const arrival = { firstDue: 0, now: 0, threaded: true, atOnce: false }
      await threads.putPost(REF, POST, arrival, RULES)
      const state = await threads.read(REF)
      if (state === null) throw new Error('no thread')
      const record = recordOf(1)
      const opening = { cases: [{ record, seen: 1 }], waiting: [], dormant: [], nextDue: null, final: true }
      expect(await threads.open(state, opening)).toEqual([])
      expect(await incarnation.advance()).toBeNull()
      expect(incarnation.quiet).toBe(true)
      expect(await threads.open(state, opening)).toEqual([])
      const stillQuiet = async () => {
        await incarnation.advance()
        return incarnation.quiet
      }
      await expect.poll(stillQuiet, { timeout: 10_000, interval: 100 }).toBe(false)
      expect(await threads.open(state, opening)).toEqual([record.id])
      const end = {
        verdict: '{}',
        transcript: '{}',
        carry: null,
        label: null,
        proposal: () => ({ verdict: '{}', transcript: '{}' }),
      }
      const { epoch = 0 } = (await cases.take(record.id)) ?? {}
      await moving.hset(keys.incarnation, 'run', 'another')
      expect(await cases.conclude(record, epoch, end)).toBe(false)
      await expect(cases.take(record.id)).rejects.toThrow(StoreSuspended)
      expect((await cases.peek(record.id))?.epoch, 'no taking over is counted').toBe(epoch)
      // Nor does a clock that is set back make it longer.
      await moving.hset(keys.incarnation, 'quiet', Date.now() + 3_600_000)
      await incarnation.advance()
      expect(incarnation.quiet).toBe(false)
    })
  })

  it('is suspended for everybody until a new one is founded, under a new id', async () => {
    const living = redisIncarnation(client, keys)
    await living.begin(new Map(), true)
    const id = living.token().incarnationId
    expect(await living.suspend()).toBe(false)
    expect(await living.suspend()).toBe(true)
    expect(await living.advance()).toBe('recovering')
    await living.createIncarnation(at(7))
    expect(await living.advance()).toBeNull()
    expect(living.token().incarnationId).not.toBe(id)
    expect(await redisIncarnation(client, keys).begin(at(7), true)).toBeNull()
  })

  it('is founded by the recovery that began last: an earlier one may be done while that is in the middle', async () => {
    const [living, first, second] = [1, 2, 3].map(() => redisIncarnation(client, keys))
    await living?.begin(new Map(), true)
    await first?.suspend()
    await second?.suspend()
    await expect(first?.createIncarnation(at(7))).rejects.toThrow('Another "gavel recover" was started')
    expect(await living?.advance()).toBe('recovering')
    expect(await second?.createIncarnation(at(7))).toBe(true)
    await expect(first?.createIncarnation(at(7))).rejects.toThrow('Another "gavel recover" was started')
    expect(await living?.advance()).toBeNull()
  })
})

describe('since when everything that was published is known', () => {
  const since = () => client.hget(keys.incarnation, 'since')

  it('is said by a beginning with nothing, and by no other', async () => {
    await redisIncarnation(client, keys).begin(new Map(), true)
    expect(Date.now() - Number(await since())).toBeLessThan(60_000)
    await client.del(keys.incarnation)
    await client.hset(keys.marks, 'posts/0', '{}')
    await redisIncarnation(client, keys).begin(at(5), true)
    expect(await since()).toBeNull()
  })

  it('is forgotten by a recovery, unless it knows all revisions', async () => {
    const incarnation = redisIncarnation(client, keys)
    await incarnation.begin(new Map(), true)
    await incarnation.suspend()
    await incarnation.setComplete(false)
    await incarnation.createIncarnation(at(7))
    expect(await since()).toBeNull()
    await incarnation.suspend()
    await incarnation.setComplete(true)
    await incarnation.createIncarnation(at(7))
    expect(Date.now() - Number(await since())).toBeLessThan(60_000)
  })
})

describe('on data that a process does not know', () => {
  async function make() {
    const incarnation = redisIncarnation(client, keys)
    await incarnation.begin(new Map(), true)
    const threads = redisThreads(client, keys, KEEP, incarnation.token)
    const cases = redisCases(client, keys, () => 1_000, incarnation.token)
    await threads.putPost(REF, POST, { firstDue: 1, now: 1, threaded: true, atOnce: false }, RULES)
    const open = async () => {
      const state = await threads.read(REF)
      if (state === null) throw new Error('the thread is not there')
      const opening = {
        cases: [{ record: recordOf(1), seen: 1 }],
        waiting: [],
        dormant: [],
        nextDue: null,
        final: true,
      }
      return threads.open(state, opening)
    }
    return { incarnation, threads, cases, open }
  }
  const END = {
    verdict: '{}',
    transcript: '{}',
    carry: null,
    label: null,
    proposal: () => ({ verdict: '{}', transcript: '{}' }),
  }

  it.each([
    ['emptied', async (_: unknown) => clean()],
    ['rolled back', async (advance: () => Promise<unknown>) => rolledBack(advance)],
    ['suspended', async (_: unknown) => redisIncarnation(client, keys).suspend()],
  ])('no case opens and none concludes: it was %s', async (_, lose) => {
    const { incarnation, cases, open, threads } = await make()
    expect(await open()).toEqual(['rumor~p~r1'])
    const taken = await cases.take('rumor~p~r1')
    await lose(incarnation.advance)
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
    const published = [{ protocol: 'rumor', revision: 1, final: true, deleted: false, contested: false }]
    expect(await recovery.restore(REF, published)).toEqual({ raised: 1, givenUp: 1 })
    expect(await recovery.restore(REF, published)).toEqual({ raised: 0, givenUp: 0 })
    expect(await cases.take('rumor~p~r1')).toBeNull()
    expect(await cases.countOpen()).toBe(0)
    expect((await threads.read(REF))?.revisions.get('rumor')).toMatchObject({ revision: 1, final: true, openId: null })
  })

  it('the next revision supersedes the last one on the topic, also where Redis knew an earlier one as the last', async () => {
    const { threads } = await make()
    const recovery = redisRecovery(client, keys, { ...KEEP, clock: () => 1_000, allAgain: false })
    const restore = (revision: number, deleted = false) =>
      recovery.restore(REF, [{ protocol: 'rumor', revision, final: true, deleted, contested: false }])
    const last = async () => (await threads.read(REF))?.revisions.get('rumor')?.published
    await restore(1)
    expect(await last()).toBe(1)
    // A case was open as the second when Redis was rolled back, and then published.
    await client.hset(keys.thread(memberOf(REF)), { 'rev:rumor': 2, 'ruling:rumor': '{}' })
    await restore(2)
    expect(await last()).toBe(2)
    expect(await client.hget(keys.thread(memberOf(REF)), 'ruling:rumor')).toBeNull()
    await restore(2, true)
    expect(await last()).toBeUndefined()
  })

  it('a revision with two contents is due for the next one, until that is open', async () => {
    const { threads } = await make()
    const recovery = redisRecovery(client, keys, { ...KEEP, clock: () => 1_000, allAgain: true })
    const published = [{ protocol: 'rumor', revision: 1, final: true, deleted: false, contested: false }]
    await recovery.restore(REF, published)
    const seen = async () => (await threads.read(REF))?.revisions.get('rumor')?.seen
    await client.hset(keys.thread(memberOf(REF)), 'seen:rumor', 1)
    await recovery.restore(REF, published)
    expect(await seen()).toBe(1)
    await recovery.restore(REF, [{ ...published[0], contested: true } as (typeof published)[0]])
    expect(await seen()).toBe(-1)
  })
})
