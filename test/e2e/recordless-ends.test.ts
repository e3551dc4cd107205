import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import kafkajs, { type Admin, type Kafka, type Transaction } from 'kafkajs'
import { afterEach, expect } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { command as replayDeadLetters } from '../../src/app/commands/dead-letters/replay.ts'
import { recover } from '../../src/app/commands/recover.ts'
import { command as verdicts } from '../../src/app/commands/verdicts.ts'
import { samplesOf } from '../../src/operations/metrics/samples.ts'
import { keysUnder } from '../../src/store/redis/keys.ts'
import { perform } from '../support/commands.ts'
import { createTopics } from '../support/create-topics.ts'
import { IN_PROOF } from '../support/in-proof.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  type Service,
  send,
  settingsOf,
  silent,
  verdictsOf,
} from '../support/pipeline.ts'

// Partitions whose last offsets hold no record, topics that were made anew, and marks of topics that nobody reads any more: the
// stream's clock goes on for everybody.

const ONLY_APACHE = 'only Apache Kafka has transactions, and topics that can be deleted'
const PARTITIONS = 2
const FINAL_WITHIN_MS = 20_000

const folder = ownFolder('ends')
let environment: Record<string, string>
let topics: ReturnType<typeof topicsOf>
let kafka: Kafka
let admin: Admin
let service: Service
const closers: (() => Promise<unknown>)[] = []
const it = onServers({ latencyMs: 20 })
it.beforeEach(async ({ stack }) => {
  environment = environmentOn(stack, {
    GAVEL_CLOCK_IDLE_AFTER: '1s',
    GAVEL_DRAIN: '3s',
    GAVEL_KAFKA_PARTITIONS: String(PARTITIONS),
  })
  topics = topicsOf(settingsOf(environment))
  kafka = clientOf(environment)
  admin = kafka.admin()
  await admin.connect()
})
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
  await admin?.disconnect()
})

async function begun(): Promise<Transaction> {
  const producer = kafka.producer({
    transactionalId: `${environment.GAVEL_KAFKA_GROUP}-${closers.length}`,
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  })
  await producer.connect()
  closers.push(() => producer.disconnect())
  return producer.transaction()
}

/** A record in every partition of these topics, in one transaction. */
async function inTransaction(names: readonly string[]): Promise<Transaction> {
  const transaction = await begun()
  const messages = Array.from({ length: PARTITIONS }, (_, partition) => ({ value: 'never committed', partition }))
  await transaction.sendBatch({ topicMessages: names.map((topic) => ({ topic, messages })) })
  return transaction
}

const abortedIn = async (names: readonly string[]) => (await inTransaction(names)).abort()

/** Deletes topics and makes them again, with so many partitions each. */
async function remade(partitions: Record<string, number>): Promise<void> {
  const names = Object.keys(partitions)
  await admin.deleteTopics({ topics: names })
  await eventually(async () => (await admin.listTopics()).every((topic) => !names.includes(topic)), 10_000)
  await createTopics(
    admin,
    Object.entries(partitions).map(([topic, numPartitions]) => ({ topic, numPartitions })),
  )
}

/** Into the first partition of posts. */
async function putPost(value: string): Promise<void> {
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  await producer.send({ topic: topics.posts, messages: [{ value, partition: 0 }] })
  await producer.disconnect()
}

async function untilDead(letters: number): Promise<void> {
  const count = async () =>
    (await admin.fetchTopicOffsets(topics.deadLetters)).reduce((sum, { high }) => sum + Number(high), 0)
  await eventually(async () => (await count()) >= letters, 10_000)
}

let files = 0
async function sendLines(...lines: object[]): Promise<void> {
  const file = join(folder, `${++files}.jsonl`)
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
}
const post = (id: string, text = `The dam above ${id} has burst, they say.`) => ({
  type: 'post',
  id,
  text,
  createdAt: '2025-03-01T10:00:00Z',
})
const threadOf = (id: string) => [
  post(id),
  ...['It is true, I saw it.', 'Fake, an old picture.'].map((text, at) => ({
    type: 'comment',
    id: `${id}-c${at}`,
    postId: id,
    text,
    createdAt: `2025-03-01T10:0${at + 1}:00Z`,
  })),
]

async function untilFinal(id: string, revision = 1): Promise<void> {
  await eventually(
    async () =>
      (await verdictsOf(environment)).some((one) => one.subjectId === id && one.final && one.revision >= revision),
    FINAL_WITHIN_MS,
    () => `${id} has no final verdict\n${service.log.slice(-10).join('\n')}`,
  )
}

async function metric(name: string): Promise<number[]> {
  const text = await (await fetch(`http://127.0.0.1:${service.httpPort}/metrics`)).text()
  return samplesOf(text, name).map(({ value }) => value)
}

it('threads are judged, and no lag is left, behind what was aborted and before what is open', {
  timeout: 90_000,
}, async ({ stack, start, skip }) => {
  if (stack.kafka?.kind !== 'apache') return skip(ONLY_APACHE)
  service = await start(environment)
  const inputs = [topics.posts, topics.comments, topics.counterspeech]
  await abortedIn(inputs)
  await sendLines(...threadOf('behind'))
  await untilFinal('behind')
  await eventually(async () => {
    const lags = await metric('gavel_kafka_lag_messages')
    return lags.length >= inputs.length && lags.every((lag) => lag === 0)
  }, 10_000)

  await sendLines(...threadOf('before'))
  const open = await inTransaction(inputs)
  await untilFinal('before')
  await open.abort()

  // What is committed behind marks counts as read in Redis too: nothing is lost when the service starts again.
  await service.kill('SIGTERM')
  service = await start(environment)
  expect(service.log.filter((line) => line.includes('store:lost'))).toEqual([])
  await sendLines(...threadOf('again'))
  await untilFinal('again')
})

it.runIf(IN_PROOF)(
  'commands that read topics to their ends come to them',
  { timeout: 90_000 },
  async ({ stack, start, skip }) => {
    if (stack.kafka?.kind !== 'apache') return skip(ONLY_APACHE)
    service = await start(environment)
    await sendLines(...threadOf('judged'))
    await untilFinal('judged')
    await putPost('no JSON')
    await untilDead(1)
    await abortedIn(Object.values(topics))

    const settings = settingsOf(environment)
    const said: string[] = []
    const io = {
      terminal: { ...silent, out: (line: unknown) => void said.push(String(line)) },
      signal: AbortSignal.timeout(20_000),
    }
    await perform(verdicts, settings, [], {}, io)
    expect(said.some((line) => line.includes('judged'))).toBe(true)
    said.length = 0
    await perform(replayDeadLetters, settings, [], { dryRun: true, json: false }, io)
    expect(said).toEqual([expect.stringContaining('would be sent')])
    const done = await recover(settings, { since: null, dryRun: false }, io)
    expect(done).toMatchObject({ subjects: 1, messages: 4, outcomes: { duplicate: 3 } })
    expect(io.signal.aborted).toBe(false)
  },
)

it('marks of topics with another name hold nothing', async ({ start }) => {
  const redis = new Redis(environment.REDIS_URL ?? '')
  const old = JSON.stringify({ newest: 1, second: 1, endSince: null, seenAt: 0 })
  await redis.hset(keysUnder(environment.GAVEL_REDIS_PREFIX ?? '').marks, {
    'older.posts/0': old,
    'older.posts/1': old,
  })
  redis.disconnect()
  service = await start(environment)
  await sendLines(...threadOf('renamed'))
  await untilFinal('renamed')
})

it.runIf(IN_PROOF)(
  'topics that were made anew under the service are read from their beginning, also with fewer partitions',
  {
    timeout: 120_000,
  },
  async ({ stack, start, skip }) => {
    if (stack.kafka?.kind !== 'apache') return skip(ONLY_APACHE)
    service = await start(environment)
    await sendLines(...threadOf('first'), ...threadOf('second'), ...threadOf('third'))
    await untilFinal('third')
    await remade({ [topics.posts]: PARTITIONS, [topics.comments]: 1 })
    // Lower offsets than those up to which their threads have taken messages.
    await sendLines(...['first', 'second', 'third'].map((id) => post(id, `The dam above ${id} stands, they say now.`)))
    for (const id of ['first', 'second', 'third']) await untilFinal(id, 2)
    await sendLines(...threadOf('new'))
    await untilFinal('new')
  },
)

it.runIf(IN_PROOF)(
  'a dead letter does not refer to the message at its place since its topic was recreated',
  {
    timeout: 90_000,
  },
  async ({ stack, start, skip }) => {
    if (stack.kafka?.kind !== 'apache') return skip(ONLY_APACHE)
    service = await start(environment)
    await putPost('no JSON')
    await untilDead(1)
    await service.kill('SIGTERM')
    await remade({ [topics.posts]: PARTITIONS })
    service = await start(environment)
    const { id, text, createdAt } = post('in its place')
    await putPost(JSON.stringify({ id, text, createdAt }))
    await untilFinal(id)
    const said: string[] = []
    const io = {
      terminal: { ...silent, out: (line: unknown) => void said.push(String(line)) },
      signal: AbortSignal.timeout(20_000),
    }
    await perform(replayDeadLetters, settingsOf(environment), [], { dryRun: true, json: true }, io)
    expect(said[0]).toContain('"state":"expired"')
    const done = await recover(settingsOf(environment), { since: null, dryRun: false }, io)
    expect(done).toMatchObject({ messages: 1, outcomes: { duplicate: 1 } })
  },
)
