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

/** Takes the messages, and then has one post of each story judged; gives what their verdicts say. */
async function told(
  stores: Pick<Stores, 'threads' | 'cases' | 'outbox'>,
  messages: readonly Message[],
  storyOf: (text: string) => string | null,
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
    if (post === null) continue
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
  const seen = { messages: 0, stories: 0, posts: 0 }
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
      ),
      `order ${order}, in memory`,
    ).toEqual(expected)
    expect(await told(inRedis(), read, story()), `order ${order}, in Redis`).toEqual(expected)
    // Redis has lost its data: all messages are read again, in another order.
    const again = asRead(partitions, random)
    expect(await told(inRedis(), again, story()), `order ${order}, recovered`).toEqual(expected)
    if (order % 100 === 0) await client.flushall()
    seen.messages += read.length + again.length
    seen.stories += Object.keys(expected).length
    seen.posts += Object.values(expected).reduce((sum, one) => sum + one, 0)
  }
  process.stdout.write(`${JSON.stringify({ orders: ORDERS, ...seen })}\n`)
  expect(seen.stories).toBeGreaterThan(4 * ORDERS)
})
