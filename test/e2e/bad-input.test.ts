import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import kafkajs, { type Message } from 'kafkajs'
import { afterAll, describe, expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import { type DeadLetter, type DeadLetterReason, deadLetter, type Outcome } from '../../src/contracts/facts/messages.ts'
import { type MemoryKafka, startMemoryKafka } from '../../src/kit/stack/servers/memory-kafka.ts'
import { makeTopics } from '../../src/operations/make-topics.ts'
import { samplesOf } from '../../src/operations/metrics/samples.ts'
import { keysUnder } from '../../src/store/redis/keys.ts'
import { redisMarks } from '../../src/store/thread/redis-marks.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { repeats } from '../support/ledger.ts'
import { onServers } from '../support/on-servers.ts'
import {
  allFinal,
  clientOf,
  environmentOn,
  eventually,
  recordsOf,
  type Service,
  settingsOf,
  tell,
  transcriptsOf,
  verdictsOf,
} from '../support/pipeline.ts'

const { CompressionTypes } = kafkajs
const CODECS = ['None', 'GZIP', 'Snappy', 'LZ4', 'ZSTD'] as const
const TIME = Date.parse('2025-06-01T12:00:00Z')
const HOUR = 3_600_000
const at = (ms: number) => new Date(TIME + ms).toISOString()
/** Stands in texts and in every field but the ids: it may come out in verdicts and transcripts, and nowhere else. */
const CANARY = `canary${randomBytes(8).toString('hex')}`
const HOSTILE = '\u001b]0;mine\u0007\u009b31m\u202e\u007f'

const it = onServers({ latencyMs: 10 })

interface Sent {
  readonly to: 'posts' | 'comments'
  readonly key: string | null
  readonly value: Buffer | null
  readonly outcome: Outcome
  /** Of the dead letter that it ends in. */
  readonly reason?: DeadLetterReason
  readonly codec?: (typeof CODECS)[number]
}

const bytes = (value: unknown) => Buffer.from(JSON.stringify(value))
const postBytes = (id: string, change: object = {}) =>
  bytes({ id, text: `The bridge at ${CANARY} has fallen.`, author: CANARY, createdAt: at(0), [CANARY]: 1, ...change })
const commentBytes = (id: string, postId: string, change: object = {}) =>
  bytes({ id, postId, text: `It is true, I saw ${CANARY}.`, author: CANARY, createdAt: at(60_000), ...change })
const post = (id: string, outcome: Outcome, change: object = {}): Sent => ({
  to: 'posts',
  key: id,
  value: postBytes(id, change),
  outcome,
})
const comment = (id: string, postId: string, outcome: Outcome, change: object = {}): Sent => ({
  to: 'comments',
  key: postId,
  value: commentBytes(id, postId, change),
  outcome,
})
const bad = (to: Sent['to'], value: Buffer | null, reason: DeadLetterReason, key: string | null = 'bad'): Sent => ({
  to,
  key,
  value,
  outcome: 'dead-letter',
  reason,
})

async function sendAll(environment: Record<string, string>, messages: readonly Sent[]): Promise<void> {
  const topics = topicsOf(settingsOf(environment))
  const producer = clientOf(environment).producer({
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    allowAutoTopicCreation: false,
    retry: { retries: 1 },
  })
  await producer.connect()
  // One request after the other, so that messages of one key keep their order.
  for (const { to, key, value, codec = 'LZ4' } of messages)
    await producer.send({
      topic: topics[to],
      compression: CompressionTypes[codec],
      messages: [{ key, value, headers: { [CANARY.slice(0, 6)]: CANARY } } satisfies Message],
    })
  await producer.disconnect()
}

/** A batch that says that it is gzip, and is not. */
async function sendCorrupt(environment: Record<string, string>): Promise<void> {
  const { CompressionCodecs } = kafkajs
  const producer = clientOf(environment).producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  const whole = CompressionCodecs[CompressionTypes.GZIP]
  CompressionCodecs[CompressionTypes.GZIP] = () => ({
    compress: async () => Buffer.from(`no gzip, but ${CANARY}`),
    decompress: async (data: Buffer) => data,
  })
  try {
    const messages = [{ key: 'bad', value: postBytes('corrupt') }]
    await producer.send({
      topic: topicsOf(settingsOf(environment)).posts,
      compression: CompressionTypes.GZIP,
      messages,
    })
  } finally {
    if (whole !== undefined) CompressionCodecs[CompressionTypes.GZIP] = whole
    await producer.disconnect()
  }
}

async function metricsOf({ httpPort }: Service): Promise<string> {
  return (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text()
}

/** `posts judged` → count, without what is 0. */
function outcomesIn(metrics: string): Record<string, number> {
  return Object.fromEntries(
    samplesOf(metrics, 'gavel_messages_total').flatMap(({ labels, value }) =>
      value === 0 ? [] : [[`${labels.topic?.split('.').at(-1)} ${labels.outcome}`, value]],
    ),
  )
}

function countBy(names: readonly string[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]))
}

async function settled(service: Service, messages: number): Promise<void> {
  let sum = 0
  await eventually(
    async () => {
      sum = Object.values(outcomesIn(await metricsOf(service))).reduce((total, count) => total + count, 0)
      return sum >= messages
    },
    20_000,
    () => `${sum} of ${messages} messages have their outcome`,
  )
}

async function lettersOf(environment: Record<string, string>): Promise<DeadLetter[]> {
  return (await recordsOf(environment, 'deadLetters')).map((record) => deadLetter.parse(JSON.parse(record)))
}

const KIB = 1_024

/** What a dead letter carries of these bytes. */
function headOf(value: Buffer | null): string {
  return (value ?? Buffer.alloc(0)).subarray(0, 256 * 1024).toString('base64')
}

interface Ended {
  readonly code: number
  readonly out: string
  readonly said: string
}

function gavel(environment: Record<string, string>, ...args: string[]): Promise<Ended> {
  const flags = ['--disable-warning=TimeoutNegativeWarning', join(PROJECT, 'src', 'main.ts')]
  const options = { env: bareEnvironment(environment), maxBuffer: 64 * 1024 * 1024, timeout: 90_000 }
  return new Promise((resolve) => {
    execFile(process.execPath, [...flags, ...args], options, (error, out, said) =>
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, out, said }),
    )
  })
}

/** Nothing in it could drive a terminal: no control characters but the line's end, nothing that turns text around. */
function expectHarmless(text: string): void {
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_C}\p{Zl}\p{Zp}]/u)
}

const IDS = [
  'plain',
  'at://did:plc:z72i7hd/app.bsky.feed.post/3l6',
  '12345678901234567890',
  '007',
  '😀👩‍👩‍👧',
  'é'.repeat(256),
  'with space~r2@tenant\u0000{tag}',
  `terminal ${HOSTILE}`,
  '__proto__',
]

it('gives every message of a hostile stream its outcome, and every good post its verdict', {
  timeout: 120_000,
}, async ({ stack, start }) => {
  const environment = environmentOn(stack, {
    GAVEL_LOG_LEVEL: 'debug',
    GAVEL_CLOCK_IDLE_AFTER: '6s',
    GAVEL_INTAKE_MAX_MESSAGE_BYTES: '200000',
  })
  const service = await start(environment)

  // 1. Comments before their posts; one of them never comes.
  const before = [
    comment('early', 'late post', 'orphan'),
    { ...comment('lost', 'never', 'orphan'), reason: 'orphan-expired' as const },
  ]
  await sendAll(environment, before)
  await settled(service, before.length)

  // 2. Posts, good and bad.
  const posts: Sent[] = [
    ...IDS.map((id) => post(id, 'judged')),
    ...CODECS.map((codec): Sent => ({ ...post(`codec ${codec}`, 'judged'), codec })),
    post('late post', 'judged'),
    post('of 1970', 'judged', { createdAt: '1970-01-01T00:00:00Z' }),
    post('before 1970', 'judged', { createdAt: '1905-03-17T00:00:00+01:00' }),
    post('image', 'judged', { text: '', media: [{ kind: 'image', alt: `a fallen bridge ${CANARY}` }] }),
    post('odd lang', 'judged', { lang: CANARY.repeat(5) }),
    post('odd media', 'judged', { media: [{ kind: CANARY, url: `javascript:${CANARY}` }] }),
    post('odd author', 'judged', { author: CANARY.repeat(50) }),
    post('nulls', 'judged', { lang: null, media: null, tenant: null, deleted: null }),
    post('doomed', 'judged'),
    post('plain', 'duplicate'),
    post('edited', 'judged'),
    post('edited', 'updated', { text: `The bridge stands. ${CANARY}` }),
    post('deleted', 'judged'),
    post('deleted', 'deleted', { deleted: true }),
    post('deleted', 'duplicate', { deleted: true }),
    post('deleted', 'deleted'),
    bad('posts', Buffer.from(`{"id": "x", "text": "${CANARY}`), 'not-json'),
    bad('posts', Buffer.from(CANARY), 'not-json', null),
    bad('posts', Buffer.alloc(0), 'not-json'),
    bad(
      'posts',
      Buffer.concat([postBytes('x').subarray(0, 20), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]),
      'not-json',
    ),
    bad('posts', null, 'invalid'),
    bad('posts', Buffer.from('null'), 'invalid'),
    bad('posts', Buffer.from('['.repeat(50_000) + ']'.repeat(50_000)), 'invalid'),
    bad('posts', bytes([CANARY]), 'invalid'),
    bad('posts', bytes({ text: CANARY }), 'invalid'),
    bad('posts', postBytes('x', { text: [7] }), 'invalid'),
    bad('posts', postBytes('x', { text: '' }), 'invalid'),
    bad('posts', postBytes('x', { createdAt: CANARY }), 'invalid'),
    bad('posts', postBytes('x', { createdAt: '2025-02-30T00:00:00Z' }), 'invalid'),
    bad('posts', postBytes('x', { tenant: `${CANARY} ${CANARY}` }), 'invalid'),
    bad('posts', postBytes('x', { tenant: [CANARY] }), 'invalid'),
    bad('posts', postBytes('x', { text: '', media: [{ kind: CANARY, url: `javascript:${CANARY}` }] }), 'invalid'),
    bad('posts', postBytes('x', { deleted: CANARY }), 'invalid'),
    bad('posts', postBytes('', {}), 'invalid'),
    bad('posts', postBytes('é'.repeat(257)), 'invalid'),
    bad('posts', postBytes('i'.repeat(10_000)), 'invalid', 'i'.repeat(10_000)),
    bad('posts', Buffer.from(`{"id": "half \\ud83d", "text": "${CANARY}", "createdAt": "${at(0)}"}`), 'invalid'),
    bad('posts', postBytes('x', { createdAt: '3000-01-01T00:00:00Z' }), 'future'),
    bad('posts', postBytes('y', { createdAt: '3000-01-02T00:00:00Z' }), 'future'),
    bad('posts', postBytes('x', { text: CANARY.repeat(20_000) }), 'too-large'),
  ]
  await sendAll(environment, posts)
  await settled(service, before.length + posts.length)

  // 3. Comments, good and bad.
  const comments: Sent[] = [
    ...IDS.map((id) => comment(id, 'plain', 'judged')),
    ...CODECS.map((codec): Sent => ({ ...comment(`by ${codec}`, `codec ${codec}`, 'judged'), codec })),
    comment('plain', 'plain', 'duplicate'),
    comment('plain', 'plain', 'updated', { text: `I was wrong about ${CANARY}, it is false.` }),
    comment('withdrawn', 'edited', 'judged'),
    comment('withdrawn', 'edited', 'deleted', { deleted: true }),
    comment('withdrawn', 'edited', 'duplicate', { deleted: true }),
    comment('withdrawn', 'edited', 'deleted'),
    comment('unheard', 'edited', 'deleted', { deleted: true }),
    comment('too late', 'edited', 'late', { createdAt: at(25 * HOUR) }),
    comment('of 1970', 'edited', 'judged', { createdAt: '1970-01-01T00:00:00Z' }),
    comment('to nobody', 'deleted', 'deleted'),
    bad('comments', Buffer.from(`${CANARY}}`), 'not-json'),
    bad('comments', null, 'invalid'),
    bad('comments', commentBytes('x', 'edited', { text: undefined }), 'invalid'),
    bad('comments', commentBytes('x', '', {}), 'invalid'),
    bad('comments', commentBytes('i'.repeat(10_000), 'edited'), 'invalid'),
    bad('comments', commentBytes('x', 'edited', { createdAt: '3000-01-01T00:00:00Z' }), 'future', 'edited'),
    bad('comments', commentBytes('x', 'edited', { text: CANARY.repeat(20_000) }), 'too-large', 'edited'),
  ]
  await sendAll(environment, comments)
  await settled(service, before.length + posts.length + comments.length)
  const keys = keysUnder(environment.GAVEL_REDIS_PREFIX ?? '')
  const redis = new Redis(environment.REDIS_URL ?? '')
  const marks = [...(await redisMarks(redis, keys).read()).values()]
  redis.disconnect()
  expect(marks.length).toBeGreaterThan(0)
  for (const { newest } of marks) expect(newest ?? 0).toBeLessThanOrEqual(TIME + 25 * HOUR)

  // 4. All is read: every thread becomes final. Then a deletion, and a comment that belongs to a final thread.
  const good = new Set(posts.flatMap(({ outcome, key }) => (outcome === 'judged' && key !== 'deleted' ? [key] : [])))
  await allFinal(environment, good.size, 60_000)
  const after = [post('doomed', 'deleted', { deleted: true }), comment('afterthought', 'plain', 'late')]
  await sendAll(environment, after)
  const sent = [...before, ...posts, ...comments, ...after]
  await settled(service, sent.length)
  const dead = sent.filter(({ reason }) => reason !== undefined)
  let letters: DeadLetter[] = []
  await eventually(
    async () => {
      letters = await lettersOf(environment)
      const ids = (await verdictsOf(environment)).map(({ id }) => id)
      return letters.length >= dead.length && ids.includes('rumor~doomed~r2') && ids.includes('rumor~plain~r2')
    },
    20_000,
    () => `${letters.length} of ${dead.length} dead letters; or the last two revisions are missing`,
  )

  // The late comment opened its thread again, which is final again when the topics have been idle.
  let verdicts = await verdictsOf(environment)
  for (let before = -1; verdicts.length !== before; verdicts = await verdictsOf(environment)) {
    before = verdicts.length
    await sleep(8_000)
  }
  const finals = verdicts.filter(({ final }) => final)
  expect(new Set(finals.map(({ subjectId }) => subjectId))).toEqual(good)
  expect(repeats(await recordsOf(environment, 'verdicts'))).toEqual([])
  expect(verdicts.find(({ id }) => id === 'rumor~doomed~r2')).toMatchObject({ label: null, degraded: ['deleted'] })
  const subjects = new Map((await transcriptsOf(environment)).map(({ verdictId, subject }) => [verdictId, subject]))
  const commentsOf = (id: string) =>
    (subjects.get(id) as { comments: { id: string }[] } | undefined)?.comments.map((one) => one.id).sort()
  expect(commentsOf('rumor~late post~r1')).toEqual(['early'])
  // The edit was judged at once, before its comments came.
  expect(commentsOf(finals.find(({ subjectId }) => subjectId === 'edited')?.id ?? '')).toEqual(['of 1970'])
  expect(commentsOf('rumor~plain~r2')).toEqual([...IDS, 'afterthought'].sort())
  for (const codec of CODECS) expect(commentsOf(`rumor~codec ${codec}~r1`)).toEqual([`by ${codec}`])

  const told = (reason: string, topic: string, raw: string) => `${topic} ${reason} ${raw}`
  const begins = (raw: string) => Buffer.from(raw, 'base64').subarray(0, KIB).toString('base64')
  expect(letters.map(({ reason, topic, raw }) => told(reason, topic.split('.')[1] ?? '', begins(raw))).sort()).toEqual(
    dead.map(({ reason, to, value }) => told(reason ?? '', to, begins(headOf(value)))).sort(),
  )
  for (const { rawBytes, raw, truncated, detail } of letters) {
    // Of a batch that was fifty times smaller as it was sent a letter holds a kibibyte of each message.
    const { length } = Buffer.from(raw, 'base64')
    expect([Math.min(rawBytes, 256 * KIB), Math.min(rawBytes, KIB)]).toContain(length)
    expect(truncated).toBe(rawBytes > length)
    expect(detail).not.toContain(CANARY)
  }

  const metrics = await metricsOf(service)
  expect(outcomesIn(metrics)).toEqual(countBy(sent.map(({ to, outcome }) => `${to} ${outcome}`)))
  const deaths = samplesOf(metrics, 'gavel_dead_letters_total')
  expect(
    Object.fromEntries(deaths.flatMap(({ labels, value }) => (value === 0 ? [] : [[labels.reason, value]]))),
  ).toEqual(countBy(dead.map(({ reason }) => reason ?? '')))
  expect((await fetch(`http://127.0.0.1:${service.httpPort}/health/live`)).status).toBe(200)
  expect((await fetch(`http://127.0.0.1:${service.httpPort}/health/ready`)).status).toBe(200)

  // What strangers wrote is in no log line and in no series; what commands print drives no terminal.
  expect(service.log.length).toBeGreaterThan(sent.length)
  expect(service.log.filter((line) => line.includes(CANARY))).toEqual([])
  expect(metrics).not.toContain(CANARY)
  const printed = await Promise.all([
    gavel(environment, 'verdicts'),
    gavel(environment, 'verdicts', '--json'),
    gavel(environment, 'dead-letters', 'list'),
    gavel(environment, 'dead-letters', 'list', '--json'),
  ])
  expect(printed.map(({ code }) => code)).toEqual([0, 0, 0, 0])
  expect(printed[0]?.out.split('\n').length).toBe(verdicts.length + 1)
  for (const { out, said } of printed) {
    expectHarmless(out)
    expectHarmless(said)
  }
  await service.kill('SIGTERM')
  expect(service.process.exitCode).toBe(0)
})

it('publishes dead letters that together exceed the broker’s limit, and the entries behind them', async ({
  stack,
  start,
}) => {
  const environment = environmentOn(stack, { GAVEL_CLOCK_IDLE_AFTER: '1s' })
  // They gather in the outbox, as they do while Kafka is away.
  const intake = await start(environment, 'intake,judge')
  const large = Array.from({ length: 8 }, () => bad('posts', randomBytes(300_000), 'not-json'))
  await sendAll(environment, [...large, post('behind', 'judged')])
  await settled(intake, large.length + 1)
  const publisher = await start(environment, 'publish')
  await allFinal(environment, 1, 15_000)
  let letters: DeadLetter[] = []
  await eventually(
    async () => {
      letters = await lettersOf(environment)
      return letters.length >= large.length
    },
    10_000,
    () => `${letters.length} of ${large.length} dead letters; the publisher says ${publisher.log.slice(-2).join('\n')}`,
  )
  expect(repeats(await recordsOf(environment, 'verdicts'))).toEqual([])
  await Promise.all([intake.kill('SIGTERM'), publisher.kill('SIGTERM')])
  expect(letters.map(({ raw }) => raw).sort()).toEqual(large.map(({ value }) => headOf(value)).sort())
  expect(letters.every(({ truncated, rawBytes }) => truncated && rawBytes === 300_000)).toBe(true)
})

it('is spared a text of 5 MB by Apache Kafka, which refuses it at once', async ({ stack, skip }) => {
  if (stack.kafka?.kind !== 'apache') return skip('no Apache Kafka here: the in-memory broker takes any size')
  const environment = environmentOn(stack)
  const kafka = clientOf(environment)
  await makeTopics(kafka, settingsOf(environment))
  const refused = sendAll(environment, [{ ...bad('posts', randomBytes(5_000_000), 'too-large'), codec: 'None' }])
  await expect(refused).rejects.toThrow(/message.*(larger|max)/i)
  tell('Apache Kafka refuses a message of 5 MB when it is produced; the in-memory broker brings it to the service.')
})

describe('on a broker that takes everything', () => {
  let kafka: MemoryKafka
  let environment: Record<string, string>
  let service: Service
  it.beforeAll(async ({ stack, startForFile }) => {
    kafka = await startMemoryKafka({ say: tell })
    environment = environmentOn(stack, {
      ...kafka.settings,
      GAVEL_CLOCK_IDLE_AFTER: '1s',
      GAVEL_LOG_LEVEL: 'debug',
    })
    service = await startForFile(environment)
  })
  afterAll(async () => {
    await service?.kill('SIGKILL')
    await kafka?.close()
  })

  it('puts aside a text of 5 MB and a batch that no codec can open, and goes on behind them', async () => {
    const large = postBytes('large', { text: CANARY.repeat(230_000) })
    expect(large.length).toBeGreaterThan(5_000_000)
    await sendAll(environment, [{ ...bad('posts', large, 'too-large'), codec: 'None' }])
    await sendCorrupt(environment)
    await sendAll(environment, [{ ...post('behind', 'judged'), key: 'bad' }])
    await allFinal(environment, 1, 20_000)
    let letters: DeadLetter[] = []
    await eventually(
      async () => {
        letters = await lettersOf(environment)
        return letters.length >= 2
      },
      10_000,
      () => `${letters.map(({ reason }) => reason).join()}; the service says\n${service.log.slice(-8).join('\n')}`,
    )
    const by = new Map(letters.map((letter) => [letter.reason, letter]))
    expect([...by.keys()].sort()).toEqual(['corrupt-batch', 'too-large'])
    expect(by.get('too-large')).toMatchObject({
      rawBytes: large.length,
      truncated: true,
      raw: headOf(large),
    })
    expect(Buffer.from(by.get('corrupt-batch')?.raw ?? '', 'base64').toString()).toBe(`no gzip, but ${CANARY}`)
    expect(service.log.filter((line) => line.includes(CANARY))).toEqual([])
    expect((await fetch(`http://127.0.0.1:${service.httpPort}/health/live`)).status).toBe(200)
    // What nobody could unpack is no message: its bytes are not sent as one.
    const replay = await gavel(environment, 'dead-letters', 'replay', '--dry-run', '--json')
    expect(replay.out).toMatch(/"reason":"corrupt-batch","state":"corrupt"/)
    expect(replay.out).toMatch(/"reason":"too-large","state":"would be sent"/)
  })

  it('takes no sender’s header for its own mark of a corrupt batch', async () => {
    const producer = clientOf(environment).producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
    await producer.connect()
    await producer.send({
      topic: topicsOf(settingsOf(environment)).posts,
      messages: [{ key: 'forged', value: postBytes('forged'), headers: { 'gavel-corrupt-batch': CANARY } }],
    })
    await producer.disconnect()
    await eventually(
      async () => (await verdictsOf(environment)).some(({ subjectId }) => subjectId === 'forged'),
      10_000,
      () => 'the post has no verdict',
    ).finally(() => expect(service.log.filter((line) => line.includes(CANARY))).toEqual([]))
  })

  it('reads the verdicts topic past records that are none, and prints them harmlessly', async () => {
    const [genuine = ''] = await recordsOf(environment, 'verdicts')
    const forged = {
      ...(JSON.parse(genuine) as object),
      id: `forged ${HOSTILE}`,
      label: `rumor${HOSTILE}`,
      degraded: [HOSTILE],
    }
    const timed = { ...forged, timing: { ...(forged as { timing?: object }).timing, decidedAt: HOSTILE } }
    const producer = clientOf(environment).producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
    await producer.connect()
    await producer.send({
      topic: topicsOf(settingsOf(environment)).verdicts,
      messages: [bytes(forged), bytes(timed), Buffer.from(`no JSON ${HOSTILE}`), bytes({ schema: 2 }), null].map(
        (value) => ({ key: 'forged', value }),
      ),
    })
    await producer.disconnect()
    const read = await gavel(environment, 'verdicts')
    expect(read.code, read.said).toBe(0)
    expect(read.said.match(/: not a verdict of schema 1 or 2; skipped/g)).toHaveLength(3)
    expectHarmless(read.out)
    expectHarmless(read.said)
  })
})
