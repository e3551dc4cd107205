import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { beforeEach, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/lab/evaluation/statistics/random.ts'
import { redisCases } from '../../../src/store/case/redis.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { redisOutbox } from '../../../src/store/outbox/redis.ts'
import { redisJudgeAgain } from '../../../src/store/recovery/redis-judge-again.ts'
import { type Keys, keysUnder } from '../../../src/store/redis/keys.ts'
import { redisThreads } from '../../../src/store/thread/redis.ts'
import { asked, remembered } from '../../contracts/judge-again.ts'
import { ARRIVAL, endOf, HOUR, postOf, RULES, retractionOf, T0, thread } from '../../contracts/samples.ts'
import { judgeOnce, openCase, publishAll, readThread, type Stores } from '../../contracts/stores.ts'
import { onRedis } from '../../support/on-redis.ts'

let client: Redis
onRedis.beforeAll(({ client: one }) => {
  client = one
})

const KEEP_MS = 8 * HOUR
/** Longer than any thread waits for its next verdict. */
const LONG_MS = 365 * 24 * HOUR

describe('a story in Redis', () => {
  let keys: Keys
  let now = T0
  let stores: Stores
  beforeEach(() => {
    now = T0
    keys = keysUnder(`test-${randomUUID()}`)
    const keep = { keepTombstoneMs: KEEP_MS, keepAfterFinalMs: KEEP_MS, keepJournalMs: KEEP_MS }
    const clock = () => now
    stores = {
      ...memoryStores(clock),
      threads: redisThreads(client, keys, { ...keep, clock }),
      cases: redisCases(client, keys, clock),
      outbox: redisOutbox(client, client, keys, { ...keep, clock }),
      judgeAgain: redisJudgeAgain(client, keys, keep),
    } as unknown as Stores // Of the rest nothing is used.
  })
  const put = (id: string, text = 'words', story: string | null = 's') =>
    stores.threads.putPost(thread(id), postOf(thread(id), { text }), { ...ARRIVAL, now, story }, RULES)
  const judge = async (
    id: string,
    { final = false, label = 'rumor' as string | null, opposed = [] as string[] } = {},
  ) => {
    const record = await openCase(stores, thread(id), { final })
    const taken = await stores.cases.take(record.id)
    const end = endOf(record)
    const verdict = end.verdict.replace('{', '{"schema":2,"story":null,')
    await stores.cases.conclude(record, taken?.epoch ?? 0, { ...end, verdict, label, opposed })
    const entries = await stores.outbox.next('one', 10, 0)
    await stores.outbox.done(entries)
    const [said] = entries.flatMap((entry) => (entry.kind === 'verdict' ? [entry.verdict] : []))
    return (JSON.parse(said ?? '{}') as { story: { members: number; labels: object } }).story
  }
  const story = () => `${keys.thread('default:s').replace('thread:', 'story:')}`
  const delet = async (id: string) => {
    await stores.threads.deletePost(thread(id), retractionOf(thread(id)))
    await publishAll(stores)
  }

  it('counts a post for as long as its thread is there, and an eighth of that longer at most', async () => {
    for (const id of ['a', 'b']) await put(id)
    await judge('a', { final: true })
    now += KEEP_MS - 1
    await put('c')
    expect(await judge('c')).toMatchObject({ members: 3, labels: { rumor: 2 } })
    now += KEEP_MS / 8
    expect(await judge('b')).toMatchObject({ members: 2, labels: { rumor: 2 } })
    expect((await client.hkeys(story())).filter((field) => /^[1-9]/.test(field))).toEqual([])
  })

  it('expires with the last of its threads, and stays with one that comes back', async () => {
    for (const id of ['a', 'b']) await put(id)
    await judge('a', { final: true })
    expect(await client.pttl(story())).toBeGreaterThan(LONG_MS)
    await judge('b', { final: true })
    const left = await client.pttl(story())
    expect(left).toBeGreaterThan(KEEP_MS - 10_000)
    expect(left).toBeLessThanOrEqual((KEEP_MS * 9) / 8)
    await put('b', 'the same in other letters')
    expect(await client.pttl(story())).toBeGreaterThan(LONG_MS)
    expect(await judge('b')).toMatchObject({ members: 2, labels: { rumor: 2 } })
  })

  it('ends with a thread that ends without another case', async () => {
    for (const id of ['a', 'b']) await put(id)
    await judge('a')
    for (const id of ['a', 'b']) {
      const nothing = { cases: [], waiting: [], dormant: [], nextDue: null, final: true }
      await stores.threads.open(await readThread(stores, thread(id)), nothing)
    }
    const left = await client.pttl(story())
    expect(left).toBeGreaterThan(KEEP_MS - 10_000)
    expect(left).toBeLessThanOrEqual((KEEP_MS * 9) / 8)
  })

  it('does not stay for ever, whoever ends its threads, and each verdict renews it', async () => {
    await put('a')
    await client.pexpire(story(), HOUR)
    await judge('a')
    expect(await client.pttl(story())).toBeGreaterThan(LONG_MS)
  })

  it('asks no second time because of a verdict without a label', async () => {
    const opposed = ['rumor', 'non-rumor']
    for (const id of ['a', 'b', 'c']) await put(id)
    await judge('a', { opposed })
    await judge('b', { label: 'non-rumor', opposed })
    await judge('c', { label: null })
    expect(await client.hexists(story(), 'asked rumor')).toBe(1)
  })

  it('leaves nothing behind its last post', async () => {
    for (const id of ['a', 'b', 'c']) await put(id)
    await judge('a')
    await judge('b', { final: true })
    await delet('a')
    await delet('b')
    await put('c', 'other words', 't')
    expect(await client.exists(story())).toBe(0)
    expect(await client.keys(story().replace(/default:s$/, '*'))).toEqual([story().replace(/s$/, 't')])
  })

  it('counts a thread that comes back from its messages once', async () => {
    const ref = thread('p1')
    const back = { ...remembered(), story: 's' }
    await put('p1')
    await judgeOnce(stores, ref, { final: true })
    await client.del(keys.thread('default:p1'), story())
    await stores.judgeAgain.watch([ref])
    const known = [{ protocol: 'rumor', revision: 1, seen: back.version, final: true }]
    const again = { asked: [asked(1)], known, readVersion: null }
    expect(await stores.judgeAgain.revive(back, again, now)).toEqual(['due'])
    expect(await judge('p1')).toMatchObject({ members: 1, labels: { rumor: 1 } })
  })

  it('stays small however many posts it has, and takes them at the cost of one command each', async () => {
    for (let nth = 0; nth < 50; nth++) await put(`p${nth}`)
    const size = await client.memory('USAGE', story())
    await client.config('RESETSTAT')
    for (let nth = 50; nth < 550; nth++) await put(`p${nth}`)
    const calls = Number(/cmdstat_hincrby:calls=(\d+)/.exec(await client.info('commandstats'))?.[1])
    // One counts the post in its story, and one what its tenant holds.
    expect(calls).toBe(2 * 500)
    expect(await client.memory('USAGE', story())).toBe(size)
  })

  it('counts the same in any order, also where messages come again', async () => {
    const random = seededRandom('stories')
    const messages = Array.from({ length: 24 }, (_, nth) => ({ id: `p${nth % 12}`, story: `s${nth % 3}` }))
    const counted: unknown[] = []
    for (let run = 0; run < 20; run++) {
      const tenant = `t${run}`
      const given = random.shuffled([...messages, ...messages.slice(0, run)])
      for (const { id, story: own } of given)
        await stores.threads.putPost(thread(id, tenant), postOf(thread(id, tenant)), { ...ARRIVAL, story: own }, RULES)
      const names = ['s0', 's1', 's2'].map((own) => story().replace('default:s', `${tenant}:${own}`))
      counted.push(await Promise.all(names.map((name) => client.hgetall(name))))
    }
    expect(counted).toEqual(counted.map(() => [{ '0 posts': '4' }, { '0 posts': '4' }, { '0 posts': '4' }]))
  })
})
