import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { samplingRanks } from '../../src/contracts/facts/sampling-rank.ts'
import type { MessagePlace } from '../../src/contracts/ports/threads.ts'
import { storyIds } from '../../src/judging/threads/story-id.ts'
import { type Random, seededRandom } from '../../src/lab/evaluation/statistics/random.ts'
import { storyWords } from '../../src/protocols/same-words.ts'
import { redisCases } from '../../src/store/case/redis.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { redisOutbox } from '../../src/store/outbox/redis.ts'
import { keysUnder } from '../../src/store/redis/keys.ts'
import { redisThreads } from '../../src/store/thread/redis.ts'
import { ARRIVAL, endOf, HOUR, postOf, RULES, retractionOf, T0, thread } from '../contracts/samples.ts'
import { openCase, publishAll, type Stores } from '../contracts/stores.ts'
import { onRedis } from '../support/on-redis.ts'
import { COPIES, plantedPost } from '../support/planted-stories.ts'
import { quantile } from './timed.ts'

/** How often the messages come in another order; GAVEL_PROOF_ORDERS=100 is a look. */
const ORDERS = Number(process.env.GAVEL_PROOF_ORDERS ?? 1_000)
const PARTITIONS = 4
const STORIES = 5
const POSTS = 24

interface Message {
  readonly id: string
  /** null: it is deleted. */
  readonly text: string | null
  readonly place: MessagePlace
}

/** The messages of each partition, in their order: copies of a few posts, some edited to other words, some deleted. */
function planted(random: Random): Message[][] {
  const ways = Object.values(COPIES)
  const partitions: Message[][] = Array.from({ length: PARTITIONS }, () => [])
  const say = (nth: number, text: string | null) => {
    const partition = nth % PARTITIONS
    const own = partitions[partition] ?? []
    const place = { topic: 'posts', partition, offset: String(own.length), timestamp: T0 + own.length }
    own.push({ id: `p${nth}`, text, place })
  }
  const copy = (nth: number) =>
    ways[random.below(ways.length)]?.(plantedPost(8 * random.below(STORIES)).text, nth) ?? ''
  for (let nth = 0; nth < POSTS; nth++) say(nth, copy(nth))
  for (let nth = 0; nth < POSTS; nth++) if (random.below(4) === 0) say(nth, copy(nth))
  for (let nth = 0; nth < POSTS; nth++) if (random.below(6) === 0) say(nth, null)
  return partitions
}

/** The partitions' messages as they may be read: interleaved anyhow, and read again from an earlier offset after each of a few restarts. */
function asRead(partitions: readonly (readonly Message[])[], random: Random): Message[] {
  const next = partitions.map(() => 0)
  const read: Message[] = []
  let restarts = random.below(4)
  while (next.some((at, nth) => at < (partitions[nth]?.length ?? 0))) {
    const nth = random.below(PARTITIONS)
    const message = partitions[nth]?.[next[nth] ?? 0]
    if (message === undefined) continue
    read.push(message)
    next[nth] = (next[nth] ?? 0) + 1
    if (restarts > 0 && random.below(20) === 0) {
      restarts--
      for (const [one, at] of next.entries()) next[one] = at - random.below(Math.min(at, 6) + 1)
    }
  }
  return read
}

type Counts = Readonly<Record<string, number>>

/** What a script that shares no code counts: by story, its posts as they stand at the end of the partitions. */
function countedApart(partitions: readonly (readonly Message[])[], storyOf: (text: string) => string | null): Counts {
  const last = new Map<string, string | null>()
  for (const message of partitions.flat())
    if (last.get(message.id) !== null || !last.has(message.id)) last.set(message.id, message.text)
  const counts: Record<string, number> = {}
  for (const text of last.values()) {
    const story = text === null ? null : storyOf(text)
    if (story !== null) counts[story] = (counts[story] ?? 0) + 1
  }
  return counts
}

/** Takes the messages, and then has one post of each story judged, or all; gives what their verdicts say. */
async function told(
  stores: Pick<Stores, 'threads' | 'cases' | 'outbox'>,
  messages: readonly Message[],
  storyOf: (text: string) => string | null,
  judged: 'one' | 'all',
): Promise<Counts> {
  const { threads, cases, outbox } = stores
  for (const { id, text, place } of messages) {
    const ref = thread(id)
    if (text === null) await threads.deletePost(ref, retractionOf(ref))
    else await threads.putPost(ref, postOf(ref, { text }), { ...ARRIVAL, place, story: storyOf(text) }, RULES)
  }
  await publishAll(stores as Stores)
  const counts: Record<string, number> = {}
  for (let nth = 0; nth < POSTS; nth++) {
    const ref = thread(`p${nth}`)
    const post = (await threads.read(ref))?.post ?? null
    const story = post === null ? null : storyOf(post.text)
    if (story === null || (judged === 'one' && counts[story] !== undefined)) continue
    const record = await openCase(stores as Stores, ref)
    const taken = await cases.take(record.id)
    const end = endOf(record)
    const verdict = end.verdict.replace('{', '{"schema":2,"story":null,')
    await cases.conclude(record, taken?.epoch ?? 0, { ...end, verdict, label: 'rumor' })
    const entries = await outbox.next('one', 10, 0)
    await outbox.done(entries)
    for (const entry of entries) {
      if (entry.kind !== 'verdict') continue
      const { story } = JSON.parse(entry.verdict) as { story: { id: string; members: number } }
      expect(counts[story.id] ?? story.members).toBe(story.members)
      counts[story.id] = story.members
    }
  }
  return counts
}

onRedis(`${ORDERS} orders, restarts and recoveries end with the same stories in both stores`, async ({ client }) => {
  const keep = { keepTombstoneMs: HOUR, keepAfterFinalMs: HOUR, keepJournalMs: HOUR, clock: () => T0 }
  const inRedis = () => {
    const keys = keysUnder(`proof-${randomUUID()}`)
    return {
      threads: redisThreads(client, keys, keep),
      cases: redisCases(client, keys, () => T0),
      outbox: redisOutbox(client, client, keys, keep),
    }
  }
  const ranks = samplingRanks('the key of the settings')
  const seen = { messages: 0, stories: 0, posts: 0, recoveries: 0 }
  for (let order = 0; order < ORDERS; order++) {
    const random = seededRandom(`stories ${order}`)
    const partitions = planted(random)
    // Each process makes its own, as after a restart.
    const story = () => (text: string) => storyIds(ranks, storyWords)(thread('p'), postOf(thread('p'), { text }))
    const expected = countedApart(partitions, story())
    const read = asRead(partitions, random)
    expect(
      await told(
        memoryStores(() => T0),
        read,
        story(),
        'all',
      ),
      `order ${order}, in memory`,
    ).toEqual(expected)
    const isTenth = order % 10 === 0
    expect(await told(inRedis(), read, story(), isTenth ? 'all' : 'one'), `order ${order}, in Redis`).toEqual(expected)
    if (isTenth) {
      // Redis has lost its data: all messages are read again, in another order.
      await client.flushall()
      const again = asRead(partitions, random)
      expect(await told(inRedis(), again, story(), 'one'), `order ${order}, recovered`).toEqual(expected)
      seen.messages += again.length
      seen.recoveries++
    }
    seen.messages += read.length
    seen.stories += Object.keys(expected).length
    seen.posts += Object.values(expected).reduce((sum, one) => sum + one, 0)
  }
  process.stdout.write(`${JSON.stringify({ orders: ORDERS, ...seen })}\n`)
  expect(seen.stories).toBeGreaterThan(4 * ORDERS)
})

/** Posts of one story; GAVEL_PROOF_MEMBERS=5000 is a look. */
const MEMBERS = Number(process.env.GAVEL_PROOF_MEMBERS ?? 100_000)
/** Posts that are taken at a time, posts of which each so manieth is judged, and looks at how long a post takes. */
const [AT_ONCE, EACH, LOOKS] = [200, 250, 400]
const DAY = 24 * HOUR
/** The most that its counts may take of Redis: fields, and bytes. */
const MOST = { fields: 60, bytes: 8_192 }
/** How much longer than another one a post of it may take, with its verdict. */
const MOST_RATIO = 1.5

onRedis(`a story of ${MEMBERS} members delays nobody and stays in its bound`, async ({ client }) => {
  let now = T0
  const keys = keysUnder(`proof-${randomUUID()}`)
  const keep = { keepTombstoneMs: DAY, keepAfterFinalMs: 7 * DAY, keepJournalMs: HOUR, clock: () => now }
  const threads = redisThreads(client, keys, keep)
  const cases = redisCases(client, keys, () => now)
  const outbox = redisOutbox(client, client, keys, keep)
  const stores = { threads, cases, outbox } as Partial<Stores> as Stores
  const take = async (id: string, story: string) => {
    const ref = thread(id)
    await threads.putPost(ref, postOf(ref), { ...ARRIVAL, now, story, reachAhead: 1_000 }, RULES)
    return ref
  }
  const judge = async (ref: ReturnType<typeof thread>, label: string) => {
    const record = await openCase(stores, ref, { final: true })
    const taken = await cases.take(record.id)
    const end = endOf(record)
    const verdict = end.verdict.replace('{', '{"schema":2,"story":null,')
    await cases.conclude(record, taken?.epoch ?? 0, { ...end, verdict, label, opposed: ['rumor', 'non-rumor'] })
    const entries = await outbox.next('one', 100, 0)
    await outbox.done(entries)
    for (const entry of entries)
      if (entry.kind === 'verdict') return JSON.parse(entry.verdict) as { story?: { members: number } }
    return null
  }
  // Over a week and more, so that its threads end at many times.
  for (let at = 0; at < MEMBERS; at += AT_ONCE) {
    now = T0 + Math.floor((10 * DAY * at) / MEMBERS)
    const refs = await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, MEMBERS - at) }, (_, n) => take(`m${at + n}`, 'giant')),
    )
    for (const [n, ref] of refs.entries())
      if ((at + n) % EACH === 0) await judge(ref, n % 2 === 0 ? 'rumor' : 'non-rumor')
  }
  const [story = ''] = await client.keys('*story:*:giant')
  const held = {
    fields: await client.hlen(story),
    bytes: Number(await client.memory('USAGE', story)),
    keys: (await client.keys('*:giant*')).length,
  }
  const ms: Record<'giant' | 'own', number[]> = { giant: [], own: [] }
  let members = 0
  for (let look = 0; look < LOOKS; look++)
    for (const of of look % 2 === 0 ? (['giant', 'own'] as const) : (['own', 'giant'] as const)) {
      const began = performance.now()
      const ref = await take(`${of}${look}`, of === 'giant' ? of : `own${look}`)
      const said = await judge(ref, 'rumor')
      ms[of].push(performance.now() - began)
      if (of === 'giant') members = said?.story?.members ?? 0
    }
  const at = (share: number) => quantile(ms.giant, share) / quantile(ms.own, share)
  const ratio = { p50: at(0.5), p95: at(0.95) }
  process.stdout.write(
    `${JSON.stringify({ members, ...held, ratio, ms: { giant: quantile(ms.giant, 0.5), own: quantile(ms.own, 0.5) } })}\n`,
  )
  expect(held.keys).toBe(1)
  expect(held.fields).toBeLessThanOrEqual(MOST.fields)
  expect(held.bytes).toBeLessThanOrEqual(MOST.bytes)
  // Those that were judged a week ago and more are kept no longer.
  expect(members).toBeGreaterThan(0.99 * MEMBERS)
  expect(members).toBeLessThanOrEqual(MEMBERS + LOOKS)
  expect(ratio.p50).toBeLessThan(MOST_RATIO)
})
