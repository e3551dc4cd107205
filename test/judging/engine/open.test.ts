import { beforeEach, describe, expect, test } from 'vitest'
import { arrivalOf } from '../../../consumers/posts.ts'
import { caseRecord } from '../../../src/contracts/facts/case.ts'
import { NEVER_OVERLOADED } from '../../../src/contracts/facts/overload.ts'
import { samplingRanks } from '../../../src/contracts/facts/sampling-rank.ts'
import type { Post, ThreadRef } from '../../../src/contracts/facts/thread.ts'
import { commentKey } from '../../../src/contracts/facts/verdict-id.ts'
import type { StreamPartitions } from '../../../src/contracts/ports/threads.ts'
import { opener } from '../../../src/judging/engine/open.ts'
import { type Route, router } from '../../../src/judging/engine/routes.ts'
import type { Protocol } from '../../../src/judging/engine/script.ts'
import { nameOf } from '../../../src/judging/engine/thread-backoff.ts'
import { askedThread } from '../../../src/judging/threads/asked.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { endOf, HOUR, MINUTE, postOf, RULES, said, T0, thread } from '../../contracts/samples.ts'
import { protocolNamed } from '../../support/parts.ts'

const rumor = protocolNamed('rumor')
const hate = protocolNamed('hate', { subject: 'post', accepts: ({ text }) => text !== '' })
const safety = protocolNamed('safety', { subject: 'post' })
const reply = protocolNamed('reply', { subject: 'reply', accepts: ({ hateSpeech }) => hateSpeech !== undefined })
/** Bytes of a comment for which no dead letter can be made. */
const BAD = 'bad'
/** Dead letters that may wait while orphans expire. */
const MOST_LETTERS = 100
const checkpoints = { counts: [2], ages: [15 * MINUTE], finalAge: HOUR }
const rules = { ...RULES, counts: checkpoints.counts }

let stores: ReturnType<typeof memoryStores>
let streamNow: number
/** Stream time by partition, beside the one at `streamNow`. */
let marks: Map<string, number>
let opened: string[]
let wall: number
let troubles: string[]
let gate: { closed: string | null }

beforeEach(() => {
  stores = memoryStores(() => T0)
  streamNow = T0
  marks = new Map()
  opened = []
  wall = T0 + 24 * HOUR
  troubles = []
  gate = { closed: null }
})

function setUp(
  protocols: readonly Protocol[],
  routes: Record<string, Route[]> = {},
  maxOpen = 100,
  steps = NEVER_OVERLOADED,
  partitions: StreamPartitions | null = null,
  key = 'a key',
  links?: Parameters<typeof opener>[0]['links'],
) {
  const { threads, cases, outbox } = stores
  const routed = router(protocols, routes, samplingRanks(key))
  const { openDue, now } = opener({
    routes: routed,
    threads,
    links,
    marks: {
      read: async () =>
        new Map([...marks, ['posts/0', streamNow] as const].map(([partition, at]) => [partition, markAt(at)])),
      write: async () => {},
    },
    cases,
    queues: {
      async push(ids) {
        opened.push(...ids)
      },
      work() {},
      stranded: async () => [],
      async drop() {},
      backlog: async () => [],
      async close() {},
    },
    clock: () => wall,
    report: (name, event) => {
      if (name !== 'error' || !('where' in event)) return
      troubles.push(`${event.where}${event.thread === undefined ? '' : ` ${nameOf(event.thread)}`}`)
    },
    settings: {
      checkpoints,
      clock: { idleAfter: 5_000, atEnd: 'wall-pace' },
      cases: { maxOpen, overload: steps, deadline: HOUR },
      mostLetters: MOST_LETTERS,
      mostDue: 1_000,
      partitions: partitions === null ? null : () => partitions,
      gate,
    },
    orphanLetter({ offset, raw }) {
      if (raw === BAD) throw new RangeError('Invalid time value')
      return { key: offset, letter: offset }
    },
  })
  const put = (ref: ThreadRef, change: Partial<Post> = {}) => {
    const post = postOf(ref, change)
    return threads.putPost(ref, post, arrivalOf(routed.of(ref, post), post, checkpoints, T0), rules)
  }
  const openAll = async () => {
    opened = []
    while ((await openDue()) > 0);
    return opened
  }
  const publish = async (id: string, carry: string | null = null) => {
    const taken = await cases.take(id)
    if (taken === null) throw new Error(`${id} is not open`)
    await cases.conclude(taken.record, taken.epoch, endOf(taken.record, 'so it is', carry))
    await outbox.done(await outbox.next('test', 100, 1))
  }
  const caseOf = async (id: string) => caseRecord.parse((await cases.peek(id))?.record)
  const say = (ref: ThreadRef, ...ids: string[]) =>
    threads.putComments(
      ref,
      ids.map((id) => said(id)),
      T0,
      rules,
    )
  return { threads, put, openDue, openAll, publish, caseOf, say, now }
}

const markAt = (at: number) => ({ newest: at, second: at, endSince: null, seenAt: 0 })

const p1 = thread('p1')

test('a case has the trace contexts that messages of its thread came with, and none where there are none', async () => {
  const contexts = ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01']
  const read = async ({ postId }: ThreadRef) => (postId === 'p1' ? contexts : [])
  const { put, openAll, caseOf } = setUp([rumor], {}, 100, NEVER_OVERLOADED, null, 'a key', { read })
  const p2 = thread('p2')
  for (const ref of [p1, p2]) await put(ref)
  streamNow = T0 + 2 * HOUR
  const [first = '', second = ''] = (await openAll()).sort()
  expect((await caseOf(first)).links).toEqual(contexts)
  expect(await caseOf(second)).not.toHaveProperty('links')
})

test('comments without their post expire once there is room for their letters, and keep no thread waiting', async () => {
  const { put, openAll, say } = setUp([hate])
  const other = Array.from({ length: MOST_LETTERS }, () => ({ key: 'k', letter: '{}' }))
  await stores.outbox.putDeadLetters(other)
  await say(p1, 'c1', 'c2')
  await put(thread('p2'))
  streamNow = T0 + 2 * HOUR
  expect(await openAll()).toHaveLength(1)
  expect((await stores.outbox.backlog()).letters).toBe(MOST_LETTERS)
  await stores.outbox.done(await stores.outbox.next('test', MOST_LETTERS, 1))
  // It was looked at a moment ago.
  await openAll()
  expect((await stores.outbox.backlog()).letters).toBe(0)
  wall += MINUTE
  await openAll()
  expect((await stores.outbox.backlog()).letters).toBe(2)
})

test('a comment that waits for its post is opened once the stream has come so far, and is shown what came meanwhile', async () => {
  const { put, openAll } = setUp([hate], { hate: [{ subjects: ['post', 'comment'] }] })
  const ref = thread(commentKey('p', 'c'), 'default', 'comment')
  const arrival = { firstDue: 1, now: T0, threaded: false, atOnce: true, notBefore: T0 + 5_000 }
  await stores.threads.putPost(ref, postOf(ref), arrival, rules)
  streamNow = T0 + 4_999
  expect(await openAll()).toEqual([])
  await put(thread('p'), { text: 'the post' })
  streamNow = T0 + 5_000
  const ids = await openAll()
  const cases = await Promise.all(ids.map(async (id) => (await stores.cases.take(id))?.record))
  const opened = cases.find((one) => one?.kind === 'comment')
  expect(opened).toMatchObject({ subject: { under: { text: 'the post' } } })
})

describe('the stream’s clock', () => {
  const clockOver = (there: string[], awaited: string[] = there) =>
    setUp([rumor], {}, 100, NEVER_OVERLOADED, { there: new Set(there), awaited: new Set(awaited) }).now()

  test('is not held by marks of a topic with another name, nor of a partition that is no more', async () => {
    marks = new Map([
      ['renamed.posts/0', T0 - HOUR],
      ['posts/1', T0 - 2 * HOUR],
    ])
    expect(await clockOver(['posts/0'])).toBe(T0)
    expect(await clockOver(['posts/0', 'posts/1'])).toBe(T0 - 2 * HOUR)
  })

  test('waits for each partition that was there from the beginning, whatever other marks there are', async () => {
    marks = new Map([['renamed.comments/0', T0]])
    expect(await clockOver(['posts/0', 'comments/0'])).toBe(Number.NEGATIVE_INFINITY)
    expect(await clockOver(['posts/0', 'comments/0'], ['posts/0'])).toBe(T0)
    marks = new Map([['comments/0', T0 - HOUR]])
    expect(await clockOver(['posts/0', 'comments/0'])).toBe(T0 - HOUR)
  })
})

describe('a thread that is edited again and again after its final verdict', () => {
  test('is judged three times at once, then after waits that double, and begins anew when it was left alone', async () => {
    const { threads, put, openAll, publish, say } = setUp([rumor])
    await put(p1)
    await say(p1, 'c1')
    streamNow = T0 + HOUR
    await publish('rumor~p1~r1').catch(() => openAll().then(([id = '']) => publish(id)))
    const pass = (ms: number) => {
      wall += ms
      streamNow += ms
    }
    let edits = 0
    const edit = () => threads.putComments(p1, [said('c1', { text: `edit ${edits++}` })], T0, rules)
    const judged = async () => {
      await edit()
      const ids = await openAll()
      for (const id of ids) await publish(id)
      return ids.length
    }
    expect([await judged(), await judged(), await judged(), await judged()]).toEqual([1, 1, 1, 0])
    pass(29_000)
    expect(await judged()).toBe(0)
    pass(2_000)
    expect(await openAll()).toEqual(['rumor~p1~r5'])
    await publish('rumor~p1~r5')
    pass(31_000)
    expect(await judged()).toBe(0)
    pass(30_000)
    expect(await judged()).toBe(1)
    let day = 0
    for (let minute = 0; minute < 24 * 60; minute++) {
      pass(60_000)
      day += await judged()
    }
    expect(day).toBeLessThanOrEqual(40)
    pass(3 * HOUR)
    await openAll().then((ids) => Promise.all(ids.map((id) => publish(id))))
    pass(3 * HOUR)
    expect([await judged(), await judged()]).toEqual([1, 1])
  })
})

describe('a case of a thread', () => {
  test('knows how many comments there were, and how many of them its snapshot lacks', async () => {
    const { threads, put, openAll, caseOf } = setUp([rumor])
    await put(p1)
    const of = (author: string, count: number) =>
      Array.from({ length: count }, (_, at) => said(`${author}${at}`, { author }))
    const late = [said('l1', { createdAt: T0 + 25 * HOUR }), said('l2', { createdAt: T0 + 26 * HOUR })]
    await threads.putComments(p1, [...of('x', 9), ...of('y', 2), ...late], T0, {
      ...rules,
      maxPerAuthor: 4,
      maxComments: 5,
    })
    streamNow = T0 + 24 * HOUR
    await openAll()
    const { subject, comments } = await caseOf('rumor~p1~r1')
    expect(subject).toMatchObject({ comments: { length: 5 }, leftOut: 1, overAuthor: 5 })
    expect(comments).toEqual({ accepted: 13, cap: 1, late: 2, author: 5 })
  })
})

describe('another key in the middle of a thread', () => {
  const under = (key: string) => ({
    ...rules,
    maxPerAuthor: 2,
    samplingKeyVersion: key,
    rank: (_: ThreadRef, id: string) => samplingRanks(key)('s', id),
  })
  const of = (author: string, count: number) =>
    Array.from({ length: count }, (_, at) => said(`${author}${at}`, { author }))

  test('is told by the cases whose comments did not all fit', async () => {
    const { threads, put, openAll, publish, caseOf } = setUp([rumor])
    await put(p1)
    await threads.putComments(p1, of('x', 2), T0, under('one'))
    await threads.putComments(p1, of('y', 2), T0, under('two'))
    await openAll()
    expect((await caseOf('rumor~p1~r1')).comments).not.toHaveProperty('rekeyed')
    await publish('rumor~p1~r1')
    await threads.putComments(p1, of('z', 3), T0, under('two'))
    streamNow = T0 + HOUR
    await openAll()
    expect((await caseOf('rumor~p1~r2')).comments).toMatchObject({ accepted: 7, author: 1, rekeyed: true })
  })

  test('takes no subject from a protocol that has judged it', async () => {
    const routes = { rumor: [{ sample: 0.5 }] }
    const keys = Array.from({ length: 20 }, (_, at) => `key ${at}`)
    const isDrawn = (key: string) => router([rumor], routes, samplingRanks(key)).of(p1, postOf(p1)).length === 1
    const [first = '', other = ''] = [keys.find(isDrawn), keys.find((key) => !isDrawn(key))]
    const before = setUp([rumor], routes, 100, NEVER_OVERLOADED, null, first)
    await before.put(p1)
    await before.say(p1, 'c1', 'c2')
    expect(await before.openAll()).toEqual(['rumor~p1~r1'])
    await before.publish('rumor~p1~r1')
    streamNow = T0 + HOUR
    expect(await setUp([rumor], routes, 100, NEVER_OVERLOADED, null, other).openAll()).toEqual(['rumor~p1~r2'])
  })
})

describe('a case', () => {
  test('ends its calls at its deadline, and counts its time from what opened it', async () => {
    const { put, openAll, caseOf } = setUp([hate])
    await put(p1)
    await openAll()
    const opened = { receivedAt: T0, openedAt: T0 + 24 * HOUR, deadline: T0 + 25 * HOUR }
    expect(await caseOf('hate~p1~r1')).toMatchObject({ carry: null, ...opened })
  })

  test('is handed what the one before kept', async () => {
    const { put, openAll, publish, caseOf } = setUp([hate])
    await put(p1)
    await openAll()
    await publish('hate~p1~r1', '{"kept":"this"}')
    await put(p1, { text: 'corrected' })
    await openAll()
    expect((await caseOf('hate~p1~r2')).carry).toEqual({ kept: 'this' })
  })

  test('of a thread has every comment up to the last moment of its age, and none after it', async () => {
    const { threads, put, openAll, caseOf } = setUp([rumor])
    await put(p1)
    const comments = [said('in', { createdAt: T0 + HOUR }), said('after', { createdAt: T0 + HOUR + 1 })]
    await threads.putComments(p1, comments, T0, { ...rules, finalAge: 2 * HOUR })
    await openAll()
    const { subject, comments: counts } = await caseOf('rumor~p1~r1')
    expect(subject).toMatchObject({ comments: [{ id: 'in' }] })
    expect(counts).toEqual({ accepted: 2, cap: 0, late: 1, author: 0 })
  })

  test.each([
    [2, undefined],
    [3, 1],
    [4, 2],
    [6, 3],
  ])('of %i that are due where less is asked from 2, 3 and 5 on, opens in step %j', async (due, step) => {
    const steps = { single: { atDue: 2 }, sample: { atDue: 3 }, hold: { atDue: 5, putBack: HOUR } }
    const { put, openAll, caseOf } = setUp([safety], {}, 100, steps)
    for (let at = 0; at < due; at++) await put(thread(`due${at}`))
    await openAll()
    const { overloaded, step: opened } = await caseOf('safety~due0~r1')
    expect({ overloaded, opened }).toEqual({ overloaded: step !== undefined, opened: step })
  })
})

describe('a thread that can’t be opened', () => {
  const bad = (postId: string): Parameters<typeof stores.threads.putComments> => {
    const { origin, ...one } = said('c')
    return [thread(postId), [{ ...one, origin: () => ({ ...origin(), raw: BAD }) }], T0, rules]
  }

  test('stops no other: what opens gets its job, and the one is named', async () => {
    const { threads, put, openAll } = setUp([safety])
    await threads.putComments(...bad('worse'))
    await put(p1)
    streamNow = T0 + 24 * HOUR
    expect(await openAll()).toEqual(['safety~p1~r1'])
    expect(troubles).toEqual(['opening post worse of default'])
  })

  test('is tried again after a while, longer each time, and not meanwhile', async () => {
    const { threads, openAll } = setUp([safety])
    await threads.putComments(...bad('worse'))
    streamNow = T0 + 24 * HOUR
    const tries: number[] = []
    for (let second = 0; second < 200; second++, wall += 1_000) {
      const before = troubles.length
      await openAll()
      if (troubles.length > before) tries.push(second)
    }
    expect(tries).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183])
  })

  test('is not in the way of the next, however many there are', async () => {
    const { threads, put, openAll } = setUp([safety])
    for (let at = 0; at < 300; at++) await threads.putComments(...bad(`worse${at}`))
    streamNow = T0 + 24 * HOUR
    for (let look = 0; look < 5; look++) await openAll()
    await put(p1)
    expect(await openAll()).toEqual(['safety~p1~r1'])
  })
})

describe('a protocol of posts', () => {
  test('opens at once and for good, before any checkpoint of the threads', async () => {
    const { put, openAll, caseOf } = setUp([rumor, hate, safety])
    expect(await put(p1)).toBe('judged')
    expect(await openAll()).toEqual(['hate~p1~r1', 'safety~p1~r1'])
    expect(await caseOf('hate~p1~r1')).toMatchObject({ final: true, subject: { comments: [], leftOut: 0 } })
    streamNow = T0 + 15 * MINUTE
    expect(await openAll()).toEqual(['rumor~p1~r1'])
  })

  test('judges again what was edited, and not what was only commented on', async () => {
    const { put, openAll, publish, say } = setUp([rumor, hate])
    await put(p1)
    await openAll()
    await publish('hate~p1~r1')
    expect(await say(p1, 'c1', 'c2')).toEqual(['judged', 'judged'])
    expect(await openAll()).toEqual(['rumor~p1~r1'])
    await publish('rumor~p1~r1')
    expect(await put(p1, { text: 'corrected' })).toBe('updated')
    expect(await openAll()).toEqual(['rumor~p1~r2', 'hate~p1~r2'])
  })

  test('an edit while its case is open is judged when that one is published', async () => {
    const { put, openAll, publish, caseOf } = setUp([hate])
    await put(p1)
    await openAll()
    await put(p1, { text: 'corrected' })
    expect(await openAll()).toEqual([])
    await publish('hate~p1~r1')
    expect(await openAll()).toEqual(['hate~p1~r2'])
    expect(await caseOf('hate~p1~r2')).toMatchObject({
      supersedes: 'hate~p1~r1',
      subject: { post: { text: 'corrected' } },
    })
  })
})

describe('routes', () => {
  test('a post that nobody judges is unrouted, and so are its comments', async () => {
    const { put, openAll, say } = setUp([rumor, hate], { rumor: [], hate: [{ langs: ['ko'] }] })
    await say(p1, 'early')
    expect(await put(p1)).toBe('unrouted')
    expect(await say(p1, 'late')).toEqual(['unrouted'])
    streamNow = T0 + 2 * HOUR
    expect(await openAll()).toEqual([])
    expect(await stores.outbox.size()).toBe(0)
  })

  test('an edit can route a post that was not', async () => {
    const { put, openAll } = setUp([hate], { hate: [{ langs: ['ko'] }] })
    expect(await put(p1)).toBe('unrouted')
    expect(await put(p1, { lang: 'ko' })).toBe('judged')
    expect(await openAll()).toEqual(['hate~p1~r1'])
  })

  test('comments that no protocol reads are not kept', async () => {
    const { put, say, threads, openAll } = setUp([hate])
    await put(p1)
    expect(await say(p1, 'c1')).toEqual(['unrouted'])
    expect((await threads.read(p1))?.comments).toEqual([])
    expect(await openAll()).toEqual(['hate~p1~r1'])
    streamNow = T0 + 2 * HOUR
    expect(await openAll()).toEqual([])
  })

  test('by size go by what authors have room for: no flood by one makes a thread too long, or long enough', async () => {
    const { threads, put, openAll } = setUp([rumor, hate], {
      rumor: [{ maxComments: 5 }],
      hate: [],
    })
    await put(p1)
    const flood = Array.from({ length: 50 }, (_, at) => said(`x${at}`, { author: 'x' }))
    await threads.putComments(p1, flood, T0, { ...rules, maxPerAuthor: 2 })
    streamNow = T0 + HOUR
    expect(await openAll()).toEqual(['rumor~p1~r1'])
    const { caseOf } = setUp([])
    expect((await caseOf('rumor~p1~r1')).comments).toMatchObject({ accepted: 50, author: 48 })
  })

  test('by size wait for the checkpoint that has it', async () => {
    const { put, say, openAll } = setUp([rumor], { rumor: [{ minComments: 2 }] })
    await put(p1)
    streamNow = T0 + 15 * MINUTE
    expect(await openAll()).toEqual([])
    await say(p1, 'c1', 'c2')
    expect(await openAll()).toEqual(['rumor~p1~r1'])
  })
})

describe('counterspeech', () => {
  test('is a subject of its own, also where a post has the same id', async () => {
    const { put, openAll, caseOf } = setUp([rumor, hate, reply])
    const r1 = thread('p1', 'default', 'reply')
    await put(p1)
    await put(r1, { text: 'the reply', hateSpeech: 'what it answers' })
    expect(await openAll()).toEqual(['hate~p1~r1', 'reply~p1~r1'])
    expect(await caseOf('reply~p1~r1')).toMatchObject({
      kind: 'reply',
      final: true,
      subject: { post: { text: 'the reply', hateSpeech: 'what it answers' } },
    })
    expect(await caseOf('hate~p1~r1')).toMatchObject({ kind: 'post', subject: { post: { text: 'what p1 says' } } })
  })

  test('has a verdict id of its own where a protocol of posts judges it too', async () => {
    const { put, openAll } = setUp([hate, reply], { hate: [{ topics: ['posts', 'counterspeech'] }] })
    await put(p1)
    await put(thread('p1', 'default', 'reply'), { text: 'the reply', hateSpeech: 'what it answers' })
    expect(await openAll()).toEqual(['hate~p1~r1', 'hate/reply~p1~r1', 'reply~p1~r1'])
  })
})

describe('tenants', () => {
  test('are opened in turn, and what does not fit waits', async () => {
    const { put, openAll, publish, threads } = setUp([hate], {}, 8)
    for (let index = 0; index < 30; index++) await put(thread(`l${index}`, 'loud'))
    const loud = await openAll()
    expect(loud).toHaveLength(8)
    for (let index = 0; index < 3; index++) await put(thread(`q${index}`, 'quiet'))
    expect(await openAll()).toEqual(['hate@quiet~q0~r1'])
    await publish(loud[0] ?? '')
    expect(await openAll()).toEqual(['hate@quiet~q1~r1'])
    await publish(loud[1] ?? '')
    expect(await openAll()).toEqual(['hate@quiet~q2~r1'])
    await publish(loud[2] ?? '')
    expect(await openAll()).toEqual(['hate@loud~l8~r1'])
    expect(await threads.countDue(0)).toBe(21)
  })
})

describe('a paused protocol', () => {
  test('opens nothing, and all that came due when it is resumed', async () => {
    const { put, openAll, threads } = setUp([hate, safety])
    await threads.pause('hate')
    await put(p1)
    await put(thread('p2'))
    expect(await openAll()).toEqual(['safety~p1~r1', 'safety~p2~r1'])
    expect(await openAll()).toEqual([])
    expect(await threads.resume('hate', T0)).toBe(2)
    expect(await openAll()).toEqual(['hate~p1~r1', 'hate~p2~r1'])
    expect(await threads.resume('hate', T0)).toBe(0)
  })

  test('still judges the final snapshot, as the final one', async () => {
    const { put, openAll, threads, caseOf } = setUp([rumor])
    await put(p1)
    await threads.pause('rumor')
    streamNow = T0 + HOUR
    expect(await openAll()).toEqual([])
    expect((await threads.read(p1))?.final).toBe(false)
    await threads.resume('rumor', T0)
    expect(await openAll()).toEqual(['rumor~p1~r1'])
    expect((await caseOf('rumor~p1~r1')).final).toBe(true)
  })

  test('stays final when the clock goes back: a comment that comes late opens a final revision, and one alone', async () => {
    const { put, openAll, publish, say, caseOf } = setUp([rumor])
    await put(p1)
    streamNow = T0 + HOUR
    expect(await openAll()).toEqual(['rumor~p1~r1'])
    await publish('rumor~p1~r1')
    streamNow = T0 + 20 * MINUTE
    expect(await say(p1, 'c1')).toEqual(['late'])
    expect(await openAll()).toEqual(['rumor~p1~r2'])
    expect((await caseOf('rumor~p1~r2')).final).toBe(true)
    await publish('rumor~p1~r2')
    streamNow = T0 + 2 * HOUR
    expect(await openAll()).toEqual([])
  })

  test('makes no other protocol judge its final snapshot twice', async () => {
    const { put, openAll, threads, publish, caseOf } = setUp([rumor, hate])
    await threads.pause('hate')
    await put(p1)
    streamNow = T0 + HOUR
    expect(await openAll()).toEqual(['rumor~p1~r1'])
    expect((await caseOf('rumor~p1~r1')).final).toBe(true)
    await publish('rumor~p1~r1')
    await threads.resume('hate', T0)
    expect(await openAll()).toEqual(['hate~p1~r1'])
  })

  test('forgets what was deleted meanwhile', async () => {
    const { put, openAll, threads } = setUp([hate])
    await threads.pause('hate')
    await put(p1)
    await openAll()
    await threads.deletePost(p1, () => ({ caseId: '', verdict: '', transcript: '' }))
    await threads.resume('hate', T0)
    expect(await openAll()).toEqual([])
  })
})

describe('a post that is edited while a protocol is off', () => {
  const p = thread('p')
  const both = () => setUp([rumor, hate])
  const edit = async (words: string) => {
    const { put, openAll } = setUp([rumor])
    await put(p, { text: words })
    return openAll()
  }

  test('is judged by it when it is on again, and once', async () => {
    const { put, openAll, publish, threads } = both()
    await put(p)
    for (const id of await openAll()) await publish(id)
    await edit('other words')
    expect(await openAll(), 'nobody has said that it is on again').toEqual([])
    expect(await threads.wake('hate', T0)).toBe(1)
    expect(await openAll()).toEqual(['hate~p~r2'])
    expect(await threads.wake('hate', T0)).toBe(0)
  })

  test('is judged by it behind the case that it has open', async () => {
    const { put, openAll, publish } = both()
    await put(p)
    const [open = ''] = (await openAll()).filter((id) => id.startsWith('hate'))
    await edit('other words')
    await publish(open)
    expect(await openAll()).toContain('hate~p~r2')
  })

  test('is not judged again by one that has seen it', async () => {
    const { put, openAll, publish, threads, say } = both()
    await put(p)
    for (const id of await openAll()) await publish(id)
    const rumorAlone = setUp([rumor])
    await say(p, 'c1', 'c2', 'c3')
    await rumorAlone.openAll()
    await threads.wake('hate', T0)
    expect((await openAll()).filter((id) => id.startsWith('hate'))).toEqual([])
  })
})

test('two kinds of processes, each without the other’s protocol, do not wake each other for ever', async () => {
  const p = thread('p')
  const [withHate, withSafety] = [setUp([hate]), setUp([safety])]
  await setUp([hate, safety]).put(p)
  for (const { openAll, publish } of [setUp([hate, safety])]) for (const id of await openAll()) await publish(id)
  await withHate.put(p, { text: 'other words' })
  const woken: number[] = []
  for (let round = 0; round < 6; round++) {
    for (const id of await withHate.openAll()) await withHate.publish(id)
    const safe = await stores.threads.wake('safety', T0)
    for (const id of await withSafety.openAll()) await withSafety.publish(id)
    woken.push(safe + (await stores.threads.wake('hate', T0)))
  }
  expect(woken[0]).toBeGreaterThan(0)
  expect(woken.slice(2)).toEqual([0, 0, 0, 0])
  expect((await stores.threads.read(p))?.revisions.get('safety')).toMatchObject({ revision: 2 })
})

test('opens the threads of others before those of one account that floods, and all in the end', async () => {
  const { put, openDue } = setUp([safety], {}, 1_000)
  const flood = Array.from({ length: 300 }, (_, nth) => `q${nth}`)
  for (const id of flood) await put(thread(id), { author: 'one account' })
  const bystanders = ['p1', 'p2', 'p3']
  for (const id of bystanders) await put(thread(id), { author: `by ${id}` })
  const ofBystanders = () => opened.filter((id) => bystanders.some((one) => id.includes(`~${one}~`)))
  await openDue()
  expect(opened).toHaveLength(16 + 3)
  expect(ofBystanders()).toHaveLength(3)
  while ((await openDue()) > 0);
  expect(opened).toHaveLength(303)
})

test('opens nothing of the stream while it can’t be published, and all of it afterwards', async () => {
  const { put, openAll } = setUp([safety])
  for (const id of ['p1', 'p2']) await put(thread(id))
  const asked = askedThread(
    thread('q1', 'acme', 'asked'),
    { post: postOf(thread('p9'), { asked: ['safety'] }), comments: [], postOnly: true },
    T0,
    rules,
  )
  const of = { subject: thread('p9', 'acme'), protocols: ['safety'], webhook: false, until: wall + HOUR, most: null }
  await stores.threads.putAsked({ thread: asked, ...of }, T0)
  gate.closed = 'set kafka.compression'
  expect(await openAll()).toEqual([expect.stringContaining('q1')])
  gate.closed = null
  expect(await openAll()).toHaveLength(2)
})

test('opens others before large threads, however many of these are due, and a few of them at a time', async () => {
  const { threads, put, openAll, say } = setUp([rumor])
  const ids = Array.from({ length: 120 }, (_, nth) => said(`c${nth}`))
  const large = Array.from({ length: 70 }, (_, nth) => `q${nth}`)
  for (const id of large) {
    await put(thread(id))
    await threads.putComments(thread(id), ids, T0, { ...rules, maxComments: 500, maxUnnamed: null })
  }
  const order: string[] = []
  const { read } = threads
  threads.read = (ref) => {
    order.push(ref.postId)
    return read(ref)
  }
  await put(thread('p'))
  await say(thread('p'), 'c1', 'c2')
  expect(await openAll()).toHaveLength(71)
  expect(order.indexOf('p')).toBeLessThanOrEqual(2)
  expect(new Set(order)).toEqual(new Set(['p', ...large]))
})

test('opens threads one after the other that hold as many comments as one may keep, and others side by side', async () => {
  const mostAtOnce = async (comments: number) => {
    stores = memoryStores(() => wall)
    const { threads, put, openAll } = setUp([rumor])
    const ids = Array.from({ length: comments }, (_, nth) => said(`c${nth}`))
    for (let nth = 0; nth < 6; nth++) {
      await put(thread(`q${nth}`))
      await threads.putComments(thread(`q${nth}`), ids, T0, { ...rules, maxComments: 500, maxUnnamed: null })
    }
    const { read, open } = threads
    let [atOnce, most] = [0, 0]
    threads.read = (ref) => {
      most = Math.max(most, ++atOnce)
      return read(ref)
    }
    threads.open = (...given) => open(...given).finally(() => atOnce--)
    expect(await openAll()).toHaveLength(6)
    return most
  }
  expect([await mostAtOnce(500), await mostAtOnce(200), await mostAtOnce(20)]).toEqual([1, 2, 6])
})
