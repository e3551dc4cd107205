import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { beforeEach, describe, expect, it } from 'vitest'
import { askedThread } from '../../../src/judging/threads/asked.ts'
import { redisCases } from '../../../src/store/case/redis.ts'
import { askedAbout } from '../../../src/store/memo/redis.ts'
import { redisOutbox } from '../../../src/store/outbox/redis.ts'
import { redisRecovery } from '../../../src/store/recovery/redis.ts'
import { redisJudgeAgain } from '../../../src/store/recovery/redis-judge-again.ts'
import { keysUnder, memberOf } from '../../../src/store/redis/keys.ts'
import { redisThreads } from '../../../src/store/thread/redis.ts'
import { hookContent, redisWebhooks } from '../../../src/store/webhook/redis.ts'
import { asked, remembered } from '../../contracts/judge-again.ts'
import { ARRIVAL, postOf, RULES, retractionOf, said, T0, thread, unsaid } from '../../contracts/samples.ts'
import { judgeOnce, openCase, type Stores } from '../../contracts/stores.ts'
import { threadBytesIn } from '../../support/held-bytes.ts'
import { onRedis } from '../../support/on-redis.ts'

const KEEP_MS = 300
const P1 = thread('p1')
const MEMBER = memberOf(P1)

let client: Redis
onRedis.beforeAll(({ client: one }) => {
  client = one
})

describe('what a tenant holds in Redis', () => {
  let keys: ReturnType<typeof keysUnder>
  let now = T0
  let stores: Pick<Stores, 'threads' | 'cases' | 'outbox' | 'judgeAgain'>
  beforeEach(() => {
    now = T0
    keys = keysUnder(`test-${randomUUID()}`)
    const keep = { keepTombstoneMs: 60_000, keepAfterFinalMs: KEEP_MS, keepJournalMs: KEEP_MS }
    stores = {
      threads: redisThreads(client, keys, keep),
      cases: redisCases(client, keys, () => now),
      outbox: redisOutbox(client, client, keys, { ...keep, clock: () => now }),
      judgeAgain: redisJudgeAgain(client, keys, keep),
    }
  })
  const put = (post = postOf(P1)) => stores.threads.putPost(P1, post, ARRIVAL, RULES)
  const say = (id: string, change = {}) => stores.threads.putComments(P1, [said(id, change)], T0, RULES)
  const held = (at = T0) => stores.threads.heldBy('default', at)
  /** By its account, and by what is there. */
  const expectHeld = async (bytes?: number, at = T0) => {
    const account = await held(at)
    expect(account).toBe(await threadBytesIn(client, keys, [P1]))
    if (bytes !== undefined) expect(account).toBe(bytes)
    return account
  }
  /** An earlier version has none. */
  const forgetAccount = async () => {
    await client.del(...['parts:default', 'ends', 'tenants', 'deliveries'].map((name) => keys.kept + name))
  }
  const recovery = () => redisRecovery(client, keys, { keepTombstoneMs: 60_000, clock: () => T0, allAgain: true })

  it('ends with the thread that expires, and leaves nothing of its account', async () => {
    await put()
    await say('c1')
    const before = await expectHeld()
    await judgeOnce(stores as Stores, P1, { final: true })
    await expectHeld(before)
    expect(await held(T0 + KEEP_MS - 1)).toBe(before)
    await sleep(KEEP_MS + 50)
    await expectHeld(0, T0 + KEEP_MS)
    expect(await client.keys(`${keys.kept}*`)).toEqual([])
  })

  it('ends also where nobody asks for it, a few parts with each that is to end', async () => {
    const judge = async (nth: number) => {
      const ref = thread('p1', `t${nth}`)
      await stores.threads.putPost(ref, postOf(ref), ARRIVAL, RULES)
      await judgeOnce(stores as Stores, ref, { final: true })
    }
    const left = async () => [await client.zcard(`${keys.kept}ends`), await client.zcard(`${keys.kept}tenants`)]
    for (let nth = 0; nth < 12; nth++) await judge(nth)
    expect(await left()).toEqual([12, 12])
    now = T0 + 2 * KEEP_MS
    await judge(12)
    expect(await left()).toEqual([3, 3])
    await judge(13)
    expect(await left()).toEqual([2, 2])
  })

  it('goes on with a thread that is due once more, and with one that a late comment finds', async () => {
    await put()
    await judgeOnce(stores as Stores, P1, { final: true })
    await say('c1')
    await sleep(KEEP_MS + 50)
    expect(await expectHeld(undefined, T0 + 10 * KEEP_MS)).toBeGreaterThan(1_000)
    await judgeOnce(stores as Stores, P1, { final: true })
    // An earlier version has not counted it.
    await forgetAccount()
    await stores.threads.putComments(P1, [said('c2')], T0, { ...RULES, reopen: false })
    expect(await held(T0)).toBeGreaterThan(1_000)
    await sleep(KEEP_MS + 50)
    await expectHeld(0, T0 + KEEP_MS)
  })

  it('goes on with a post that comes again once its thread has expired, before that left the account', async () => {
    await put()
    await judgeOnce(stores as Stores, P1, { final: true })
    await sleep(KEEP_MS + 50)
    await client.del(keys.revisions(MEMBER))
    await put(postOf(P1, { text: 'what is said now is longer' }))
    expect(await expectHeld(undefined, T0 + 10 * KEEP_MS)).toBeGreaterThan(1_000)
  })

  it('counts a thread that opens its last case only, and then waits for nothing', async () => {
    await put()
    const state = await stores.threads.read(P1)
    if (state === null) throw new Error('there is no thread')
    await stores.threads.open(state, { cases: [], waiting: [], dormant: [], nextDue: null, final: true })
    expect(await held(Date.now())).toBeGreaterThan(1_000)
    await sleep(KEEP_MS + 50)
    await expectHeld(0, Date.now())
  })

  it('counts what an earlier version wrote once it is written to', async () => {
    const url = `data:image/png;base64,${'A'.repeat(5_000)}`
    const post = postOf(P1, { media: [{ kind: 'image', url }] })
    await put(post)
    for (const id of ['c1', 'c2']) await say(id)
    const whole = await expectHeld()
    const forget = async () => {
      await forgetAccount()
      await client.hdel(keys.thread(MEMBER), 'held')
    }
    await forget()
    expect(await held()).toBe(0)
    await say('c3')
    // How many protocols judge it is known once its post is written again.
    expect(await expectHeld()).toBeGreaterThan(5_000)
    await forget()
    await put({ ...post, text: 'edited' })
    expect(await expectHeld()).toBeGreaterThan(whole)
  })

  it('counts comments that an earlier version kept for a post which had not come', async () => {
    await say('c1')
    await client.hdel(keys.thread(MEMBER), 'held')
    await forgetAccount()
    await say('c2')
    await expectHeld()
    await put()
    await expectHeld()
  })

  it('goes on with a thread of which an earlier version counted less than leaves it now', async () => {
    await put()
    await say('c1')
    for (const counted of ['10 0 0 1', '-123 0 0 1', '10 -5 0 1']) {
      await client.hset(keys.thread(MEMBER), 'held', counted)
      const change = { text: counted }
      expect(await say('c1', change)).toEqual(['updated'])
      expect(await stores.threads.putComments(P1, [unsaid('c1')], T0, RULES)).toEqual(['deleted'])
      expect(await client.hget(keys.thread(MEMBER), 'held')).toMatch(/^\d+ \d+ \d+ \d+$/)
      await client.del(keys.comments(MEMBER), keys.sample(MEMBER))
      expect(await say('c1')).toEqual(['judged'])
    }
    await put(postOf(P1, { text: 'edited' }))
    await stores.threads.deletePost(P1, retractionOf(P1))
    await expectHeld()
  })

  it('ends with deletions that are forgotten, of a post that never came and of one that did', async () => {
    const keep = { keepTombstoneMs: KEEP_MS, keepAfterFinalMs: KEEP_MS, clock: () => T0 }
    const threads = redisThreads(client, keys, keep)
    await put()
    expect(await threads.deletePost(P1, retractionOf(P1))).toBe('deleted')
    expect(await threads.deleteUnknown([thread('p2')], T0)).toEqual([true])
    expect(await held(T0 + KEEP_MS - 1)).toBe(2 * (500 + 3 * 'p1'.length))
    await sleep(KEEP_MS + 50)
    await expectHeld(0, T0 + KEEP_MS)
    expect(await client.exists(keys.thread(memberOf(thread('p2'))))).toBe(0)
    expect(await put()).toBe('judged')
    expect(await expectHeld()).toBeGreaterThan(1_000)
  })

  it('ends with what nobody judges, and has it in one part for all that came in the same hour', async () => {
    const threads = redisThreads(client, keys, { keepTombstoneMs: KEEP_MS, keepAfterFinalMs: KEEP_MS, clock: () => T0 })
    const nobody = { ...ARRIVAL, threaded: false, atOnce: false, now: T0 }
    for (const id of ['p1', 'p2', 'p3']) await threads.putPost(thread(id), postOf(thread(id)), nobody, RULES)
    expect(await held(T0 + KEEP_MS - 1)).toBe(3 * 252)
    expect(await client.hlen(`${keys.kept}parts:default`)).toBe(1)
    expect(await held(T0 + KEEP_MS)).toBe(0)
    await sleep(KEEP_MS + 50)
    expect(await client.keys(`${keys.thread('')}*`)).toEqual([])
  })

  it('ends with a finished thread that an earlier version did not count, and goes on with its edit', async () => {
    await put()
    await judgeOnce(stores as Stores, P1, { final: true })
    await forgetAccount()
    await client.hdel(keys.thread(MEMBER), 'held')
    // It is no edit, and the thread goes on to its end.
    await put(postOf(P1, { reach: 9 }))
    await expectHeld()
    expect(await held(T0 + 10 * KEEP_MS)).toBe(0)
    await put(postOf(P1, { text: 'edited' }))
    expect(await expectHeld(undefined, T0 + 10 * KEEP_MS)).toBeGreaterThan(1_000)
  })

  it('ends with deliveries and lanes that expire, and counts none that an earlier version queued', async () => {
    const begun = Date.now()
    const webhooks = redisWebhooks(client, keys, KEEP_MS)
    await put()
    const entry = (await client.xadd(keys.outbox, '*', 'kind', 'verdict')) ?? ''
    const of = {
      hook: 'shop',
      protocol: 'rumor',
      ref: P1,
      from: { entry, caseId: 'none' },
      follows: false,
      retracts: false,
    }
    const before = await held(begun)
    await webhooks.put([{ ...of, verdictId: 'v1', revision: 1, body: 'body', bare: 'bare' }])
    expect(await held(begun)).toBe(before + 300 + 'p1'.length + 500 + 8)
    await forgetAccount()
    const [claim] = await webhooks.take('shop', 1, 60_000)
    if (claim === undefined) throw new Error('nothing is due')
    await webhooks.settle(claim, 'sent')
    expect(await held(begun)).toBe(0)
    await webhooks.put([{ ...of, verdictId: 'v2', revision: 2, body: 'body', bare: 'bare' }])
    await sleep(KEEP_MS + 50)
    expect(await held(begun)).toBe(300 + 'p1'.length + 500 + 8)
    expect(await held(begun + 10 * KEEP_MS)).toBe(0)
  })

  it('knows of what is asked under one id again and again hardly more than what may still be erased', async () => {
    const ask = async (nth: number) => {
      const ref = thread(`q-${nth}`, 'default', 'asked')
      const given = { post: postOf(P1), comments: [], postOnly: true }
      const kept = { subject: P1, protocols: ['hate'], webhook: false, until: T0 + 60_000, most: null }
      await stores.threads.putAsked({ thread: askedThread(ref, given, T0, RULES), ...kept }, T0)
      return memberOf(ref)
    }
    const asked: string[] = []
    for (let nth = 0; nth < 60; nth++) asked.push(await ask(nth))
    const known = () => client.smembers(keys.requests(MEMBER))
    expect(await known()).toHaveLength(60)
    // The first ones expire, but for what the memo knows of one, and what a receiver is to hear of another.
    const [remembered = '', sent = ''] = asked
    const gone = asked.slice(0, 40)
    for (const member of gone) await client.del(keys.thread(member), keys.answers(member))
    await client.zadd(askedAbout(keys.under, remembered), 1, 'frame')
    await client.hset(hookContent(keys, sent), 'id', 'body')
    for (let nth = 60; nth < 360; nth++) asked.push(await ask(nth))
    const left = new Set(await known())
    const alive = [...asked.slice(40), remembered, sent]
    expect(alive.filter((member) => !left.has(member))).toEqual([])
    expect(left.size - alive.length).toBeLessThan(20)
  })

  it('is right where only some of the comments without a post have expired', async () => {
    const many = Array.from({ length: 1_500 }, (_, nth) => said(`c${nth}`))
    for (const page of [0, 500, 1_000])
      await stores.threads.putComments(P1, many.slice(page, page + 500), T0, { ...RULES, maxComments: 2_000 })
    const before = await expectHeld()
    let letters = 0
    const expiring = stores.threads.expireOrphans(P1, ({ offset }) => {
      if (++letters > 800) throw new Error('no letter can be made')
      return { key: offset, letter: '{}' }
    })
    await expect(expiring).rejects.toThrow('no letter')
    expect(await expectHeld()).toBeLessThan(before)
    await stores.threads.expireOrphans(P1, ({ offset }) => ({ key: offset, letter: '{}' }))
    await expectHeld(0)
  })

  it('is right where one origin stands for those beyond what a thread keeps', async () => {
    const rules = { ...RULES, maxComments: 1 }
    const sayAll = (from: number) =>
      stores.threads.putComments(
        P1,
        Array.from({ length: 50 }, (_, nth) => said(`c${from + nth}`)),
        T0,
        rules,
      )
    await sayAll(100)
    const full = await expectHeld()
    await sayAll(200)
    expect(await expectHeld()).toBeLessThan(full + 100)
  })

  it('leaves what may be large to be freed beside other commands, whichever step removes it', async () => {
    const freedBeside = async () => Number(/lazyfreed_objects:(\d+)/.exec(await client.info('memory'))?.[1])
    // Their text alone is more than Redis frees at once; of the origins there are as many.
    const many = Array.from({ length: 300 }, (_, nth) => said(`c${nth}`, { author: `a${nth}` }))
    const orphans = () => stores.threads.putComments(P1, many, T0, { ...RULES, maxComments: 2_000 })
    const removals = [
      () => stores.threads.deletePost(P1, retractionOf(P1)),
      () =>
        recovery().restore(P1, [{ protocol: 'rumor', revision: 2, final: false, deleted: false, contested: false }]),
    ]
    for (const remove of removals) {
      await orphans()
      const before = await freedBeside()
      await remove()
      await expect.poll(async () => (await freedBeside()) - before, { timeout: 5_000 }).toBeGreaterThanOrEqual(2)
      keys = keysUnder(`test-${randomUUID()}`)
      stores = {
        ...stores,
        threads: redisThreads(client, keys, { keepTombstoneMs: 60_000, keepAfterFinalMs: KEEP_MS }),
      }
    }
  })

  it('is right after a recovery: of what is restored, forgotten, and brought back to be judged again', async () => {
    await say('c1')
    await recovery().restore(P1, [{ protocol: 'rumor', revision: 2, final: false, deleted: false, contested: false }])
    await expectHeld(0)
    await put(postOf(P1, { text: 'again' }))
    await openCase(stores as Stores, P1)
    await expectHeld()
    await client.del(keys.thread(MEMBER), keys.comments(MEMBER))
    await stores.judgeAgain.watch([P1])
    const known = [{ protocol: 'rumor', revision: 2, seen: 2, final: true }]
    const again = { asked: [asked(2), asked(2, 'hate')], known, readVersion: null }
    expect(await stores.judgeAgain.revive(remembered([said('c1')]), again, T0)).toEqual(['due', 'newer'])
    expect(await expectHeld()).toBeGreaterThan(1_000)
    const place = { partition: 0, offset: '9', timestamp: T0 }
    await stores.threads.putPost(P1, postOf(P1, { text: 'newer' }), { ...ARRIVAL, place }, RULES)
    expect(await recovery().forget(P1, T0 + 1, [{ protocol: 'rumor', revision: 9 }])).toBe(true)
    await expectHeld(0)
  })
})
