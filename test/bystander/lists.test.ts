import './work-of.ts'

import { mkdtempSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { comments } from '../../consumers/comments.ts'
import { counterspeech } from '../../consumers/counterspeech.ts'
import { decisionsConsumer } from '../../consumers/decision-consumer.ts'
import { intake, type TopicHandler } from '../../consumers/intake.ts'
import { posts } from '../../consumers/posts.ts'
import { reachConsumer } from '../../consumers/reach.ts'
import { deadLetterOf } from '../../producers/dead-letter.ts'
import { replayHeaders } from '../../src/app/commands/replayed.ts'
import { fairSlots, weightedSlots } from '../../src/contracts/facts/slots.ts'
import { csvRows } from '../../src/data-files/csv-rows.ts'
import { tsvRows } from '../../src/data-files/tsv-rows.ts'
import { judgeRoutes } from '../../src/door/judge.ts'
import { messagesRoute } from '../../src/door/messages.ts'
import { moderationsRoute } from '../../src/door/moderations.ts'
import { perspectiveRoutes } from '../../src/door/perspective.ts'
import { ATTRIBUTES, attributesAnswers, CATEGORIES, categoriesAnswer } from '../../src/door/scoring/attributes.ts'
import type { TextScorer } from '../../src/door/scoring/score-text.ts'
import { sending } from '../../src/door/sending.ts'
import { givenAround } from '../../src/judging/engine/surroundings.ts'
import { keptComment, keptPost, keptReply } from '../../src/judging/threads/kept.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { memoryTopics } from '../../src/store/memory-topics.ts'
import { registerCodecs } from '../../src/stream/codecs.ts'
import { patchKafkaJs } from '../../src/stream/kafkajs-patches.ts'
import { incomingOf } from '../../src/stream/record.ts'
import { HOUR, T0 } from '../contracts/samples.ts'
import { NOW, testDoor } from '../door/door-for-tests.ts'
import { intakeContext } from '../support/intake-context.ts'
import { workOf } from './work-of.ts'

registerCodecs()
patchKafkaJs()
const internal = (path: string) => createRequire(import.meta.url)(`kafkajs/src/protocol/${path}`)
const [Encoder, Decoder] = [internal('encoder.js'), internal('decoder.js')]

const times = <Made>(count: number, make: (nth: number) => Made) => Array.from({ length: count }, (_, nth) => make(nth))
const AT = new Date(T0).toISOString()
const json = (value: unknown) => Buffer.from(JSON.stringify(value))
const many = (count: number) => Object.fromEntries(times(count, (nth) => [`field${nth}`, nth]))

/** A way on which many of something come at once: what is prepared for so many, and what reads them. */
interface Way {
  readonly name: string
  /** How many the smaller count is. */
  readonly of: number
  readonly make: (count: number) => Promise<() => Promise<unknown>> | (() => Promise<unknown>)
}

// --- Records of Kafka ---

type Headers = readonly (readonly [string, string])[]
/** Decodes a batch of records with these headers each as kafkajs decodes a fetch, and makes messages of them. */
async function decoding(records: readonly Headers[]) {
  const encoded = records.map((headers, offset) => {
    const body = new Encoder().writeInt8(0).writeVarLong(0).writeVarInt(offset)
    body.writeVarIntBytes(Buffer.from('key')).writeVarIntBytes(Buffer.from('x')).writeVarInt(headers.length)
    for (const [name, value] of headers) body.writeVarIntString(name).writeVarIntBytes(Buffer.from(value))
    return new Encoder().writeVarInt(body.size()).writeEncoder(body)
  })
  const batch = await internal('recordBatch/v0/index.js').RecordBatch({
    compression: 0,
    partitionLeaderEpoch: 0,
    maxTimestamp: 0,
    firstTimestamp: 0,
    firstOffset: 0,
    lastOffsetDelta: encoded.length - 1,
    producerId: -1,
    producerEpoch: 0,
    firstSequence: 0,
    records: encoded,
  })
  const { buffer } = new Encoder().writeInt32(batch.size()).writeEncoder(batch)
  const decodeMessages = internal('requests/fetch/v4/decodeMessages.js')
  return async () => {
    const decoded = await decodeMessages(new Decoder(buffer))
    const messages = decoded.map((record: Parameters<typeof incomingOf>[2]) => incomingOf('posts', 0, record))
    for (const message of messages) {
      deadLetterOf(message, { reason: 'invalid', detail: 'd' })
      replayHeaders('0@0', message.headers)
    }
    if (messages.length < records.length) throw new Error('records were lost')
  }
}
const named = (count: number): Headers => times(count, (nth) => [`h${nth}`, 'v'])

const RECORDS: readonly Way[] = [
  { name: 'headers of one record', of: 450, make: (count) => decoding([named(count)]) },
  { name: 'headers of one name', of: 450, make: (count) => decoding([times(count, () => ['h', 'v'] as const)]) },
  { name: 'more headers than are read', of: 3_000, make: (count) => decoding([named(count)]) },
  { name: 'records of a batch', of: 500, make: (count) => decoding(times(count, () => named(2))) },
]

// --- Intake ---

/** Hands a batch of such values to the intake over empty stores. */
async function taking(
  topic: 'posts' | 'comments' | 'counterspeech',
  values: readonly unknown[],
  before: unknown[] = [],
) {
  const stores = memoryStores(() => T0 + HOUR)
  const handlers: Record<typeof topic, TopicHandler> = { posts, comments, counterspeech }
  const topics = memoryTopics(() => T0)
  const settled: number[] = []
  const context = intakeContext(stores, {
    report: (name, event) => {
      if (name === 'messages:settled' && 'count' in event) settled.push(Number(event.count))
    },
  })
  const reading = intake({
    reader: topics.reader,
    handlers: new Map(Object.entries(handlers)),
    context,
    marks: stores.marks,
  })
  await reading.start()
  if (before.length > 0)
    await topics.send(
      'posts',
      before.map((value) => ({ key: 'k', value: json(value) })),
    )
  const records = values.map((value) => ({ key: 'k', value: json(value) }))
  return async () => {
    await topics.send(topic, records)
    if (settled.reduce((sum, one) => sum + one, 0) < values.length) throw new Error('messages were lost')
  }
}
const post = (nth: number, change: object = {}) => ({ id: `p${nth}`, text: `about ${nth}`, createdAt: AT, ...change })
const comment = (nth: number, change: object = {}) => ({
  id: `c${nth}`,
  postId: 'p0',
  text: `number ${nth} says this`,
  author: `a${nth}`,
  createdAt: AT,
  ...change,
})
const reply = (nth: number) => ({ ...post(nth), postId: 'p', hateSpeech: 'They should all go.' })
const image = (nth: number) => ({ kind: 'image', url: `https://media.example/${nth}.png` })

const INTAKE: readonly Way[] = [
  { name: 'posts of a batch', of: 100, make: (count) => taking('posts', times(count, post)) },
  {
    name: 'edits of one post',
    of: 100,
    make: (count) =>
      taking(
        'posts',
        times(count, (nth) => post(0, { text: `${nth}` })),
      ),
  },
  {
    name: 'comments of a thread',
    of: 100,
    make: (count) =>
      taking(
        'comments',
        times(count, (nth) => comment(nth)),
        [post(0)],
      ),
  },
  {
    name: 'comments of one account in a thread',
    of: 100,
    make: (count) =>
      taking(
        'comments',
        times(count, (nth) => comment(nth, { author: 'a' })),
        [post(0)],
      ),
  },
  {
    name: 'comments of as many threads',
    of: 100,
    make: (count) =>
      taking(
        'comments',
        times(count, (nth) => comment(nth, { postId: `p${nth}` })),
      ),
  },
  {
    name: 'comments before their post',
    of: 100,
    make: (count) =>
      taking(
        'comments',
        times(count, (nth) => comment(nth)),
      ),
  },
  {
    name: 'comments that are taken back',
    of: 100,
    make: (count) =>
      taking(
        'comments',
        times(2 * count, (nth) => comment(nth % count, nth < count ? {} : { text: '', deleted: true })),
        [post(0)],
      ),
  },
  { name: 'replies to one post', of: 100, make: (count) => taking('counterspeech', times(count, reply)) },
  {
    name: 'messages that can’t be read',
    of: 100,
    make: (count) =>
      taking(
        'posts',
        times(count, () => ({})),
      ),
  },
  { name: 'fields of a message', of: 400, make: (count) => taking('posts', [{ ...post(0), ...many(count) }]) },
  {
    name: 'fields of each message of a batch',
    of: 400,
    make: (count) =>
      taking(
        'posts',
        times(20, (nth) => ({ ...post(nth), ...many(count) })),
      ),
  },
  { name: 'fields of an author', of: 1_000, make: (count) => taking('posts', [{ ...post(0), author: many(count) }]) },
  { name: 'images of a post', of: 100, make: (count) => taking('posts', [post(0, { media: times(count, image) })]) },
  {
    name: 'media of a post that are none',
    of: 100,
    make: (count) => taking('posts', [post(0, { media: times(count, () => ({})) })]),
  },
]

// --- Topics with readers of their own ---

/** A reader of one topic and the store behind it, for a consumer: `give` hands a batch of these values over. */
function batchReader() {
  const topics = memoryTopics(() => T0)
  const store = {
    whenRecovered: async (work: () => unknown) => void (await work()),
    untilStored: async (work: () => Promise<unknown>) => void (await work()),
  }
  return {
    reader: topics.reader,
    store,
    give: (values: readonly Buffer[]) =>
      topics.send(
        't',
        values.map((value) => ({ key: 'p0', value })),
      ),
  }
}
const CONSUMED = { limits: { maxMessageBytes: 1 << 20, maxAhead: HOUR }, clock: () => T0 + HOUR, report: () => {} }

const OTHER_TOPICS: readonly Way[] = [
  {
    name: 'raised reach',
    of: 100,
    async make(count) {
      const { threads, outbox } = memoryStores(() => T0)
      const { give, ...reading } = batchReader()
      await reachConsumer({ ...CONSUMED, ...reading, threads, outbox, keepMs: HOUR, mostHeld: () => null }).start()
      const values = times(count, (nth) => json({ postId: `p${nth}`, reach: nth, at: AT }))
      return () => give(values)
    },
  },
  {
    name: 'decisions',
    of: 100,
    async make(count) {
      const { decisions, outbox } = memoryStores(() => T0)
      const { give, ...reading } = batchReader()
      const decide = async () => ({ outcome: 'stands', verdict: null }) as const
      await decisionsConsumer({ ...CONSUMED, ...reading, decisions, outbox, decide }).start()
      const values = times(count, (nth) =>
        json({ subjectId: 'p0', protocol: 'rumor', label: 'rumor', against: nth, by: 'ann', why: 'so', at: AT }),
      )
      return () => give(values)
    },
  },
]

// --- Tables ---

async function drained(rows: AsyncIterable<unknown>) {
  const read: unknown[] = []
  for await (const row of rows) read.push(row)
  if (read.length === 0) throw new Error('no row was read')
}
async function* linesOf(texts: readonly string[]) {
  for (const [nth, text] of texts.entries()) yield { line: nth + 1, text, isWhole: true }
}
const bad = () => {}
const columns = (count: number, by: string) => ['text', ...times(count, (nth) => `x${nth}`)].join(by)

const TABLES: readonly Way[] = [
  {
    name: 'columns of a CSV file',
    of: 900,
    make: (count) => () =>
      drained(csvRows('f', linesOf(times(6, () => columns(count, ','))), {}, { needed: ['text'] }, bad)),
  },
  {
    name: 'rows of a CSV file',
    of: 400,
    make: (count) => () =>
      drained(csvRows('f', linesOf(['text,a', ...times(count, (nth) => `w,${nth}`)]), {}, { needed: ['text'] }, bad)),
  },
  {
    name: 'rows of a CSV file that don’t fit',
    of: 400,
    make: (count) => () =>
      drained(csvRows('f', linesOf(['text,a', 'w,1', ...times(count, () => 'w,1,2')]), {}, { needed: ['text'] }, bad)),
  },
  {
    name: 'columns of a file with tabs',
    of: 900,
    make(count) {
      const file = join(mkdtempSync(join(tmpdir(), 'gavel-bystander-')), 'table.tsv')
      writeFileSync(file, times(6, () => columns(count, '\t')).join('\n'))
      return () => drained(tsvRows(file, { columns: [['text']], quotes: 'none' }, bad))
    },
  },
]

// --- The door ---

const ZEROS = Object.fromEntries(Object.values(ATTRIBUTES).map((name) => [name, 0]))
const SCORES = Object.fromEntries(Object.values(CATEGORIES).map((name) => [name, 10]))
const scorer: TextScorer = {
  withinMs: 1_000,
  pieces: (text) => [text],
  attributes: async () => ({ scores: attributesAnswers.perspective.parse({ ...ZEROS, language: 'en' }), model: 'm' }),
  sentences: async () => ({ scores: { sentences: [] }, model: 'm' }),
  categories: async () => ({ scores: categoriesAnswer.parse(SCORES), model: 'm' }),
}

/** Asks a door for this, and wants one of these answers. */
function asking(path: string, body: unknown, status = 200) {
  const limits = { maxMessageBytes: 1 << 20, maxAhead: HOUR }
  const topics = { post: 'posts', comment: 'comments', counterspeech: 'counterspeech', feedback: 'feedback' }
  const sender = sending({ writer: { send: async () => {} }, timeoutMs: 1_000, report: () => {} })
  const never = {
    pressure: () => null,
    overDecided: () => null,
    overFed: () => null,
    isOverDue: () => false,
    isOverShare: () => false,
  }
  const takesComments = () => false
  const shared = { sending: sender, takesComments, limits, topics, items: 100_000, ...never, clock: () => NOW }
  const { kept, none } = { kept: { maxTextChars: 1_000, isPlaceholder: () => false }, none: new Map<string, string>() }
  const door = testDoor({
    bodyBytes: 1 << 22,
    rate: { perSecond: 1e9, burst: 1e9 },
    routes: [
      messagesRoute({ ...shared, decisionsTopic: 'decisions', labels: new Map([['rumor', ['rumor']]]) }),
      ...judgeRoutes({
        ...shared,
        asking: {
          mostCalls: () => 0,
          hasRoom: async () => true,
          ask: async () => ({ kind: 'asked', id: 'a'.repeat(32), until: NOW, protocols: ['hate'] }),
          leave: async () => {},
          erase: async () => true,
        },
        answers: {
          read: async () => ({
            subjectId: 'p',
            protocols: ['hate'],
            opened: NOW,
            until: NOW,
            verdicts: none,
            transcripts: none,
            erased: false,
          }),
          changed: async () => {},
        },
        kept: {
          post: (message) => keptPost(message, kept),
          comment: (message) => keptComment(message, kept),
          reply: (message) => keptReply(message, kept),
          around: givenAround,
        },
        waiting: 1,
        waitingPerTenant: 1,
        report: () => {},
      }),
      ...perspectiveRoutes({
        ...shared,
        scorer,
        feedbackTopic: 'feedback',
        debate: {
          mostCalls: () => 0,
          checkRoom: async () => {},
          start: async () => ({ id: 'a', until: '', protocols: [] }),
        },
        languages: ['en'],
      }),
      moderationsRoute({ scorer, flagAt: 0.5, promptsHash: 'p' }),
    ],
  })
  const key = door.keyOf('acme', ['send', 'judge', 'decide'])
  const given = JSON.stringify(body)
  return async () => {
    const said = await door.ask('POST', path, given, { authorization: `Bearer ${key}` })
    if (said.status !== status) throw new Error(`${said.status}: ${JSON.stringify(said.body).slice(0, 500)}`)
  }
}
const message = (type: string, fields: (nth: number) => object) => (count: number) =>
  asking(
    '/v1/messages',
    times(count, (nth) => ({ type, ...fields(nth) })),
  )
const decided = (nth: number) => ({ subjectId: `p${nth}`, protocol: 'rumor', label: 'rumor' })

const DOOR: readonly Way[] = [
  { name: 'posts at the door', of: 100, make: message('post', post) },
  { name: 'comments at the door', of: 100, make: message('comment', comment) },
  {
    name: 'feedback at the door',
    of: 100,
    make: message('feedback', (nth) => ({ ...decided(nth), by: 'ann', at: AT })),
  },
  {
    name: 'decisions at the door',
    of: 100,
    make: message('decision', (nth) => ({ ...decided(nth), against: 1, why: 'so', at: AT })),
  },
  {
    name: 'messages at the door that can’t be read',
    of: 100,
    make: (count) =>
      asking(
        '/v1/messages',
        times(count, () => ({ type: 'post', id: 'p' })),
        422,
      ),
  },
  {
    name: 'fields of a message at the door',
    of: 1_000,
    make: (count) => asking('/v1/messages', { type: 'post', ...post(0), ...many(count) }),
  },
  {
    name: 'images of a post at the door',
    of: 500,
    make: (count) => asking('/v1/messages', { type: 'post', ...post(0, { media: times(count, image) }) }),
  },
  {
    name: 'comments of a question',
    of: 100,
    make: (count) => asking('/v1/judge', { wait: 0, post: post(0), comments: times(count, comment) }, 202),
  },
  {
    name: 'comments of a question that is streamed',
    of: 100,
    make: (count) =>
      asking('/v1/judge', { wait: 0, stream: true, post: post(0), comments: times(count, comment) }, 202),
  },
  {
    name: 'fields of a question',
    of: 450,
    make: (count) => asking('/v1/judge', { wait: 0, post: post(0), ...many(count) }, 400),
  },
  {
    name: 'fields of a question’s post',
    of: 1_000,
    make: (count) => asking('/v1/judge', { wait: 0, post: { ...post(0), ...many(count) } }, 202),
  },
  {
    name: 'fields of a question’s comments',
    of: 400,
    make: (count) =>
      asking(
        '/v1/judge',
        { wait: 0, post: post(0), comments: times(5, (nth) => ({ ...comment(nth), ...many(count) })) },
        202,
      ),
  },
  {
    name: 'texts at /v1/moderations',
    of: 16,
    make: (count) => asking('/v1/moderations', { input: times(count, (nth) => `text ${nth} `.repeat(50)) }),
  },
  {
    name: 'more texts than /v1/moderations takes',
    of: 1_000,
    make: (count) => asking('/v1/moderations', { input: times(count, (nth) => `text ${nth}`) }, 400),
  },
  {
    name: 'parts of an input',
    of: 1_000,
    make: (count) => asking('/v1/moderations', { input: times(count, () => ({ type: 'text', text: 'so' })) }),
  },
  {
    name: 'images of an input',
    of: 1_000,
    make: (count) =>
      asking(
        '/v1/moderations',
        { input: times(count, () => ({ type: 'image_url', image_url: { url: 'https://a.example/' } })) },
        400,
      ),
  },
  {
    name: 'fields at /v1/moderations',
    of: 1_000,
    make: (count) => asking('/v1/moderations', { input: 'so', ...many(count) }, 400),
  },
  {
    name: 'attributes that are asked for',
    of: 1_000,
    make: (count) =>
      asking('/v1alpha1/comments:analyze', {
        comment: { text: 'so' },
        dropUnsupportedAttributes: true,
        requestedAttributes: { TOXICITY: {}, ...Object.fromEntries(times(count, (nth) => [`A${nth}`, {}])) },
      }),
  },
  {
    name: 'languages that are asked for',
    of: 1_000,
    make: (count) =>
      asking('/v1alpha1/comments:analyze', {
        comment: { text: 'so' },
        requestedAttributes: { TOXICITY: {} },
        languages: times(count, () => 'en'),
      }),
  },
  {
    name: 'entries of a context',
    of: 1_000,
    make: (count) =>
      asking(
        '/v1alpha1/comments:analyze',
        {
          comment: { text: 'so' },
          context: { entries: times(count, () => ({ text: 'so' })) },
          requestedAttributes: { TOXICITY: {} },
        },
        400,
      ),
  },
  {
    name: 'fields that Perspective has not',
    of: 1_000,
    make: (count) => asking('/v1alpha1/comments:analyze', { comment: { text: 'so' }, ...many(count) }, 400),
  },
  {
    name: 'spans of a suggested score',
    of: 1_000,
    make: (count) =>
      asking('/v1alpha1/comments:suggestscore', {
        comment: { text: 'so' },
        attributeScores: {
          TOXICITY: { spanScores: times(count, (nth) => ({ begin: nth, end: nth + 1, score: { value: 0.5 } })) },
        },
      }),
  },
]

// --- Who waits ---

const WAITING: readonly Way[] = [
  {
    name: 'requests that wait to be sent to Kafka',
    of: 500,
    make(count) {
      const sender = sending({ writer: { send: async () => {} }, timeoutMs: 60_000, report: () => {} })
      const one = (nth: number) => [{ topic: 'posts', key: `k${nth}`, value: 'v'.repeat(1_000) }]
      return () => Promise.all(times(count, (nth) => sender.send(`t${nth}`, one(nth))))
    },
  },
  {
    name: 'records of one request to Kafka',
    of: 2_500,
    make(count) {
      const sender = sending({ writer: { send: async () => {} }, timeoutMs: 60_000, report: () => {} })
      const records = times(count, (nth) => ({ topic: 'posts', key: `k${nth}`, value: 'v'.repeat(1_000) }))
      return () => sender.send('t', records)
    },
  },
  {
    name: 'tasks of one tenant that wait for a slot',
    of: 400,
    make: (count) => () => inSlots(count, () => ({ name: 't', part: 'p' })),
  },
  {
    name: 'tasks of as many tenants that wait for a slot',
    of: 400,
    make: (count) => () => inSlots(count, (nth) => ({ name: `t${nth}`, part: 'p' })),
  },
  {
    name: 'tasks of as many keys that wait for a slot',
    of: 400,
    make: (count) => () => inSlots(count, (nth) => ({ name: 't', part: `p${nth}` })),
  },
  {
    name: 'tasks that wait by their weight',
    of: 400,
    make: (count) => () => {
      const { run } = weightedSlots(4)
      return Promise.all(times(count, (nth) => run(nth % 3, () => new Promise(setImmediate))))
    },
  },
]

async function inSlots(count: number, whose: (nth: number) => { name: string; part: string }) {
  const slots = fairSlots({ all: () => 4, each: 2, ofPart: 2 })
  const run = (nth: number) => slots.run(whose(nth), new AbortController().signal, () => new Promise(setImmediate))
  await Promise.all(times(count, run))
}

describe.each([
  { of: 'records of Kafka', ways: RECORDS },
  { of: 'intake', ways: INTAKE },
  { of: 'other topics', ways: OTHER_TOPICS },
  { of: 'tables', ways: TABLES },
  { of: 'the door', ways: DOOR },
  { of: 'who waits', ways: WAITING },
])('twice as many cost at most 2.2 times as much: $of', ({ ways }) => {
  test.each(ways)('$name', async ({ of, make }) => {
    // What the engine compiles at first counts for none.
    await (await make(of))()
    const [once, twice] = [await workOf(await make(of)), await workOf(await make(2 * of))]
    expect(twice).toBeLessThanOrEqual(2.2 * once)
  })
})
