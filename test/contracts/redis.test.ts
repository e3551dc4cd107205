import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import type { Settings } from '../../config/schema.ts'
import { publisher } from '../../producers/publisher/publisher.ts'
import { RetryLaterError } from '../../src/contracts/facts/errors.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import { StoreSuspended } from '../../src/contracts/ports/cases.ts'
import type { HumanDecision } from '../../src/contracts/ports/decisions.ts'
import type { OutgoingMessage } from '../../src/contracts/ports/topic.ts'
import { freePort, type RestartableServer } from '../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { ownerOf } from '../../src/shelves/names.ts'
import { redisAnswers } from '../../src/store/answer/redis.ts'
import { redisCases } from '../../src/store/case/redis.ts'
import { redisDecisions } from '../../src/store/decision/redis.ts'
import { knownDeletions, redisErasures } from '../../src/store/erasure/redis.ts'
import { redisMemo } from '../../src/store/memo/redis.ts'
import { redisOutbox } from '../../src/store/outbox/redis.ts'
import { redisRecovery } from '../../src/store/recovery/redis.ts'
import { redisJudgeAgain } from '../../src/store/recovery/redis-judge-again.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { NO_FENCING } from '../../src/store/redis/incarnation.ts'
import { keysUnder, memberOf } from '../../src/store/redis/keys.ts'
import { luaOf } from '../../src/store/redis/script.ts'
import { knownSecretOf, secretOf } from '../../src/store/redis/shared-key.ts'
import { redisTraceLinks } from '../../src/store/redis/trace-links.ts'
import { redisThreads } from '../../src/store/thread/redis.ts'
import { redisMarks } from '../../src/store/thread/redis-marks.ts'
import { hookContent, redisWebhooks } from '../../src/store/webhook/redis.ts'
import { startProxy } from '../chaos/proxy.ts'
import { onRedis } from '../support/on-redis.ts'
import { askedContract } from './asked.ts'
import { caseStoreContract } from './case-store.ts'
import { decisionsContract } from './decisions.ts'
import { erasureContract } from './erasure.ts'
import { heldContract } from './held.ts'
import { asked, judgeAgainContract, remembered } from './judge-again.ts'
import { outboxContract } from './outbox.ts'
import {
  ARRIVAL,
  DECISION_TOPICS,
  endOf,
  HOUR,
  postOf,
  RULES,
  recordOf,
  retractionOf,
  said,
  T0,
  thread,
  unsaid,
} from './samples.ts'
import { shownContract } from './shown.ts'
import { concludeCase, judgeOnce, type MakeStores, openCase, readThread, type Stores, takeCase } from './stores.ts'
import { storiesContract } from './stories.ts'
import { streamMarksContract } from './stream-marks.ts'
import { takeoverContract } from './takeover.ts'
import { threadStoreContract } from './thread-store.ts'
import { webhookContract } from './webhooks.ts'

const KEEP_JOURNAL = 60_000
const KEEP_THREAD = 120_000
const KEEP_TOMBSTONE = 180_000
const RECOVERY = { keepTombstoneMs: KEEP_TOMBSTONE, clock: () => T0, allAgain: true }

let server: RestartableServer
let client: Redis
onRedis.beforeAll(({ redis, client: one }) => {
  server = redis
  client = one
})

describe('a connection', () => {
  it.each(['itself', 'its duplicate'])('writes at once what is sent at once: %s', async (which) => {
    const first = connect(server.settings.REDIS_URL ?? '', () => {}, 'retrying')
    const lone = which === 'itself' ? first : first.duplicate()
    try {
      await lone.ping()
      const [one, many] = [vi.spyOn(lone.stream, '_write'), vi.spyOn(lone.stream, '_writev')]
      await Promise.all(Array.from({ length: 50 }, (_, i) => lone.get(`nothing-${i}`)))
      expect([one.mock.calls.length, many.mock.calls.length]).toEqual([0, 1])
    } finally {
      lone.disconnect()
      first.disconnect()
    }
  })

  it('sends a script whole that Redis does not know, and once', async () => {
    const lone = connect(server.settings.REDIS_URL ?? '', () => {}, 'retrying')
    await lone.ping()
    const sent = vi.spyOn(lone, 'sendCommand')
    try {
      const twice = luaOf(`return { KEYS[1], ARGV[1] .. ARGV[1] } -- ${randomUUID()}`)
      for (let time = 0; time < 3; time++) expect(await twice(lone, ['key'], ['ab'])).toEqual(['key', 'abab'])
      const names = sent.mock.calls.map(([{ name }]) => name).filter((name) => name.startsWith('eval'))
      expect(names).toEqual(['evalsha', 'eval', 'evalsha', 'evalsha'])
      const wrong = luaOf('return redis.error_reply("NO such luck")')
      await expect(wrong(lone, [], [])).rejects.toThrow('NO such luck')
    } finally {
      lone.disconnect()
    }
  })
})

describe.each(['retrying', 'fail-fast'] as const)('a connection that is lost before it is ready (%s)', (kind) => {
  it('still has an answer to what was asked on it', async () => {
    const { host } = new URL(server.settings.REDIS_URL ?? '')
    const proxy = await startProxy(await freePort(), () => host)
    const early = connect(`redis://${proxy.address}`, () => {}, kind)
    try {
      await early.ping()
      // The next connection opens, is asked, and is reset before anything has come back.
      await proxy.set({ kind: 'hold' })
      const opened = new Promise((resolve) => early.once('connect', resolve))
      proxy.cut()
      await opened
      const answers = Promise.all([early.info('memory'), early.time(), early.get('nothing')])
      proxy.cut()
      await proxy.set({ kind: 'clear' })
      const [memory, time, nothing] = await answers
      expect([memory.includes('used_memory'), time.length, nothing]).toEqual([true, 2, null])
    } finally {
      early.disconnect()
      await proxy.close()
    }
  })
})

describe('a fail-fast connection', () => {
  it('fails what was under way when it was lost, if it is let in no more', async () => {
    await client.call('ACL', 'SETUSER', 'leaver', 'on', '>one', '~*', '+@all')
    const url = (server.settings.REDIS_URL ?? '').replace('//', '//leaver:one@')
    const failFast = connect(url, () => {}, 'fail-fast')
    try {
      await failFast.ping()
      const underWay = failFast.blpop(`never-${randomUUID()}`, 0)
      await client.call('ACL', 'SETUSER', 'leaver', 'resetpass', '>two')
      await client.call('CLIENT', 'KILL', 'USER', 'leaver')
      await expect(underWay).rejects.toThrow('no answer after 4 tries')
      await expect(failFast.ping()).rejects.toThrow('WRONGPASS')
    } finally {
      failFast.disconnect()
    }
  })
})

describe('a connection that is asked to end', () => {
  it('ends while it waits for its next try, with what waits on it', async () => {
    const lone = connect(`redis://127.0.0.1:${await freePort()}`, () => {}, 'retrying')
    const waiting = expect(lone.get('x')).rejects.toThrow('closed')
    await vi.waitUntil(() => lone.status === 'reconnecting')
    const ended = once(lone, 'end')
    lone.disconnect()
    await Promise.all([ended, waiting])
  })

  it('leaves nothing without an answer that was under way before it was lost', async () => {
    const port = await freePort()
    const short = await startRedis({ say: () => {}, port })
    const first = connect(short.settings.REDIS_URL ?? '', () => {}, 'retrying')
    const second = first.duplicate()
    second.on('error', () => {})
    await second.ping()
    const underWay = expect(second.blpop('never', 0)).rejects.toThrow('closed')
    await short.close()
    const silent = createServer().listen(port, '127.0.0.1')
    const sockets: Socket[] = []
    silent.on('connection', (socket) => sockets.push(socket))
    try {
      await vi.waitUntil(() => second.status === 'connect', { timeout: 10_000 })
      second.disconnect()
      await underWay
    } finally {
      first.disconnect()
      for (const socket of sockets) socket.destroy()
      silent.close()
    }
  })
})

describe('the key of fences and sampling', () => {
  const start = async (keys: ReturnType<typeof keysUnder>, set = '') => {
    const told: string[] = []
    const secret = await secretOf(client, keys, set, (name) => void told.push(name))
    return { secret, told }
  }

  it('is made once for all processes where none is set, and each says that it goes with Redis', async () => {
    const keys = keysUnder(`test-${randomUUID()}`)
    const first = await start(keys)
    expect(first.secret).toMatch(/^[0-9a-f]{64}$/)
    expect(await Promise.all([start(keys), start(keys)])).toEqual([first, first])
    expect(first.told).toEqual(['key:unset'])
    await client.del(keys.fence)
    const second = await start(keys)
    expect(second.secret).not.toBe(first.secret)
    expect(second.told).toEqual(['key:unset', 'key:changed'])
  })

  it('is the one that is set, also with an empty Redis, which never learns it; a change is reported once', async () => {
    const [keys, empty] = [keysUnder(`test-${randomUUID()}`), keysUnder(`test-${randomUUID()}`)]
    const set = { secret: 'the one that is set', told: [] }
    expect(await start(keys, set.secret)).toEqual(set)
    expect(await start(empty, set.secret)).toEqual(set)
    expect((await client.mget(keys.fence, keys.samplingVersion)).join()).not.toContain(set.secret)
    expect(await start(keys, 'another that is set')).toMatchObject({ told: ['key:changed'] })
    expect(await start(keys, 'another that is set')).toMatchObject({ told: [] })
  })

  it('is only read by a command that starts no service, which says if the service has another', async () => {
    const keys = keysUnder(`test-${randomUUID()}`)
    const read = async (set = '') => {
      const told: string[] = []
      await knownSecretOf(client, keys, set, (name) => void told.push(name))
      return told
    }
    expect(await read()).toEqual([])
    await start(keys, 'the one that is set')
    expect(await read('the one that is set')).toEqual([])
    expect([await read(), await read('another')]).toEqual([['key:changed'], ['key:changed']])
    expect(await client.exists(keys.fence)).toBe(0)
    expect(await start(keys, 'the one that is set')).toMatchObject({ told: [] })
  })
})

/** Stores under a prefix that no other test has. */
async function makeRedis(): Promise<Stores & { keys: ReturnType<typeof keysUnder> }> {
  const keys = keysUnder(`test-${randomUUID()}`)
  const blocking = client.duplicate()
  let now = T0
  const clock = () => now
  const answers = redisAnswers(client, keys, { subscribe: () => client.duplicate(), report: () => {} })
  return {
    keys,
    threads: redisThreads(client, keys, { keepTombstoneMs: KEEP_TOMBSTONE, keepAfterFinalMs: KEEP_THREAD }),
    cases: redisCases(client, keys, clock),
    outbox: redisOutbox(client, blocking, keys, {
      keepJournalMs: KEEP_JOURNAL,
      keepAfterFinalMs: KEEP_THREAD,
      keepTombstoneMs: KEEP_TOMBSTONE,
      clock,
    }),
    marks: redisMarks(client, keys),
    erasures: redisErasures(client, keys),
    decisions: redisDecisions({
      client,
      keys,
      settings: { keepTombstoneMs: KEEP_TOMBSTONE, keepAfterFinalMs: KEEP_THREAD },
      token: NO_FENCING,
    }),
    judgeAgain: redisJudgeAgain(client, keys, { keepTombstoneMs: KEEP_TOMBSTONE }),
    answers,
    webhooks: redisWebhooks(client, keys),
    async pass(ms) {
      now += ms
      await sleep(ms)
    },
    traces: async (text) => {
      const held = await Promise.all((await client.keys(`${keys.queues.replace(/:bull$/, '')}*`)).map(whole))
      return held.flatMap(([key, content]) => (`${key} ${content}`.includes(text) ? [key] : []))
    },
    async close() {
      await answers.close()
      blocking.disconnect()
    },
  }
}
const make: MakeStores = makeRedis

/** A key and everything that is in it, whatever its type. */
async function whole(key: string): Promise<[string, string]> {
  const type = await client.type(key)
  const read: Record<string, () => Promise<unknown>> = {
    string: () => client.get(key),
    hash: () => client.hgetall(key),
    list: () => client.lrange(key, 0, -1),
    set: () => client.smembers(key),
    zset: () => client.zrange(key, '0', '-1'),
    stream: () => client.xrange(key, '-', '+'),
  }
  const reader = read[type]
  if (reader === undefined) throw new Error(`${key} is a ${type}`)
  return [key, JSON.stringify(await reader())]
}

threadStoreContract('in Redis', make)
takeoverContract('in Redis', make)
caseStoreContract('in Redis', make)
outboxContract('in Redis', make)
erasureContract('in Redis', make)
shownContract('in Redis', make)
judgeAgainContract('in Redis', make)
askedContract('in Redis', make)
heldContract('in Redis', make)
webhookContract('in Redis', async (keepMs) => {
  const keys = keysUnder(`test-${randomUUID()}`)
  const entry = (await client.xadd(keys.outbox, '*', 'kind', 'verdict')) ?? ''
  return {
    webhooks: redisWebhooks(client, keys, keepMs),
    from: { entry, caseId: 'none' },
    forget: async (ref) => void (await client.unlink(hookContent(keys, memberOf(ref)))),
    async strip(ref) {
      const threads = redisThreads(client, keys, { keepTombstoneMs: KEEP_TOMBSTONE, keepAfterFinalMs: KEEP_THREAD })
      await threads.eraseLeft(ref, { openIds: [], without: () => null, caseId: () => 'none', now: T0 })
    },
    now: Date.now,
    pass: (ms) => sleep(ms),
    close: async () => {},
  }
})
decisionsContract('in Redis', make)
storiesContract('in Redis', make)

it('threads of a story that were forgotten take no place among those of which others may be shown comments', async () => {
  const stores = await makeRedis()
  const put = (ref: ThreadRef) => stores.threads.putPost(ref, postOf(ref), { ...ARRIVAL, story: 's' }, RULES)
  const crowd = Array.from({ length: 16 }, (_, nth) => thread(`f${nth}`))
  for (const [nth, ref] of crowd.entries()) {
    await put(ref)
    await stores.threads.twins(ref, nth)
  }
  await put(thread('late'))
  expect(await stores.threads.twins(thread('late'), 99)).toEqual(crowd)
  for (const ref of crowd.slice(1)) await client.unlink(stores.keys.thread(memberOf(ref)))
  expect(await stores.threads.twins(thread('late'), 99)).toEqual(crowd.slice(0, 1))
  await put(thread('other'))
  expect(await stores.threads.twins(thread('other'), 100)).toEqual([...crowd.slice(0, 1), thread('late')])
  await stores.close()
})

describe('a transcript in the outbox', () => {
  const words = (at: number) => `comment ${at} says that this is so, and nothing else. `
  const long = JSON.stringify({
    verdictId: 'v',
    turns: Array.from({ length: 500 }, (_, at) => words(at)),
    end: 'é 한 👍',
  })

  async function concluded(stores: Stores, postId: string, transcript: string) {
    const ref = thread(postId)
    await stores.threads.putPost(ref, postOf(ref), ARRIVAL, RULES)
    const record = await openCase(stores, ref)
    const { epoch } = await takeCase(stores, record.id)
    expect(await stores.cases.conclude(record, epoch, { ...endOf(record), transcript })).toBe(true)
  }
  const handedOut = async (stores: Stores) =>
    (await stores.outbox.next('one', 10, 20)).map((entry) => ('transcript' in entry ? entry.transcript : entry.kind))

  it('is compressed where it is long, and is handed out, and adopted, byte for byte', async () => {
    const stores = await makeRedis()
    try {
      for (const [id, text] of [
        ['a', long],
        ['b', '{"verdictId":"short"}'],
      ] as const)
        await concluded(stores, id, text)
      const held = await client.xrange(stores.keys.outbox, '-', '+')
      const [first = '', second] = held.map(([, flat]) => flat[flat.indexOf('transcript') + 1])
      expect(first.length).toBeLessThan(long.length / 5)
      expect(first).not.toContain('so')
      expect(second).toBe('{"verdictId":"short"}')
      expect(await handedOut(stores)).toEqual([long, second])
      await stores.pass(20)
      const adopted = await stores.outbox.adopt('two', 10, 10)
      expect(adopted.map((entry) => 'transcript' in entry && entry.transcript)).toEqual([long, second])
    } finally {
      await stores.close()
    }
  })

  it('is read also where it was written plain, and one that cannot be read is no verdict’s and holds up no other', async () => {
    const stores = await makeRedis()
    try {
      for (const transcript of [long, 'zstd:AAAA', `zstd:${Buffer.from(long).toString('base64')}`])
        await client.xadd(
          stores.keys.outbox,
          '*',
          'kind',
          'verdict',
          'case',
          'c',
          'verdict',
          '{}',
          'transcript',
          transcript,
        )
      await concluded(stores, 'p', long)
      expect(await handedOut(stores)).toEqual([long, 'unknown', 'unknown', long])
    } finally {
      await stores.close()
    }
  })
})

it('keeps no names of lanes of a receiver that nobody sends to, beyond their deliveries', async () => {
  const keys = keysUnder(`test-${randomUUID()}`)
  const webhooks = redisWebhooks(client, keys, 500)
  const put = (postId: string, revision: number) => {
    const of = { hook: 'gone', protocol: 'hate', from: { entry: '1-1', caseId: 'none' }, ref: thread(postId) }
    return webhooks.put([
      { ...of, verdictId: `${postId} ${revision}`, revision, follows: false, retracts: true, body: '', bare: '' },
    ])
  }
  for (const postId of ['p1', 'p2']) await put(postId, 1)
  for (const revision of [1, 2]) {
    await sleep(300)
    await put('p3', revision)
  }
  expect(await client.zrange(keys.under('hooks:due:gone'), '0', '-1')).toEqual(['gone hate default:p3'])
})

it('counts anew what a receiver holds, once in ten minutes, before anything is left out: an earlier version keeps no such sum', async () => {
  const keys = keysUnder(`test-${randomUUID()}`)
  const webhooks = redisWebhooks(client, keys)
  const of = { hook: 'shop', protocol: 'hate', from: { entry: '1-1', caseId: 'none' }, revision: 1, follows: false }
  const put = async (postId: string) => {
    const notice = { ...of, retracts: true, isNotice: true, body: '', bare: '' }
    const one = { ...notice, verdictId: postId, ref: thread(postId, 'acme') }
    return (await webhooks.put([one], { queued: 1_200, withNotice: null })).length
  }
  expect([await put('p1'), await put('p2'), await put('p3')]).toEqual([0, 0, 1])
  // What an earlier version does with what it has sent. More wait than are counted in one step.
  const many = Array.from({ length: 3_000 }, (_, nth) => [nth, `other ${nth}`]).flat()
  const [sent = ''] = await client.zrange(keys.under('hooks:waiting'), '0', '0')
  await client.zrem(keys.under('hooks:waiting'), sent)
  await client.zadd(keys.under('hooks:waiting'), ...many)
  expect(await put('p3')).toBe(1)
  const tenMinutesLater = () => client.hset(keys.under('hooks:counted:acme shop'), 'at', Date.now() - 601_000)
  await tenMinutesLater()
  expect([await put('p3'), await put('p4')]).toEqual([0, 1])
  expect(await client.zscore(keys.under('hooks:held'), 'acme shop')).toBe('1000')
  // What an earlier version queued counts, too, as soon as it was counted.
  await client.del(keys.under('hooks:held'), keys.under('hooks:counted:acme shop'))
  expect(await put('p4')).toBe(1)
})

describe('a command on the library', () => {
  const url = () => server.settings.REDIS_URL ?? ''
  const settings = (change: Partial<Settings['redis']>) => ({ redis: { ...loadSettings({}).redis, ...change } })

  it('knows from Redis what was deleted, and asks it for nothing else', async () => {
    const prefix = `test-${randomUUID()}`
    const owner = ownerOf({ tenant: 'default', id: 'p1', kind: 'post' })
    const known = knownDeletions(settings({ url: url(), prefix }))
    expect(await known.deletedAmong([owner])).toEqual(new Set())
    await redisErasures(client, keysUnder(prefix)).note(thread('p1'))
    expect(await known.deletedAmong([owner, 'another'])).toEqual(new Set([owner]))
    await known.close()
  })

  it('fails where Redis is set and does not answer, and knows of nothing where none is set', async () => {
    const away = knownDeletions(settings({ url: `redis://127.0.0.1:${await freePort()}` }))
    expect(await away.deletedAmong([])).toEqual(new Set())
    await expect(away.deletedAmong(['an owner'])).rejects.toThrow(RetryLaterError)
    await away.close()
    expect(await knownDeletions(settings({})).deletedAmong(['an owner'])).toEqual(new Set())
  })
})
streamMarksContract('in Redis', make)

describe('in Redis', () => {
  const p1 = thread('p1')
  let stores: Awaited<ReturnType<typeof makeRedis>>
  beforeEach(async () => {
    stores = await makeRedis()
    const media = [{ kind: 'image' as const, url: `data:image/png;base64,${'A'.repeat(5_000)}` }]
    await stores.threads.putPost(p1, postOf(p1, { media }), ARRIVAL, RULES)
    await stores.threads.putComments(p1, [said('c1')], T0, RULES)
  })
  afterEach(() => stores.close())

  const lifetimes = async () => {
    const { keys } = stores
    const member = memberOf(p1)
    const threadKeys = [keys.thread(member), keys.comments(member), keys.sample(member), keys.images(member)]
    const caseKeys = [keys.case('rumor~p1~r1')]
    return {
      thread: await Promise.all(threadKeys.map((key) => client.pttl(key))),
      case: await Promise.all(caseKeys.map((key) => client.pttl(key))),
    }
  }
  const NEVER = -1

  it('a thread lives until its final verdict is published, and its journal a set time after each', async () => {
    await judgeOnce(stores, p1)
    const early = await lifetimes()
    expect(early.thread).toEqual([NEVER, NEVER, NEVER, NEVER])
    for (const ms of early.case) expect(ms).toBeGreaterThan(KEEP_JOURNAL - 10_000)
    await judgeOnce(stores, p1, { final: true })
    for (const ms of (await lifetimes()).thread) {
      expect(ms).toBeGreaterThan(KEEP_THREAD - 10_000)
      expect(ms).toBeLessThanOrEqual(KEEP_THREAD)
    }
  })

  it('a thread that re-opens does not expire while it is judged again: its revision number would be lost', async () => {
    await judgeOnce(stores, p1, { final: true })
    await stores.threads.putComments(p1, [said('c2')], T0, RULES)
    expect((await lifetimes()).thread).toEqual([NEVER, NEVER, NEVER, NEVER])
    await openCase(stores, p1, { final: true })
    expect((await lifetimes()).thread).toEqual([NEVER, NEVER, NEVER, NEVER])
  })

  it.each(['a person takes a verdict back', 'a protocol is on again'])(
    'where %s, a thread that would have expired keeps its comments until it is judged anew',
    async (why) => {
      const place = { partition: 0, offset: '9', timestamp: T0 }
      const decision = {
        ref: p1,
        protocol: 'rumor',
        place,
        same: 'one',
        force: true,
        opinion: false,
        by: 'ben',
        why: '',
      }
      const written = () => ({ label: 'rumor', verdict: '{}', transcript: '{}' })
      await judgeOnce(stores, p1, { final: true })
      if (why.startsWith('a person')) {
        const decided = { ...decision, withdraw: false, label: 'rumor', against: 1 }
        await stores.decisions.decide(decided, 'rumor~p1~r', T0, written)
        await stores.outbox.done(await stores.outbox.next('one', 10, 10))
        const withdrawn = { ...decision, place: { ...place, offset: '10' }, same: 'another', label: null, against: 2 }
        await stores.decisions.decide({ ...withdrawn, withdraw: true }, 'rumor~p1~r', T0, () => null)
      } else {
        const state = await readThread(stores, p1)
        const opening = { cases: [], waiting: [], dormant: [], nextDue: null, final: true }
        await stores.threads.open(state, { ...opening, absent: ['hate'] })
        expect(await stores.threads.wake('hate', T0)).toBe(1)
      }
      expect((await readThread(stores, p1)).dueSince).toBe(T0)
      expect((await lifetimes()).thread).toEqual([NEVER, NEVER, NEVER, NEVER])
    },
  )

  it('a post that comes again after its thread has expired goes on counting its revisions', async () => {
    await judgeOnce(stores, p1)
    await judgeOnce(stores, p1, { final: true })
    await forgetThread()
    expect(await stores.threads.putPost(p1, { ...postOf(p1), text: 'edited' }, ARRIVAL, RULES)).toBe('updated')
    const { expired, revisions } = await readThread(stores, p1)
    expect(expired).toBe(true)
    expect(revisions.get('rumor')).toMatchObject({ revision: 2, seen: -1, openId: null })
    expect(await openCase(stores, p1)).toMatchObject({ revision: 3, supersedes: 'rumor~p1~r2' })
  })

  it('comments on an expired thread are late and not kept, before and after the post comes again', async () => {
    const { keys } = stores
    const member = memberOf(p1)
    await judgeOnce(stores, p1, { final: true })
    await forgetThread()
    const changes = [said('c2'), { kind: 'deleted' as const, id: 'c1', createdAt: T0 }]
    expect(await stores.threads.putComments(p1, changes, T0, RULES)).toEqual(['late', 'deleted'])
    expect(await stores.threads.read(p1)).toBeNull()
    expect(await stores.threads.due(Number.POSITIVE_INFINITY, 10)).toEqual([])
    expect(await client.exists(keys.comments(member), keys.orphans(member), keys.sample(member))).toBe(0)
    const rules = { ...RULES, counts: [1] }
    await stores.threads.putPost(p1, { ...postOf(p1), text: 'edited' }, ARRIVAL, rules)
    expect(await stores.threads.putComments(p1, changes, T0, rules)).toEqual(['late', 'deleted'])
    expect(await readThread(stores, p1)).toMatchObject({ comments: [], accepted: 0, late: 0, generation: 0 })
    expect(await client.exists(keys.comments(member))).toBe(0)
  })

  it('a post that is deleted after its thread has expired is retracted under the next number', async () => {
    await judgeOnce(stores, p1, { final: true })
    const { keys } = stores
    const member = memberOf(p1)
    await client.del(keys.thread(member), keys.comments(member), keys.sample(member))
    const retractions: string[] = []
    const retraction = (protocol: string, revision: number) => {
      retractions.push(`${protocol} ${revision}`)
      return retractionOf(p1)(protocol, revision)
    }
    expect(await stores.threads.deleteUnknown([p1], T0)).toEqual([false])
    expect(await stores.threads.deletePost(p1, retraction)).toBe('deleted')
    expect(retractions).toEqual(['rumor 2'])
    expect(await stores.outbox.size()).toBe(1)
  })

  it('a subject about which the memo knows an answer is no unknown one', async () => {
    const memo = redisMemo(client, stores.keys.under)
    await memo.lookUp(['frame.question'], 'asker', HOUR, p1)
    expect(await stores.threads.deleteUnknown([p1, thread('p2')], T0)).toEqual([false, true])
  })

  const said1 = (id: string) => stores.threads.putComments(p1, [said(id)], T0, RULES)
  const retractedRevisions = async () => {
    const retractions: string[] = []
    const ended = await stores.threads.deletePost(p1, (protocol, revision) => {
      retractions.push(`${protocol} ${revision}`)
      return retractionOf(p1)(protocol, revision)
    })
    return { ended, retractions, published: await stores.outbox.size() }
  }
  const forgetThread = () => {
    const { keys } = stores
    const member = memberOf(p1)
    return client.del(keys.thread(member), keys.comments(member), keys.sample(member), keys.authors(member))
  }
  const restored = (revision: number) =>
    redisRecovery(client, stores.keys, RECOVERY).restore(p1, [
      { protocol: 'rumor', revision, final: true, deleted: false, contested: false },
    ])

  it('a post whose thread has expired, and was begun again by a late comment, is retracted when it is deleted', async () => {
    await judgeOnce(stores, p1, { final: true })
    await forgetThread()
    await said1('late')
    expect(await retractedRevisions()).toEqual({ ended: 'deleted', retractions: ['rumor 2'], published: 1 })
  })

  it('of a comment that is deleted when its thread has expired, no case that is kept longer holds the words', async () => {
    const words = 'SECRET-words'
    await stores.threads.putComments(p1, [said('c9', { text: words })], T0, RULES)
    await judgeOnce(stores, p1, { final: true })
    await forgetThread()
    expect(await stores.traces?.(words)).not.toEqual([])
    const caseId = (protocol: string, revision: number) => `${protocol}~p1~r${revision}`
    await stores.threads.eraseLeft(p1, { openIds: [], without: () => null, caseId, now: T0 })
    expect(await stores.traces?.(words)).toEqual([])
  })

  it('a post that a recovery brought back, and whose thread has expired since, is retracted when it is deleted', async () => {
    await restored(3)
    await forgetThread()
    expect(await retractedRevisions()).toEqual({ ended: 'deleted', retractions: ['rumor 4'], published: 1 })
  })

  it('a post that nobody judges any more has what a recovery brought back retracted when it is deleted', async () => {
    await forgetThread()
    await restored(3)
    const nobody = { ...ARRIVAL, threaded: false }
    expect(await stores.threads.putPost(p1, postOf(p1), nobody, RULES)).toBe('unrouted')
    expect(await retractedRevisions()).toEqual({ ended: 'deleted', retractions: ['rumor 4'], published: 1 })
  })

  it('a deletion beside which everything changes again and again ends, and says so', async () => {
    await judgeOnce(stores, p1)
    let revision = 1
    const changing = stores.threads.deletePost(p1, (protocol, next) => {
      void client.hset(stores.keys.thread(memberOf(p1)), 'rev:rumor', ++revision)
      return retractionOf(p1)(protocol, next)
    })
    await expect(changing).rejects.toThrow('kept changing during erasure')
  })

  describe('of what people decided a recovery', () => {
    const place = { partition: 0, offset: '5', timestamp: T0 }
    const one = {
      protocol: 'rumor',
      verdict: 'rumor~p1~r3',
      stands: true,
      revision: 3,
      label: 'non-rumor',
      of: '0@5',
      by: 'ann',
      place,
      same: 'it',
      asked: ['edited'],
      proposal: 6,
      isUntold: true,
    }
    const restore = (change: Partial<typeof one> = {}) =>
      redisRecovery(client, stores.keys, RECOVERY).restoreDecided(p1, [{ ...one, ...change }])
    const decide = (change: Partial<HumanDecision> = {}) =>
      stores.decisions.decide(
        {
          ref: p1,
          protocol: 'rumor',
          place,
          same: 'it',
          withdraw: false,
          label: 'rumor',
          against: 3,
          force: false,
          opinion: false,
          by: 'ben',
          why: 'Ticket 89.',
          ...change,
        },
        'rumor~p1~r',
        T0,
        ({ number }) => ({ label: 'rumor', verdict: `{"number":${number}}`, transcript: '{}' }),
      )
    it('numbers the next case behind the last proposal', async () => {
      await judgeOnce(stores, p1)
      await restore()
      expect(await client.hget(stores.keys.thread(memberOf(p1)), 'rev:rumor')).toBe('6')
    })

    it('leaves decisions to be written anew where what machines said last changes meanwhile', async () => {
      await judgeOnce(stores, p1)
      await restore()
      const seen: (string | null)[] = []
      const decided = await stores.decisions.decide(
        {
          ref: p1,
          protocol: 'rumor',
          place: { ...place, offset: '9' },
          same: 'another',
          withdraw: true,
          label: null,
          against: 3,
          force: false,
          opinion: false,
          by: 'ben',
          why: 'Ticket 89.',
        },
        'rumor~p1~r',
        T0,
        ({ machine }) => {
          seen.push(machine)
          // Sent before the script that carries the decision out.
          if (seen.length === 1) void client.hset(stores.keys.decided(memberOf(p1)), 'machine:rumor', '{"newer":1}')
          return { label: 'rumor', verdict: `{"of":${machine}}`, transcript: '{}' }
        },
      )
      expect(decided).toMatchObject({ outcome: 'withdrawn' })
      expect(seen).toEqual([null, '{"newer":1}'])
    })

    const later = { partition: 0, offset: '6', timestamp: T0 + 1 }
    const all = async () => {
      const entries = await stores.outbox.next('the publisher', 100, 10)
      await stores.outbox.done(entries)
      return entries
    }

    it('restores once, with the outcomes that were not published yet', async () => {
      expect(await restore()).toBe(1)
      expect(await restore()).toBe(0)
      expect(await all()).toMatchObject([{ kind: 'outcome', outcome: { outcome: 'stands', of: '0@5', revision: 3 } }])
      expect((await stores.decisions.decided(p1)).get('rumor')).toMatchObject({ verdict: 'rumor~p1~r3', stands: true })
      expect(await client.ttl(stores.keys.decided(memberOf(p1)))).toBe(-1)
      expect(await decide()).toEqual({ outcome: 'duplicate' })
      expect(await decide({ place: later })).toEqual({ outcome: 'duplicate' })
      expect(await stores.decisions.told('0@6')).toEqual({ outcome: 'stands', verdict: 'rumor~p1~r3' })
      expect(await decide({ place: { ...later, offset: '7' }, same: 'another', against: 2 })).toMatchObject({ last: 3 })
    })

    it('counts on after the proposals, also when the thread comes back, and asks for nothing once more', async () => {
      await forgetThread()
      await restore({ isUntold: false })
      await stores.threads.putPost(p1, postOf(p1), { ...ARRIVAL, place: { ...place, timestamp: T0 - 1 } }, RULES)
      const record = await openCase(stores, p1)
      expect(record).toMatchObject({ revision: 7 })
      const { epoch } = await takeCase(stores, record.id)
      await stores.cases.conclude(record, epoch, { ...endOf(record), label: 'rumor' })
      const entries = await all()
      expect(entries.map(({ kind }) => kind)).toEqual(['proposal', 'review'])
      expect(entries).toMatchObject([{}, { review: { why: 'differs', verdict: 'rumor~p1~r3' } }])
      await forgetThread()
      await stores.threads.putPost(p1, postOf(p1, { text: 'edited' }), { ...ARRIVAL, place: later }, RULES)
      expect(await all(), 'was asked for before').toEqual([])
      expect(await openCase(stores, p1)).toMatchObject({ revision: 8 })
    })

    it('counts on after the proposals for who decides on what was forgotten', async () => {
      await forgetThread()
      await restore()
      expect(await decide({ place: later, same: 'another' })).toEqual({ outcome: 'stands', verdict: 'rumor~p1~r7' })
    })

    it('ends with a subject that was forgotten: its retraction counts on after the proposals', async () => {
      await forgetThread()
      await restore({ isUntold: false })
      expect(await stores.threads.deletePost(p1, retractionOf(p1))).toBe('deleted')
      const retractions = (await all()).flatMap((entry) =>
        entry.kind === 'verdict' ? [JSON.parse(entry.verdict) as { id: string; supersedes: string }] : [],
      )
      expect(retractions.map(({ id, supersedes }) => [id, supersedes])).toEqual([['rumor~p1~r7', 'rumor~p1~r3']])
    })

    it('puts nothing beside a subject that was deleted', async () => {
      await judgeOnce(stores, p1)
      await stores.threads.deletePost(p1, retractionOf(p1))
      await all()
      expect(await restore()).toBe(0)
      expect((await stores.decisions.decided(p1)).size).toBe(0)
      expect(await all()).toEqual([])
    })

    it('forgets no live thread where the verdict of one protocol has left its topic', async () => {
      await forgetThread()
      await restored(2)
      await restore({ protocol: 'hate', verdict: 'hate~p1~r1', revision: 1, proposal: 0, isUntold: false })
      expect(await stores.threads.putPost(p1, postOf(p1), ARRIVAL, RULES)).toBe('judged')
      expect((await readThread(stores, p1)).expired).toBe(false)
    })

    it('drops the case that would end as a proposal which was published, and its thread is due', async () => {
      await judgeOnce(stores, p1)
      await stores.threads.putComments(p1, [said('c1')], T0, RULES)
      const record = await openCase(stores, p1)
      expect(record.revision).toBe(2)
      await restore({ verdict: 'rumor~p1~r1', revision: 1, proposal: 2, isUntold: false })
      expect(await stores.cases.unpublished(record.id)).toBeNull()
      expect(await openCase(stores, p1)).toMatchObject({ revision: 3 })
    })

    it('keeps what was withdrawn for a set time', async () => {
      const lifetime = () => client.pttl(stores.keys.decided(memberOf(p1)))
      await restore({ stands: false })
      expect(await lifetime()).toBeGreaterThan(0)
      await decide({ place: later, same: 'another' })
      await all()
      expect(await lifetime()).toBe(-1)
      await decide({ place: { ...later, offset: '7' }, same: 'third', withdraw: true, label: null, force: true })
      await all()
      expect(await lifetime()).toBeGreaterThan(0)
    })

    it('leaves a later decision as it is', async () => {
      await judgeOnce(stores, p1)
      await restore({ revision: 1, verdict: 'rumor~p1~r1', proposal: 1 })
      await all()
      await decide({ place: later, same: 'another', against: 2, force: true })
      expect(await restore({ revision: 1, verdict: 'rumor~p1~r1', proposal: 1 })).toBe(0)
      const { stands, revision } = (await stores.decisions.decided(p1)).get('rumor') ?? {}
      expect({ stands, revision }).toEqual({ stands: true, revision: 2 })
    })

    it('asks to look again at an edit from after it, and at none from before', async () => {
      await restore({ isUntold: false, asked: [] })
      const edit = (text: string, timestamp: number) =>
        stores.threads.putPost(p1, postOf(p1, { text }), { ...ARRIVAL, place: { ...place, timestamp } }, RULES)
      await edit('before', T0)
      expect(await all()).toEqual([])
      await edit('after', T0 + 9)
      expect(await all()).toMatchObject([{ review: { why: 'edited' } }])
    })
  })

  it('orphans that expire leave the revisions’ numbers that a recovery brought back', async () => {
    await forgetThread()
    await restored(3)
    await said1('late')
    expect(await stores.threads.expireOrphans(p1, () => ({ key: 'k', letter: '{}' }))).toBe(1)
    expect(await client.exists(stores.keys.thread(memberOf(p1)))).toBe(0)
    await stores.threads.putPost(p1, postOf(p1, { text: 'edited' }), ARRIVAL, RULES)
    expect(await openCase(stores, p1)).toMatchObject({ revision: 4, supersedes: 'rumor~p1~r3' })
  })

  describe('a thread that has expired, and is to be judged again', () => {
    const known = (revision: number) => [{ protocol: 'rumor', revision, seen: 2, final: true }]
    const again = (revision: number, readVersion: number | null) =>
      stores.judgeAgain.revive(
        remembered([said('c1')]),
        { asked: [asked(revision)], known: known(revision), readVersion },
        T0,
      )
    const revive = async (revision: number, readVersion: number | null) => {
      await stores.judgeAgain.watch([p1])
      return again(revision, readVersion)
    }

    it('comes back with the comments that went with it, though its post came again meanwhile', async () => {
      await judgeOnce(stores, p1)
      await forgetThread()
      await stores.threads.putPost(p1, postOf(p1, { text: 'edited' }), ARRIVAL, RULES)
      expect(await stores.judgeAgain.ask(p1, [asked(1), asked(1, 'rumor', false)], T0)).toEqual(['forgotten', 'due'])
      expect(await revive(1, 7)).toEqual(['changed'])
      expect(await revive(1, 1)).toEqual(['due'])
      const { expired, comments } = await readThread(stores, p1)
      expect([expired, comments.map(({ id }) => id)]).toEqual([false, ['c1']])
      expect(await openCase(stores, p1)).toMatchObject({ revision: 2 })
      expect(await revive(1, 2)).toEqual(['changed'])
    })

    it.each([
      ['forgotten', false],
      ['known by its post alone', true],
    ])('stays away if a comment was deleted since its messages were read (%s)', async (_, cameAgain) => {
      await judgeOnce(stores, p1)
      await forgetThread()
      if (cameAgain) await stores.threads.putPost(p1, postOf(p1, { text: 'edited' }), ARRIVAL, RULES)
      const version = cameAgain ? 1 : null
      expect(await again(1, version)).toEqual(['changed'])
      await stores.judgeAgain.watch([p1])
      await stores.threads.putComments(p1, [unsaid('c1')], T0, RULES)
      // Another run that reads them from here on knows of the deletion.
      await redisJudgeAgain(client, stores.keys, { keepTombstoneMs: KEEP_TOMBSTONE }).watch([p1])
      expect(await again(1, version)).toEqual(['changed'])
      expect(await revive(1, version)).toEqual(['due'])
      expect(await revive(1, 2)).toEqual(['changed'])
    })

    it('goes by the numbers that outlived it, whatever is on the topic', async () => {
      await judgeOnce(stores, p1)
      await judgeOnce(stores, p1)
      await forgetThread()
      expect(await revive(1, null)).toEqual(['newer'])
      expect(await client.exists(stores.keys.thread(memberOf(p1)))).toBe(0)
      expect(await revive(2, null)).toEqual(['due'])
    })

    it('is not touched while data are lost', async () => {
      await client.hset(stores.keys.incarnation, 'lost', 'emptied')
      await expect(revive(1, null)).rejects.toThrow(StoreSuspended)
      await expect(stores.judgeAgain.ask(p1, [asked(1)], T0)).rejects.toThrow(StoreSuspended)
    })
  })

  describe('a subject that is over, in a recovery', () => {
    const forget = (forgotten: number) =>
      redisRecovery(client, stores.keys, RECOVERY).forget(p1, forgotten, [{ protocol: 'rumor', revision: 2 }])
    const cameAt = (timestamp: number, change = {}) =>
      stores.threads.putPost(
        p1,
        postOf(p1, { text: `at ${timestamp}`, ...change }),
        { ...ARRIVAL, place: { partition: 0, offset: '9', timestamp } },
        RULES,
      )

    it('keeps its numbers', async () => {
      await forgetThread()
      await forget(T0)
      await stores.threads.putPost(p1, postOf(p1, { text: 'edited' }), ARRIVAL, RULES)
      expect(await openCase(stores, p1)).toMatchObject({ revision: 3 })
      expect(await client.pttl(stores.keys.revisions(memberOf(p1)))).toBeGreaterThan(0)
    })

    it('goes with all that an earlier state of the store holds of it', async () => {
      await cameAt(T0)
      const record = await openCase(stores, p1)
      expect(await forget(T0 + 1)).toBe(true)
      expect(await stores.threads.read(p1)).toBeNull()
      expect(await stores.cases.peek(record.id)).toBeNull()
      expect(await stores.cases.countOpen()).toBe(0)
      expect(await stores.threads.due(Number.POSITIVE_INFINITY, 10)).toEqual([])
    })

    it('stays where the store knows of a revision that was not published', async () => {
      await cameAt(T0)
      for (let revision = 1; revision <= 2; revision++) await judgeOnce(stores, p1)
      const third = await openCase(stores, p1)
      expect(await forget(T0 + 1)).toBe(false)
      expect(await stores.cases.peek(third.id)).not.toBeNull()
    })

    it('stays where it has begun anew since', async () => {
      await cameAt(T0 + 5)
      const record = await openCase(stores, p1)
      expect(await forget(T0 + 1)).toBe(false)
      expect(await stores.cases.peek(record.id)).not.toBeNull()
    })
  })

  it('a thread without its post begins empty where a recovery takes all messages again', async () => {
    await forgetThread()
    const place = (offset: string) => ({ partition: 0, offset, timestamp: T0 })
    await stores.threads.putComments(p1, [{ ...said('late'), place: place('9') }], T0, RULES)
    await restored(1)
    expect(await stores.threads.putPost(p1, postOf(p1), ARRIVAL, RULES)).toBe('judged')
    const again = [
      { ...said('early'), place: place('3') },
      { ...said('late'), place: place('9') },
    ]
    expect(await stores.threads.putComments(p1, again, T0, RULES)).toEqual(['judged', 'judged'])
  })

  it('a case that is open although its verdict was published stays so for the recovery, which gives it up', async () => {
    const record = await openCase(stores, p1)
    await concludeCase(stores, record)
    const published = await stores.outbox.next('one', 10, 10)
    // Redis loses the conclusion, while a publisher has the verdict in hand.
    await client.hset(stores.keys.case(record.id), 'status', 'open')
    await client.zadd(stores.keys.open, T0, record.id)
    await stores.outbox.done(published)
    expect((await readThread(stores, p1)).revisions.get('rumor')).toMatchObject({ revision: 1, openId: record.id })
    expect(await client.pttl(stores.keys.case(record.id))).toBe(NEVER)
    expect(await restored(1)).toEqual({ raised: 1, givenUp: 1 })
    expect(await stores.cases.peek(record.id)).toBeNull()
  })

  it.each(['waits for Kafka', 'a publisher has'])(
    'a verdict that %s and was published, under what this store has forgotten, is not sent again',
    async (where) => {
      const record = await openCase(stores, p1)
      await concludeCase(stores, record)
      const inHand = where === 'waits for Kafka' ? [] : await stores.outbox.next('one', 10, 10)
      expect(await restored(1)).toEqual({ raised: 0, givenUp: 0 })
      expect(await stores.outbox.stillToSend(inHand, new Set())).toEqual({ sendable: [], withheld: [] })
      expect(await stores.outbox.size()).toBe(0)
      expect(await stores.cases.unpublished(record.id)).toBeNull()
      expect((await readThread(stores, p1)).revisions.get('rumor')).toMatchObject({ revision: 1, openId: null })
    },
  )

  it('a verdict that is erased while it is on its way to a publisher is not sent by it, and what follows goes out', async () => {
    const slow = client.duplicate()
    const settings = {
      keepJournalMs: KEEP_JOURNAL,
      keepAfterFinalMs: KEEP_THREAD,
      keepTombstoneMs: KEEP_TOMBSTONE,
      clock: () => T0,
    }
    const outbox = redisOutbox(client, slow, stores.keys, settings)
    expect(await outbox.next('one', 10, 10)).toEqual([])
    await concludeCase(stores, await openCase(stores, p1))
    const call = slow.call.bind(slow) as (...args: unknown[]) => Promise<unknown>
    vi.spyOn(slow, 'call').mockImplementationOnce((async (...args: unknown[]) => {
      const reply = await call(...args)
      await stores.threads.deletePost(p1, retractionOf(p1))
      return reply
    }) as never)
    expect(await outbox.next('one', 10, 10)).toEqual([])
    const [retraction] = await outbox.next('one', 10, 10)
    expect(retraction).toMatchObject({ kind: 'verdict', caseId: 'rumor~p1~r2' })
    slow.disconnect()
  })

  it('a verdict that a publisher has, and that is lost here, is not sent by it: its number is given again', async () => {
    await concludeCase(stores, await openCase(stores, p1))
    const entries = await stores.outbox.next('one', 10, 10)
    const tried = new Set(entries.map(({ id }) => id))
    expect(await stores.outbox.stillToSend(entries, tried)).toEqual({ sendable: entries, withheld: [] })
    await client.del(stores.keys.outbox)
    expect(await stores.outbox.stillToSend(entries, tried)).toEqual({ sendable: [], withheld: [] })
  })

  it('threads that wait for a paused protocol do so however long, also where it is off elsewhere', async () => {
    await stores.threads.pause('hate')
    const state = await readThread(stores, p1)
    const opening = { cases: [], waiting: [], nextDue: null, final: false }
    await stores.threads.open(state, { ...opening, dormant: ['hate'] })
    await stores.threads.open(state, { ...opening, dormant: [], absent: ['hate'] })
    expect(await client.pttl(stores.keys.dormant('hate'))).toBe(NEVER)
  })

  it('a subject that waited behind a case that a recovery gives up is due at once', async () => {
    await openCase(stores, p1, { final: true })
    await said1('c2')
    const state = await readThread(stores, p1)
    await stores.threads.open(state, { cases: [], waiting: ['rumor'], dormant: [], nextDue: null, final: true })
    expect(await stores.threads.due(T0, 10)).toEqual([])
    expect(await restored(1)).toEqual({ raised: 1, givenUp: 1 })
    expect(await stores.threads.due(0, 10)).toEqual([p1])
  })

  describe('revisions count from the time', () => {
    const p2 = thread('p2')
    const DAY = 24 * HOUR
    const now = T0 + DAY
    const baseOf = async (since: number | null, createdAt: number) => {
      if (since !== null) await client.hset(stores.keys.incarnation, 'id', 'x', 'since', since)
      await stores.threads.putPost(p2, postOf(p2, { createdAt }), { ...ARRIVAL, now }, RULES)
      return (await readThread(stores, p2)).base
    }

    it('where an old post may have had some that were forgotten', async () => {
      expect(await baseOf(T0 - DAY, T0)).toBe(now / 1_000)
      const state = await readThread(stores, p2)
      const record = recordOf(state, 'rumor', { revision: state.base + 1, id: `rumor~p2~r${state.base + 1}` })
      const cases = [{ record, seen: state.version }]
      const opened = await stores.threads.open(state, { cases, waiting: [], dormant: [], nextDue: null, final: true })
      expect(opened).toEqual([record.id])
      const retractions: number[] = []
      await stores.threads.deletePost(p2, (protocol, revision) => {
        retractions.push(revision)
        return retractionOf(p2)(protocol, revision)
      })
      expect(retractions).toEqual([now / 1_000 + 2])
    })

    it.each([
      ['a post that is young', T0 - DAY, now - KEEP_TOMBSTONE + 1],
      ['a store that has not forgotten anything yet', now - KEEP_TOMBSTONE + 1, T0],
      ['a store of which nobody keeps track', null, T0],
    ])('but not for %s', async (_, since, createdAt) => {
      expect(await baseOf(since, createdAt)).toBe(0)
    })

    it('as they do in a store that has lost count of its own age', async () => {
      await client.hset(stores.keys.incarnation, 'id', 'x')
      expect(await baseOf(null, T0)).toBe(now / 1_000)
    })
  })

  it('no step fails in its middle, whatever it is given: what comes again is known, and nothing is left half done', async () => {
    const words = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom('\ud800', '"createdAt":9', '{"by":"x', '\0', ']]', '%d', '\\', '\\"createdAt\\":1', '\udfff"'),
    )
    const id = fc.constantFrom('a', 'b', '\ud83d', '"createdAt":1', '%s', ':', '0')
    const at = fc.constantFrom(T0, T0 - 1e12, T0 + 2 * HOUR, Date.UTC(9_999, 0), Date.UTC(0, 0))
    const place = fc.record({
      partition: fc.nat(3),
      offset: fc.bigInt(0n, 2n ** 62n).map(String),
      timestamp: fc.constantFrom(-1, 0, T0, 9e15, -9e15, 2 ** 63),
    })
    const step = fc.oneof(
      fc.record({ do: fc.constant('post' as const), text: words, at, place, threaded: fc.boolean() }),
      fc.record({ do: fc.constant('said' as const), id, text: words, author: words, at, place }),
      fc.record({ do: fc.constant('unsaid' as const), id, at, place }),
      fc.record({ do: fc.constant('expire' as const) }),
    )
    let round = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const ref = thread(`hostile ${round++}`)
        const rules = { ...RULES, maxComments: 2, maxPerAuthor: 1, counts: [1, 2] }
        for (const one of steps) {
          const { threads } = stores
          const twice = async (take: () => Promise<unknown>) => [await take(), await take()]
          if (one.do === 'expire') await twice(() => threads.expireOrphans(ref, () => ({ key: 'k', letter: '{}' })))
          else if (one.do === 'post') {
            const put = { ...ARRIVAL, threaded: one.threaded, atOnce: !one.threaded, place: one.place }
            const [, again] = await twice(() =>
              threads.putPost(ref, { id: ref.postId, text: one.text, createdAt: one.at }, put, rules),
            )
            expect(again).toBe('duplicate')
          } else {
            const { author = '', text = '' } = one.do === 'said' ? one : {}
            const change =
              one.do === 'said'
                ? { ...said(one.id, { text, author, createdAt: one.at }), place: one.place }
                : { kind: 'deleted' as const, id: one.id, createdAt: one.at, place: one.place }
            await twice(() => threads.putComments(ref, [change], T0, rules))
          }
        }
        await threadsEnd(ref)
      }),
      { numRuns: 150 },
    )
    async function threadsEnd(ref: typeof p1) {
      expect(await stores.threads.deletePost(ref, retractionOf(ref))).toBe('deleted')
    }
  })

  it('a retraction is sent after the revision that it retracts, whoever publishes that one', async () => {
    const record = await openCase(stores, p1)
    await concludeCase(stores, record)
    const [taken] = await stores.outbox.next('slow', 10, 10)
    await stores.threads.deletePost(p1, retractionOf(p1))
    expect(await stores.outbox.next('quick', 10, 10)).toEqual([])
    await stores.outbox.done(taken === undefined ? [] : [taken])
    expect(await stores.outbox.next('quick', 10, 10)).toMatchObject([{ kind: 'verdict', caseId: 'rumor~p1~r2' }])
    expect(await stores.outbox.size()).toBe(1)
  })

  it('a thread whose final snapshot nobody judged expires as well', async () => {
    const state = await readThread(stores, p1)
    await stores.threads.open(state, { cases: [], waiting: [], dormant: [], nextDue: null, final: true })
    for (const ms of (await lifetimes()).thread) expect(ms).toBeGreaterThan(KEEP_THREAD - 10_000)
  })

  it('a thread that a paused protocol owes a verdict does not expire, and does once that is published', async () => {
    await stores.threads.pause('hate')
    const state = await readThread(stores, p1)
    const held = { cases: [], waiting: [], dormant: ['hate'], nextDue: null, final: true }
    await stores.threads.open(state, held)
    expect((await lifetimes()).thread).toEqual([NEVER, NEVER, NEVER, NEVER])
    await judgeOnce(stores, p1, { final: true })
    expect((await lifetimes()).thread).toEqual([NEVER, NEVER, NEVER, NEVER])
    await stores.threads.resume('hate', T0)
    await judgeOnce(stores, p1, { protocol: 'hate', final: true })
    for (const ms of (await lifetimes()).thread) expect(ms).toBeGreaterThan(KEEP_THREAD - 10_000)
  })

  it('additions to an expiring thread expire with it', async () => {
    const p2 = thread('p2')
    const rules = { ...RULES, reopen: false, maxPerAuthor: 3 }
    await stores.threads.putPost(p2, postOf(p2), ARRIVAL, rules)
    const state = await readThread(stores, p2)
    await stores.threads.open(state, { cases: [], waiting: [], dormant: [], nextDue: null, final: true })
    expect(await stores.threads.putComments(p2, [said('late', { author: 'x' })], T0, rules)).toEqual(['late'])
    const { keys } = stores
    for (const key of [keys.comments(memberOf(p2)), keys.sample(memberOf(p2)), keys.authors(memberOf(p2))])
      expect(await client.pttl(key)).toBeGreaterThan(KEEP_THREAD - 10_000)
  })

  it('an author’s index names no comment that is not kept, and expires with the thread', async () => {
    const p2 = thread('p2')
    const member = memberOf(p2)
    const rules = { ...RULES, maxComments: 5, maxPerAuthor: 3 }
    await stores.threads.putPost(p2, postOf(p2), ARRIVAL, rules)
    const many = Array.from({ length: 40 }, (_, at) => said(`c${at}`, { author: `a${at % 4}` }))
    for (const one of many) await stores.threads.putComments(p2, [one], T0, rules)
    const { keys } = stores
    const kept = await client.zrange(keys.sample(member), '0', '-1')
    const named = await client.zrange(keys.authors(member), '0', '-1')
    expect(kept).toHaveLength(5)
    expect(named.map((one) => kept.find((id) => one.endsWith(id)))).toEqual(expect.arrayContaining(kept))
    expect(named).toHaveLength(5)
    await judgeOnce(stores, p2, { final: true })
    expect(await client.pttl(keys.authors(member))).toBeGreaterThan(KEEP_THREAD - 10_000)
    await stores.threads.putComments(p2, [said('again', { author: 'a new one' })], T0, { ...rules, maxComments: 100 })
    expect(await client.pttl(keys.authors(member))).toBe(NEVER)
  })

  it('the mark of a post that nobody judges lives as long as a tombstone', async () => {
    const p2 = thread('p2')
    await stores.threads.putPost(p2, postOf(p2), { ...ARRIVAL, threaded: false }, RULES)
    const left = await client.pttl(stores.keys.thread(memberOf(p2)))
    expect(left).toBeGreaterThan(KEEP_TOMBSTONE - 10_000)
  })

  it('a tombstone lives a set time', async () => {
    await judgeOnce(stores, p1)
    await stores.threads.deletePost(p1, retractionOf(p1))
    const [left = 0] = (await lifetimes()).thread
    expect(left).toBeGreaterThan(KEEP_TOMBSTONE - 10_000)
    expect(left).toBeLessThanOrEqual(KEEP_TOMBSTONE)
  })

  it('written data are there after the server was killed and restarted, except for the last second', async () => {
    const record = await openCase(stores, p1)
    await sleep(1_300)
    await server.kill()
    await server.restart()
    const state = await stores.threads.read(p1)
    expect(state?.comments.map(({ id }) => id)).toEqual(['c1'])
    expect((await stores.cases.take(record.id))?.record).toEqual(record)
  })

  it('open cases are counted anew after a while, whatever went wrong', async () => {
    expect(await stores.threads.due(T0, 1)).toEqual([p1])
    await openCase(stores, p1)
    const left = await client.pttl(`${stores.keys.open}/tenants`)
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(60_000)
  })

  it('no publisher that has ended, or was long unheard of, stays behind in the group', async () => {
    const { outbox, keys } = stores
    const consumers = async () => {
      const all = (await client.xinfo('CONSUMERS', keys.letters, 'publishers')) as unknown[][]
      return all.map((fields) => String(fields[1])).sort()
    }
    const sent: OutgoingMessage[] = []
    const publishing = (name: string, fails = false) =>
      publisher({
        outbox,
        writer: {
          async send(records) {
            if (fails) throw new Error('Kafka is away')
            sent.push(...records)
          },
          async close() {},
        },
        answers: stores.answers,
        clock: Date.now,
        report: () => {},
        name,
        topics: { verdicts: 'v', transcripts: 't', deadLetters: 'd', ...DECISION_TOPICS },
      })
    const forget = vi.spyOn(outbox, 'forget')
    const [first, second] = [publishing('first'), publishing('second', true)]
    await outbox.putDeadLetters([{ key: 'a', letter: 'x' }])
    first.start()
    await vi.waitUntil(() => sent.length === 1, { timeout: 5_000 })
    await first.close()
    expect(await consumers()).toEqual([])
    // While it runs it looks for others that are gone.
    expect(forget.mock.calls).toEqual([[600_000]])

    // One that could not send what it had taken stays, with what it left.
    await outbox.putDeadLetters([{ key: 'b', letter: 'y' }])
    second.start()
    await vi.waitUntil(async () => (await client.xpending(keys.letters, 'publishers'))[0] === 1, { timeout: 5_000 })
    await second.close()
    expect(await consumers()).toEqual(['second'])

    // Killed ones go once they have been silent for long, whoever looks; those that live stay.
    const sendOne = async (name: string) => {
      await outbox.putDeadLetters([{ key: name, letter: 'z' }])
      await outbox.done(await outbox.next(name, 10, 0))
    }
    for (const name of ['dead-1', 'dead-2']) await sendOne(name)
    await sleep(300)
    await sendOne('alive')
    expect(await consumers()).toEqual(['alive', 'dead-1', 'dead-2', 'second'])
    await outbox.forget(200)
    expect(await consumers()).toEqual(['alive', 'second'])
    expect(await outbox.adopt('alive', 10, 0)).toMatchObject([{ key: 'b', letter: 'y' }])
    await sleep(300)
    await outbox.forget(200)
    expect(await consumers()).toEqual(['alive'])
  })

  it('keeps the newest trace contexts of a subject, each once, until it is forgotten or for a time', async () => {
    const links = redisTraceLinks(client, stores.keys, 60_000, () => T0)
    const ref = { tenant: 'traced', postId: 'p', kind: 'post' } as const
    const contexts = Array.from({ length: 40 }, (_, nth) => `context-${nth}`)
    await links.note(new Map([[ref, ['context-39']]]), null)
    await links.note(new Map([[ref, contexts]]), null)
    await links.note(new Map(), null)
    expect(await links.read(ref)).toEqual(contexts.slice(-32).reverse())
    expect(await client.pttl(stores.keys.traces('traced:p'))).toBeGreaterThan(50_000)
    expect(await links.read({ ...ref, tenant: 'other' })).toEqual([])
    // Their tenant holds them, for as long as they are kept.
    const held = (at = T0) => stores.threads.heldBy('traced', at)
    expect(await held()).toBeGreaterThan(32 * 'context-39'.length)
    expect([await held(T0 + 60_000), await stores.threads.heldBy('other', T0)]).toEqual([0, 0])
    await links.note(new Map([[ref, ['context-40']]]), null)
    // Whoever holds all that they may leaves none at what is refused next; what is known has its newest.
    const next = { ...ref, postId: 'next' }
    const before = await held()
    await links.note(new Map([[next, ['context-41']]]), before)
    await links.note(new Map([[ref, ['context-42']]]), before)
    expect([await links.read(next), (await links.read(ref))[0]]).toEqual([[], 'context-42'])
    await links.forget(ref)
    expect([await links.read(ref), await held()]).toEqual([[], 0])
  })

  it('a publisher that finds its group gone creates it again and gets the waiting entries', async () => {
    await stores.outbox.putDeadLetters([{ key: 'a', letter: 'x' }])
    await client.del(stores.keys.letters)
    await stores.outbox.putDeadLetters([{ key: 'b', letter: 'y' }])
    expect(await stores.outbox.next('one', 10, 10)).toMatchObject([{ key: 'b' }])
  })
})
