import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { ageOfOldestDue } from '../../consumers/backpressure.ts'
import { comments } from '../../consumers/comments.ts'
import { commentPace } from '../../consumers/judged-comments.ts'
import { decisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import { commentKey } from '../../src/contracts/facts/verdict-id.ts'
import { decisionHandler } from '../../src/judging/engine/decision-handler.ts'
import { router } from '../../src/judging/engine/routes.ts'
import { askedThread } from '../../src/judging/threads/asked.ts'
import { keysUnder } from '../../src/store/redis/keys.ts'
import { redisStores } from '../../src/store/redis-stores.ts'
import { ARRIVAL, endOf, HOUR, postOf, RULES, recordOf, retractionOf, said, T0, thread } from '../contracts/samples.ts'
import { IN_PROOF } from '../support/in-proof.ts'
import { intakeContext } from '../support/intake-context.ts'
import { onRedis } from '../support/on-redis.ts'
import { protocolNamed } from '../support/parts.ts'
import { WRITES } from '../support/verdicts.ts'

// What a bystander's post and question cost in Redis, by how much it holds of others. Commands are counted, those within scripts
// too: as many of them as there are others would hold up everybody.

/** So many come side by side. */
const AT_ONCE = 50
const [FEW, MANY] = IN_PROOF ? [1_000, 10_000] : [100, 1_000]
/** What the connections themselves send, and what is asked to count. */
const NOT_WORK = /^(?:info|hello|client|select|ping|script|config)\b/
const DAY = 24 * HOUR

async function storesOn(url: string) {
  const clients: Redis[] = []
  const connected = () => {
    const client = new Redis(url)
    clients.push(client)
    return client
  }
  const times = {
    keepAfterFinalMs: DAY,
    keepTombstoneMs: DAY,
    keepJournalMs: DAY,
    keepAnswersMs: DAY,
    keepShownMs: DAY,
  }
  const [failFast, working, blocking] = [connected(), connected(), connected()]
  const stores = redisStores(
    { failFast, working, blocking },
    keysUnder(`others-${randomUUID()}`),
    { ...times, keepLinksMs: null },
    () => T0,
  )
  return {
    ...stores,
    client: failFast,
    async close() {
      await stores.answers.close()
      for (const client of clients) client.disconnect()
    },
  }
}
type Stores = Awaited<ReturnType<typeof storesOn>>

/** Commands that Redis has carried out meanwhile, those of scripts among them. */
async function commandsOf({ client }: Stores, run: () => Promise<unknown>): Promise<number> {
  await client.config('RESETSTAT')
  await run()
  const lines = (await client.info('commandstats')).matchAll(/cmdstat_([^:]+):calls=(\d+)/g)
  return [...lines].reduce((sum, [, name = '', calls]) => sum + (NOT_WORK.test(name) ? 0 : Number(calls)), 0)
}

const put = ({ threads }: Stores, id: string, tenant: string, atOnce = true) => {
  const ref = thread(id, tenant)
  return threads.putPost(ref, postOf(ref), { ...ARRIVAL, atOnce, threaded: !atOnce }, RULES)
}
const ask = ({ threads }: Stores, id: string, tenant: string) => {
  const ref = thread(id, tenant, 'asked')
  const subject = thread(`subject of ${id}`, tenant)
  const asked = askedThread(
    ref,
    { post: postOf(subject, { asked: ['hate'] }), comments: [], postOnly: true },
    T0,
    RULES,
  )
  return threads.putAsked(
    { thread: asked, subject, protocols: ['hate'], webhook: false, until: T0 + DAY, most: null },
    T0,
  )
}
/** Opens a case on it. */
async function open({ threads }: Stores, ref: ThreadRef) {
  const state = await threads.read(ref)
  if (state === null) throw new Error(`there is no ${ref.postId}`)
  const record = recordOf(state, 'hate')
  const found = { record, seen: state.version }
  const opened = await threads.open(state, { cases: [found], waiting: [], dormant: [], nextDue: null, final: true })
  expect(opened).toEqual([record.id])
  return record
}
async function conclude({ cases }: Stores, record: Awaited<ReturnType<typeof open>>) {
  const taken = await cases.take(record.id)
  expect(await cases.conclude(record, taken?.epoch ?? 0, endOf(record))).toBe(true)
}
async function publish({ outbox }: Stores) {
  await outbox.done(await outbox.next('the publisher', 100, 10))
}
async function judge(stores: Stores, ref: ThreadRef) {
  await conclude(stores, await open(stores, ref))
  await publish(stores)
}

/** Takes a comment that is judged by itself as intake does, at the time `now`. */
function comment(
  stores: Stores,
  { tenant, postId, id, now = T0 }: { tenant: string; postId: string; id: string; now?: number },
) {
  const routes = router([protocolNamed('hate', { subject: 'post' })], { hate: [{ subjects: ['comment'] }] }, () => 0)
  const context = intakeContext(stores, { routes, clock: () => now, maxReplies: 100_000, commentPace: paceOf(stores) })
  const message = { tenant, postId, id, text: `${id} says`, author: `author of ${id}`, createdAt: T0 }
  const from = { topic: 'comments', partition: 0, offset: '0', key: postId, value: null, headers: {}, timestamp: T0 }
  return comments.handle(context, [{ ok: true, message, from }], async () => {})
}
const paces = new WeakMap<Stores, ReturnType<typeof commentPace>>()
function paceOf(stores: Stores) {
  const pace = paces.get(stores) ?? commentPace(() => T0)
  paces.set(stores, pace)
  return pace
}

/** How a store comes to hold so much of others. */
const CROWDS: readonly { name: string; make: (stores: Stores, nth: number) => Promise<unknown> }[] = [
  { name: 'posts of another tenant that are due', make: (stores, nth) => put(stores, `p${nth}`, 'other') },
  { name: 'due posts of as many tenants', make: (stores, nth) => put(stores, 'p', `t${nth + 1_000}`) },
  { name: 'threads of another tenant that wait', make: (stores, nth) => put(stores, `p${nth}`, 'other', false) },
  {
    name: 'comments of one thread',
    make: ({ threads }, nth) =>
      threads.putComments(thread('p', 'other'), [said(`c${nth}`, { author: `a${nth}` })], T0, RULES),
  },
  {
    name: 'comments of one thread that are judged by themselves',
    make: (stores, nth) => comment(stores, { tenant: 'other', postId: 'p', id: `c${nth}` }),
  },
  {
    name: 'comments of one thread of the same tenant that are judged by themselves',
    make: (stores, nth) => comment(stores, { tenant: 'bystander', postId: 'p', id: `c${nth}` }),
  },
  {
    name: 'comments of as many threads whose post has not come',
    make: ({ threads }, nth) => threads.putComments(thread(`p${nth}`, 'other'), [said('c')], T0, RULES),
  },
  { name: 'questions of another tenant', make: (stores, nth) => ask(stores, `f${nth}`, 'other') },
  { name: 'questions of as many tenants', make: (stores, nth) => ask(stores, 'f1', `t${nth + 1_000}`) },
  {
    name: 'open cases of another tenant',
    async make(stores, nth) {
      await put(stores, `p${nth}`, 'other')
      await open(stores, thread(`p${nth}`, 'other'))
    },
  },
  {
    name: 'verdicts of another tenant that were published',
    async make(stores, nth) {
      await put(stores, `p${nth}`, 'other')
      await conclude(stores, await open(stores, thread(`p${nth}`, 'other')))
      if (nth % AT_ONCE === 0) await publish(stores)
    },
  },
  {
    name: 'posts of another tenant that were deleted',
    make: ({ threads }, nth) =>
      threads.deletePost(thread(`p${nth}`, 'other'), retractionOf(thread(`p${nth}`, 'other'))),
  },
]

const WAYS: Readonly<Record<string, (stores: Stores, own: string) => Promise<unknown>>> = {
  async post(stores, own) {
    await put(stores, own, 'bystander')
    await judge(stores, thread(own, 'bystander'))
  },
  async question(stores, own) {
    expect(await ask(stores, own, 'bystander')).toBe('asked')
    await judge(stores, thread(own, 'bystander', 'asked'))
    await stores.answers.read('bystander', own)
  },
  async comment(stores, own) {
    await comment(stores, { tenant: 'bystander', postId: `of ${own}`, id: own })
    await judge(stores, thread(commentKey(`of ${own}`, own), 'bystander', 'comment'))
  },
  async takenBack({ threads }, own) {
    const ref = thread(`of ${own}`, 'bystander')
    await threads.putComments(ref, [said(own)], T0, RULES)
    await threads.putComments(ref, [{ kind: 'deleted', id: own, createdAt: T0 }], T0, RULES)
  },
  // The opener's look at what is due, which everybody waits for.
  look: ({ threads }) => threads.due(0, 10, 1_000, 250),
}

onRedis.for(CROWDS)(
  'what a bystander does takes as many commands beside few as beside many: $name',
  async ({ make }, { redis }) => {
    const stores = await storesOn(redis.settings.REDIS_URL ?? '')
    try {
      let there = 0
      const beside = async (others: number) => {
        for (; there < others; there += AT_ONCE)
          await Promise.all(Array.from({ length: AT_ONCE }, (_, nth) => make(stores, there + nth)))
        const counts: number[] = []
        for (const act of Object.values(WAYS)) {
          // A request for which somebody waits has a name that begins so.
          const own = () => `f${randomUUID()}`
          await act(stores, own())
          counts.push(await commandsOf(stores, () => act(stores, own())))
        }
        return counts
      }
      const [few, many] = [await beside(FEW), await beside(MANY)]
      for (const [nth, count] of many.entries()) expect(count).toBeLessThanOrEqual(1.1 * (few[nth] ?? 0) + 2)
    } finally {
      await stores.close()
    }
  },
)

onRedis(
  'to decide on a thread, or to know how long one has been due, reads no more of many comments',
  async ({ redis }) => {
    const stores = await storesOn(redis.settings.REDIS_URL ?? '')
    const { threads, client } = stores
    const protocols = [protocolNamed('rumor', { labels: ['good', 'bad'] })]
    const decide = decisionHandler({
      ...stores,
      protocols,
      routes: router(protocols, {}, () => 0),
      clock: () => T0,
      report: () => {},
      writes: WRITES,
    })
    const sent = async (run: () => Promise<unknown>) => {
      const bytes = async () => Number(/total_net_output_bytes:(\d+)/.exec(await client.info('stats'))?.[1])
      const before = await bytes()
      await run()
      return (await bytes()) - before
    }
    try {
      let offset = 0
      const readOf = async (comments: number) => {
        const ref = thread(`p${comments}`)
        await put(stores, ref.postId, ref.tenant, false)
        const all = Array.from({ length: comments }, (_, nth) => said(`c${nth}`, { author: `a${nth}` }))
        await threads.putComments(ref, all, T0, { ...RULES, maxComments: comments })
        const age = ageOfOldestDue({
          threads,
          streamNow: async () => Number.MAX_SAFE_INTEGER,
          maxOpen: 9,
          clock: () => T0,
        })
        const place = { topic: 'decisions', partition: 0, offset: String(offset++), timestamp: T0 }
        const message = {
          subjectId: ref.postId,
          tenant: ref.tenant,
          protocol: 'rumor',
          label: 'good',
          by: 'ann',
          why: 'so',
        }
        const decision = decisionMessage.parse({ ...message, against: 0, at: new Date(T0).toISOString() })
        const reads = [age, () => decide(decision, place)]
        const counts = await reads.reduce<Promise<number[]>>(
          async (before, read) => [...(await before), await sent(read)],
          Promise.resolve([]),
        )
        await threads.deletePost(ref, retractionOf(ref))
        return counts
      }
      await readOf(10)
      const [few, many] = [await readOf(FEW), await readOf(2 * FEW)]
      for (const [nth, bytes] of many.entries()) expect(bytes).toBeLessThanOrEqual((few[nth] ?? 0) + 100)
    } finally {
      await stores.close()
    }
  },
)

onRedis(
  'who comes after a thread of very many comments, each judged by itself, is among the first',
  async ({ redis }) => {
    const stores = await storesOn(redis.settings.REDIS_URL ?? '')
    try {
      for (let nth = 0; nth < MANY; nth += AT_ONCE)
        await Promise.all(
          Array.from({ length: AT_ONCE }, (_, at) =>
            comment(stores, { tenant: 'default', postId: 'p', id: `c${nth + at}` }),
          ),
        )
      await comment(stores, { tenant: 'default', postId: 'q', id: 'c' })
      await put(stores, 'bystander', 'default')
      const due = await stores.threads.due(T0, 4)
      const names = due.map(({ kind, postId }) => `${kind} ${postId}`)
      expect(names).toEqual(expect.arrayContaining(['comment q~c', 'post bystander']))
    } finally {
      await stores.close()
    }
  },
)
