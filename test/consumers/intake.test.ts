import { beforeEach, describe, expect, it } from 'vitest'
import { comments } from '../../consumers/comments.ts'
import { type InputMessage, intake, type TopicHandler } from '../../consumers/intake.ts'
import { posts } from '../../consumers/posts.ts'
import { deadLetter, type Outcome } from '../../src/contracts/facts/messages.ts'
import type { Events, Report } from '../../src/contracts/ports/report.ts'
import type { StreamMark, StreamMarks } from '../../src/contracts/ports/threads.ts'
import type { IncomingMessage, MessageBatch, Position, TopicReader } from '../../src/contracts/ports/topic.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { HOUR, RULES, T0, thread } from '../contracts/samples.ts'
import { intakeContext } from '../support/intake-context.ts'

const NOW = T0 + HOUR
const at = (ms: number) => new Date(T0 + ms).toISOString()

const postJson = (id: string, change: object = {}) => ({ id, text: `about ${id}`, createdAt: at(0), ...change })
const commentJson = (id: string, change: object = {}) => ({
  id,
  postId: 'p1',
  text: id,
  createdAt: at(1_000),
  ...change,
})

function batchOf(topic: string, values: readonly unknown[], change: Partial<MessageBatch> = {}): MessageBatch {
  const messages = values.map(
    (value, index): IncomingMessage => ({
      topic,
      partition: change.partition ?? 0,
      offset: String(index),
      key: `k${index}`,
      value: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
      headers: {},
      timestamp: NOW - 2_000,
    }),
  )
  return { topic, partition: 0, messages, next: String(messages.length), atEnd: false, ...change }
}

/** A reader that the test turns by hand. */
function handReader() {
  let handle: Parameters<TopicReader['start']>[0] = async () => {}
  let positions: Position[] = []
  const reader: TopicReader = {
    async start(given) {
      handle = given
    },
    positions: async () => positions,
    setPaused() {},
    downSince: null,
    async close() {},
  }
  let heartbeats = 0
  return {
    reader,
    /** Hands the batch over; resolves when all is done that its commit waits for. */
    async give(batch: MessageBatch, begun: Promise<unknown>[] = []) {
      await handle(
        batch,
        async () => void heartbeats++,
        (work) => void begun.push(work()),
      )
      await Promise.all(begun)
    },
    heartbeats: () => heartbeats,
    setPositions(given: Position[]) {
      positions = given
    },
  }
}

describe('the intake', () => {
  let hand: ReturnType<typeof handReader>
  let stores: ReturnType<typeof memoryStores>
  let steps: string[]
  let failing: Set<string>
  let reading: StreamMarks['read']
  let wall: number
  let told: { [Name in keyof Events]: { name: Name; event: Events[Name] } }[keyof Events][]
  let taking: ReturnType<typeof intake>

  const report: Report = (name, event) => void told.push({ name, event } as (typeof told)[number])
  /** Notes that the step was done, or fails in its place. */
  async function step<Result>(name: string, done: () => Promise<Result>): Promise<Result> {
    if (failing.has(name)) throw new Error(`${name} failed`)
    const result = await done()
    steps.push(name)
    return result
  }

  beforeEach(async () => {
    hand = handReader()
    stores = memoryStores(() => NOW)
    steps = []
    failing = new Set()
    wall = NOW
    told = []
    const { outbox, marks } = stores
    reading = () => marks.read()
    const noted = <Message extends InputMessage>(name: string, one: TopicHandler<Message>): TopicHandler<Message> => ({
      ...one,
      handle: (...given) => step(name, () => one.handle(...given)),
    })
    const context = intakeContext(stores, {
      outbox: { putDeadLetters: (letters) => step('dead letters', () => outbox.putDeadLetters(letters)) },
      clock: () => wall,
      report,
    })
    taking = intake({
      reader: hand.reader,
      handlers: new Map<string, TopicHandler>([
        ['posts', noted('posts', posts)],
        ['comments', noted('comments', comments)],
      ]),
      context,
      marks: { read: () => reading(), write: (changed) => step('marks', () => marks.write(changed)) },
    })
    await taking.start()
  })

  const settled = () => {
    const counts: Partial<Record<`${string} ${Outcome}`, number>> = {}
    for (const { name, event } of told)
      if (name === 'messages:settled') {
        const key = `${event.topic} ${event.outcome}` as const
        counts[key] = (counts[key] ?? 0) + event.count
      }
    return counts
  }
  const markOf = async (partition: string) => (await stores.marks.read()).get(partition)
  const letters = async () =>
    (await stores.outbox.next('one', 10_000, 1)).map((entry) =>
      deadLetter.parse(JSON.parse(entry.kind === 'dead-letter' ? entry.letter : '')),
    )

  it('counts each message’s outcome once', async () => {
    await hand.give(
      batchOf('posts', [
        postJson('p1'),
        postJson('p1'),
        postJson('p1', { text: 'edited' }),
        '{',
        postJson('p2'),
        postJson('p2', { deleted: true }),
      ]),
    )
    expect(settled()).toEqual({
      'posts judged': 2,
      'posts duplicate': 1,
      'posts updated': 1,
      'posts deleted': 1,
      'posts dead-letter': 1,
    })
    const late = commentJson('c4', { createdAt: at(2 * HOUR - HOUR + 1) })
    await hand.give(
      batchOf('comments', [
        commentJson('c1'),
        commentJson('c2', { postId: 'p9' }),
        commentJson('c1'),
        commentJson('c1', { text: 'edited' }),
        late,
        commentJson('c1', { deleted: true }),
        commentJson('c5', { postId: 'p2' }),
        commentJson('c6', { createdAt: '3000-01-01T00:00:00Z' }),
        'null',
      ]),
    )
    const {
      'posts judged': _1,
      'posts duplicate': _2,
      'posts updated': _3,
      'posts deleted': _4,
      'posts dead-letter': _5,
      ...ofComments
    } = settled()
    expect(ofComments).toEqual({
      'comments judged': 1,
      'comments orphan': 1,
      'comments duplicate': 1,
      'comments updated': 1,
      'comments late': 1,
      'comments deleted': 2,
      'comments dead-letter': 2,
    })
    expect((await letters()).map(({ topic, offset, reason }) => `${topic} ${offset} ${reason}`)).toEqual([
      'posts 3 not-json',
      'comments 7 future',
      'comments 8 invalid',
    ])
    expect(told.filter(({ name }) => name === 'message:dead')).toHaveLength(3)
  })

  it('has effects and dead letters durable before the mark moves, and the mark before the batch is done', async () => {
    await hand.give(batchOf('posts', [postJson('p1'), 'no JSON']))
    expect(steps).toEqual(['posts', 'dead letters', 'marks'])
  })

  it.each(['posts', 'dead letters', 'marks'])(
    'fails the batch where the %s can’t be written, and takes it whole when it comes again',
    async (what) => {
      const batch = batchOf('posts', [postJson('p1'), 'no JSON', postJson('p2', { createdAt: at(5) })])
      failing.add(what)
      await expect(hand.give(batch)).rejects.toThrow(`${what} failed`)
      expect(await markOf('posts/0')).toBeUndefined()
      failing.clear()
      await hand.give(batch)
      expect((await stores.threads.read(thread('p1')))?.post?.text).toBe('about p1')
      expect((await stores.threads.read(thread('p2')))?.post?.text).toBe('about p2')
      expect((await letters()).map(({ offset }) => offset)).toContain('1')
      expect(await markOf('posts/0')).toEqual({ newest: T0 + 5, second: T0, endSince: null, seenAt: 0 })
    },
  )

  it('writes the same dead letter when a batch comes again later', async () => {
    const batch = batchOf('posts', ['no JSON'])
    await hand.give(batch)
    wall += 60_000
    await hand.give(batch)
    const [first, second] = await letters()
    expect(first?.at).toBe(new Date(NOW - 2_000).toISOString())
    expect(second).toEqual(first)
  })

  it('goes on when nothing in a batch can be read', async () => {
    await hand.give(batchOf('posts', ['a', 'b']))
    expect(steps).toEqual(['dead letters', 'marks'])
    expect(settled()).toEqual({ 'posts dead-letter': 2 })
    expect(await markOf('posts/0')).toEqual({ newest: null, second: null, endSince: null, seenAt: 0 })
  })

  it('takes a topic that it does not know for a mistake of its own', async () => {
    await expect(hand.give(batchOf('verdicts', [{}]))).rejects.toThrow(/verdicts/)
  })

  it('sends heartbeats in long batches, and takes each of their messages', async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => commentJson(`c${index}`, { postId: `p${index % 9}` }))
    await hand.give(batchOf('comments', many))
    expect(hand.heartbeats()).toBeGreaterThanOrEqual(3)
    expect(settled()).toEqual({ 'comments orphan': 5_000 })
    expect((await stores.threads.read(thread('p3')))?.accepted).toBe(
      many.filter(({ postId }) => postId === 'p3').length,
    )
  })

  it('sends heartbeats between large messages, however few they are', async () => {
    const large = Array.from({ length: 12 }, (_, n) => commentJson(`large ${n}`, { text: 'x'.repeat(1_000_000) }))
    await hand.give(batchOf('comments', large))
    expect(hand.heartbeats()).toBeGreaterThanOrEqual(3)
    expect(settled()).toEqual({ 'comments orphan': 12 })
  })

  it('keeps the order of one thread’s changes, also where other threads’ stand between', async () => {
    await hand.give(
      batchOf('comments', [
        commentJson('c1', { text: 'first' }),
        commentJson('c1', { postId: 'p2' }),
        commentJson('c1', { text: 'second' }),
        commentJson('c2', { deleted: true }),
        commentJson('c2', { postId: 'p2' }),
        commentJson('c2'),
      ]),
    )
    const state = await stores.threads.read(thread('p1'))
    expect(state?.comments.map(({ id, text }) => `${id} ${text}`)).toEqual(['c1 second'])
    expect((await stores.threads.read(thread('p2')))?.comments).toHaveLength(2)
  })

  it('waits as long for the post of a comment that was read long after its time', async () => {
    const read = T0 + 30 * 24 * HOUR
    await stores.marks.write(new Map([['posts/0', { newest: read + 1, second: read, endSince: null, seenAt: 0 }]]))
    await hand.give(batchOf('comments', [commentJson('c1')]))
    expect(await stores.threads.due(read + RULES.orphanWait - 1, 10)).toEqual([])
    expect(await stores.threads.due(read + RULES.orphanWait, 10)).toHaveLength(1)
  })

  it('keeps two tenants’ threads apart within a batch', async () => {
    await hand.give(
      batchOf('comments', [
        commentJson('c1', { tenant: 'a', text: 'to a' }),
        commentJson('c1', { tenant: 'b', text: 'to b' }),
      ]),
    )
    expect((await stores.threads.read(thread('p1', 'a')))?.comments[0]?.text).toBe('to a')
    expect((await stores.threads.read(thread('p1', 'b')))?.comments[0]?.text).toBe('to b')
  })

  it('takes from no message what a vision model is said to have seen', async () => {
    const said = { description: 'seen', descriptions: ['seen'] }
    const media = [{ kind: 'image', alt: 'by its author', ...said }]
    await hand.give(
      batchOf('posts', [postJson('p1', { media, ...said }), postJson('p2', { media: [{ kind: 'image', ...said }] })]),
    )
    const state = await stores.threads.read(thread('p1'))
    expect(state?.post?.media).toEqual([{ kind: 'image', alt: 'by its author' }])
    expect(JSON.stringify(state)).not.toContain('seen')
    // An image of which the message says nothing else is one that nobody can look at.
    const other = await stores.threads.read(thread('p2'))
    expect(other?.post).toMatchObject({ media: [{ kind: 'image' }], odd: [{ field: 'media.0' }] })
    expect(JSON.stringify(other)).not.toContain('seen')
    expect(settled()).toEqual({ 'posts judged': 2 })
  })

  it('keeps with a post and a comment what was odd about them, and with no other', async () => {
    await hand.give(
      batchOf('posts', [postJson('p1', { lang: ['en'] }), postJson('p2', { lang: null, deleted: false })]),
    )
    await hand.give(
      batchOf('comments', [
        commentJson('c1', { authorSince: 'then' }),
        commentJson('c2', { author: null, parentId: null }),
      ]),
    )
    const state = await stores.threads.read(thread('p1'))
    expect(state?.post).toMatchObject({ text: 'about p1', odd: [{ field: 'lang' }] })
    expect(state?.comments.map(({ odd }) => odd?.map(({ field }) => field))).toEqual([['authorSince'], undefined])
    expect(await stores.threads.read(thread('p2'))).toMatchObject({ post: { id: 'p2', text: 'about p2' } })
    expect((await stores.threads.read(thread('p2')))?.post).not.toHaveProperty('odd')
    expect(settled()).toEqual({ 'posts judged': 2, 'comments judged': 2 })
  })

  it('publishes the retraction of a deleted post', async () => {
    await hand.give(batchOf('posts', [postJson('p1')]))
    const state = await stores.threads.read(thread('p1'))
    expect(state?.post).toMatchObject({ id: 'p1', text: 'about p1', createdAt: T0 })
    await hand.give(batchOf('posts', [{ id: 'p1', createdAt: at(9), deleted: true }]))
    expect(await stores.threads.read(thread('p1'))).toBeNull()
  })

  describe('marks', () => {
    const mark = (newest: number | null, second: number | null, endSince: number | null = null): StreamMark => ({
      newest,
      second,
      endSince,
      seenAt: endSince ?? 0,
    })
    const seen = (seenAt: number, mark: StreamMark): StreamMark => ({ ...mark, seenAt })

    it('the newest and second-newest time of each partition, and the end where nothing stands behind', async () => {
      await hand.give(
        batchOf(
          'comments',
          [1, 9, 4, 9].map((ms, index) => commentJson(`c${index}`, { createdAt: at(ms) })),
        ),
      )
      await hand.give(batchOf('comments', [commentJson('x', { createdAt: at(2) })], { partition: 1, atEnd: true }))
      expect(await stores.marks.read()).toEqual(
        new Map([
          ['comments/0', mark(T0 + 9, T0 + 4)],
          ['comments/1', mark(T0 + 2, null, NOW)],
        ]),
      )
    })

    it('goes on from the mark that another process left, and no message moves it back', async () => {
      await stores.marks.write(new Map([['comments/0', mark(T0 + 50, T0 + 40, NOW - 5)]]))
      await hand.give(
        batchOf('comments', [commentJson('c1', { createdAt: at(7) }), commentJson('c2', { createdAt: at(45) })]),
      )
      expect(await markOf('comments/0')).toEqual(seen(NOW - 5, mark(T0 + 50, T0 + 45)))
    })

    it('is not moved by what went to the dead letters', async () => {
      await hand.give(
        batchOf('comments', [commentJson('c1'), commentJson('c2', { createdAt: '3000-01-01T00:00:00Z' })]),
      )
      expect(await markOf('comments/0')).toEqual(mark(T0 + 1_000, null))
    })

    it('the end of partitions that have nothing to read, and that there is more in others', async () => {
      await stores.marks.write(new Map([['comments/1', mark(T0, null, NOW - 9)]]))
      hand.setPositions([
        { topic: 'posts', partition: 0, lag: 0 },
        { topic: 'comments', partition: 1, lag: 3 },
        { topic: 'comments', partition: 2, lag: 4 },
      ])
      await taking.noteEnds()
      expect(await stores.marks.read()).toEqual(
        new Map([
          ['comments/1', seen(NOW - 9, mark(T0, null))],
          ['posts/0', mark(null, null, NOW)],
        ]),
      )
    })

    it('keeps the moment at which a partition ended, and notes when that was last seen', async () => {
      hand.setPositions([{ topic: 'posts', partition: 0, lag: 0 }])
      await stores.marks.write(new Map([['posts/0', mark(T0, null, NOW - 777)]]))
      await taking.noteEnds()
      expect(await markOf('posts/0')).toEqual(seen(NOW, mark(T0, null, NOW - 777)))
    })

    it('a partition’s end no more before what came behind it has its first effect', async () => {
      await stores.marks.write(new Map([['comments/0', mark(T0, null, NOW - 5_000)]]))
      failing.add('comments')
      await expect(hand.give(batchOf('comments', [commentJson('c1')]))).rejects.toThrow('comments failed')
      expect((await markOf('comments/0'))?.endSince).toBeNull()
    })

    it('the end of a partition a minute behind another, whatever old still comes there, until there is a backlog', async () => {
      const own = async () => (await markOf('comments/0'))?.endSince
      const give = (createdAt: string, atEnd: boolean) =>
        hand.give(batchOf('comments', [commentJson(`c${createdAt}`, { createdAt })], { atEnd }))
      const left = { ...mark(T0, T0, NOW - 9_000), seenAt: NOW - 1_000 }
      await stores.marks.write(new Map([['comments/0', left]]))
      await stores.marks.write(new Map([['posts/0', mark(T0 + 70_000, T0 + 70_000)]]))
      hand.setPositions([{ topic: 'comments', partition: 0, lag: 1 }])
      await taking.noteEnds()
      await give(at(1), true)
      expect(await own()).toBe(NOW - 9_000)
      await give(at(2), false)
      expect(await own()).toBeNull()
      await give(at(3), true)
      expect(await own()).toBe(NOW)
    })

    it('the end of a partition anew, once it is where others are', async () => {
      await stores.marks.write(new Map([['comments/0', mark(T0 + 60_000, T0, NOW - 9_000)]]))
      await stores.marks.write(new Map([['posts/0', mark(T0 + 70_000, T0 + 70_000)]]))
      await hand.give(batchOf('comments', [commentJson('c1', { createdAt: at(61_000) })], { atEnd: true }))
      expect(await markOf('comments/0')).toEqual(seen(NOW, mark(T0 + 61_000, T0 + 60_000, NOW)))
    })

    it('the same, after a change that could not be noted', async () => {
      await stores.marks.write(new Map([['comments/0', mark(T0, null, NOW - 5_000)]]))
      hand.setPositions([{ topic: 'comments', partition: 0, lag: 1 }])
      failing.add('marks')
      await expect(taking.noteEnds()).rejects.toThrow('marks failed')
      failing.delete('marks')
      failing.add('comments')
      await expect(hand.give(batchOf('comments', [commentJson('c1')]))).rejects.toThrow('comments failed')
      expect((await markOf('comments/0'))?.endSince).toBeNull()
    })

    it('the end of a partition whose last offsets hold no message; one that has ended stays so, and no time is moved', async () => {
      await stores.marks.write(new Map([['comments/1', mark(T0 + 9, T0 + 4, NOW - 9)]]))
      await hand.give(batchOf('comments', [], { next: '7', atEnd: true }))
      await hand.give(batchOf('comments', [], { partition: 1, next: '7', atEnd: true }))
      await hand.give(batchOf('comments', [], { partition: 2, next: '7' }))
      expect(await stores.marks.read()).toEqual(
        new Map([
          ['comments/0', mark(null, null, NOW)],
          ['comments/1', seen(NOW, mark(T0 + 9, T0 + 4, NOW - 9))],
          ['comments/2', mark(null, null)],
        ]),
      )
      expect(settled()).toEqual({})
    })

    it('no end that Kafka told of before a batch came', async () => {
      hand.reader.positions = async () => {
        await hand.give(batchOf('comments', [commentJson('c1')]))
        return [
          { topic: 'comments', partition: 0, lag: 0 },
          { topic: 'posts', partition: 0, lag: 0 },
        ]
      }
      await taking.noteEnds()
      expect((await markOf('comments/0'))?.endSince).toBeNull()
      expect((await markOf('posts/0'))?.endSince).toBe(NOW)
    })

    it('no end of a partition of which something came while the marks were read', async () => {
      await stores.marks.write(new Map([['posts/0', mark(T0, null, NOW - 5_000)]]))
      hand.setPositions([{ topic: 'posts', partition: 0, lag: 0 }])
      await taking.noteEnds()
      hand.setPositions([
        { topic: 'posts', partition: 0, lag: 0 },
        { topic: 'comments', partition: 0, lag: 0 },
      ])
      reading = async () => {
        reading = () => stores.marks.read()
        await hand.give(batchOf('posts', [postJson('p1', { createdAt: at(7) })]))
        return stores.marks.read()
      }
      await taking.noteEnds()
      expect(await markOf('posts/0')).toEqual(seen(NOW, mark(T0 + 7, T0)))
      expect((await markOf('comments/0'))?.endSince).toBe(NOW)
    })

    it('reads a partition’s mark anew when it comes back from another process', async () => {
      await hand.give(batchOf('comments', [commentJson('c1', { createdAt: at(3) })]))
      hand.setPositions([])
      await taking.noteEnds()
      await stores.marks.write(new Map([['comments/0', mark(T0 + 90, T0 + 80)]]))
      await hand.give(batchOf('comments', [commentJson('c2', { createdAt: at(4) })]))
      expect(await markOf('comments/0')).toEqual(mark(T0 + 90, T0 + 80))
    })
  })
})
