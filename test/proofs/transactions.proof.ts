import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Kafka, type Producer, type TopicMessages } from 'kafkajs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import { percentiles } from '../../src/kit/bench/percentiles.ts'
import { type LocalKafka, startKafka } from '../../src/kit/stack/servers/kafka.ts'
import { readTopic } from '../../src/stream/bounded-reader.ts'
import { registerCodecs } from '../../src/stream/codecs.ts'
import { createTopics } from '../support/create-topics.ts'
import { tell } from '../support/pipeline.ts'

// Would kafkajs' transactions publish better than the outbox with byte-identical repeats? Both publish at the same time, to
// the same broker, through the same kills; a reader of committed records alone counts what came.

const KILLS = Number(process.env.GAVEL_PROOF_KILLS ?? 8)
const ENTRIES_A_BATCH = 20
/** Longest try; then the producer is given up. */
const HUNG_MS = 45_000

let server: LocalKafka
let kafka: Kafka
beforeAll(async () => {
  server = await startKafka({ prefer: 'apache', say: tell })
  registerCodecs()
  kafka = new kafkajs.Kafka({
    clientId: 'trial',
    brokers: [server.settings.KAFKA_BROKERS ?? ''],
    connectionTimeout: 3_000,
    requestTimeout: 30_000,
    retry: { initialRetryTime: 100, maxRetryTime: 2_000, retries: 4 },
    logLevel: kafkajs.logLevel.NOTHING,
  })
})
afterAll(() => server?.close())

interface Way {
  /** One batch of verdicts and transcripts, acknowledged. */
  send(batch: TopicMessages[]): Promise<void>
  /** After a failure whose outcome is not known. */
  recover(): Promise<void>
  close(): Promise<void>
}

async function plain(): Promise<Way> {
  const writer = await kafkaWriter(kafka, 'none')
  return {
    send: (batch) =>
      writer.send(
        batch.flatMap(({ topic, messages }) =>
          messages.map(({ key, value }) => ({ topic, key: String(key), value: String(value) })),
        ),
      ),
    recover: async () => {},
    close: () => writer.close(),
  }
}

async function transactional(): Promise<Way> {
  let producer: Producer | undefined
  const connected = async () => {
    if (producer !== undefined) return producer
    const fresh = kafka.producer({
      transactionalId: 'trial',
      idempotent: true,
      maxInFlightRequests: 1,
      transactionTimeout: 10_000,
      allowAutoTopicCreation: false,
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
      retry: { retries: 5, initialRetryTime: 100, maxRetryTime: 2_000 },
    })
    await fresh.connect()
    producer = fresh
    return fresh
  }
  await connected()
  return {
    async send(topicMessages) {
      const transaction = await (await connected()).transaction()
      try {
        await transaction.sendBatch({ acks: -1, topicMessages })
        await transaction.commit()
      } catch (error) {
        await transaction.abort().catch(() => undefined)
        throw error
      }
    },
    // A producer whose transaction failed is in a state of its own: the next one fences it.
    async recover() {
      const old = producer
      producer = undefined
      void old?.disconnect().catch(() => undefined)
    },
    close: async () => producer?.disconnect(),
  }
}

interface Tally {
  entries: number
  tries: number
  hung: number
  fenced: number
  readonly errors: Map<string, number>
  longestMs: number
  /** Of batches that were acknowledged at the first try, in ms. */
  readonly quietMs: number[]
}

/** Publishes batch after batch, each until it is acknowledged, until it is told to end. */
async function publish(name: string, way: Way, ended: () => boolean): Promise<Tally> {
  const tally: Tally = { entries: 0, tries: 0, hung: 0, fenced: 0, errors: new Map(), longestMs: 0, quietMs: [] }
  while (!ended()) {
    const ids = Array.from({ length: ENTRIES_A_BATCH }, (_, at) => `${name}-${tally.entries + at}`)
    const batch = ['verdicts', 'transcripts'].map((topic) => ({
      topic: `${name}-${topic}`,
      messages: ids.map((id) => ({ key: id, value: `${topic} of ${id} ${'x'.repeat(300)}` })),
    }))
    const [began, before] = [Date.now(), tally.tries]
    for (;;) {
      tally.tries++
      try {
        const late = sleep(HUNG_MS, 'hung' as const, { ref: false })
        if ((await Promise.race([way.send(batch), late])) !== 'hung') break
        tally.hung++
      } catch (error) {
        const cause = error as { type?: string; name?: string; message?: string }
        const word = cause.type ?? cause.name ?? 'Error'
        tally.errors.set(word, (tally.errors.get(word) ?? 0) + 1)
        if (/FENCED|PRODUCER_EPOCH/.test(`${word} ${cause.message}`)) tally.fenced++
      }
      await way.recover()
      await sleep(200)
    }
    if (tally.tries === before + 1) tally.quietMs.push(Date.now() - began)
    tally.longestMs = Math.max(tally.longestMs, Date.now() - began)
    tally.entries += ENTRIES_A_BATCH
  }
  return tally
}

async function count(name: string, { entries }: Tally) {
  const read = new Map<string, string[]>()
  for (const topic of ['verdicts', 'transcripts']) {
    const signal = AbortSignal.timeout(60_000)
    await readTopic(kafka, `${name}-${topic}`, { follow: false, signal }, ({ message }) => {
      const key = `${topic} ${message.key}`
      read.set(key, [...(read.get(key) ?? []), String(message.value)])
    })
  }
  const has = (topic: string, entry: number) => read.has(`${topic} ${name}-${entry}`)
  const all = Array.from({ length: entries }, (_, entry) => entry)
  const repeated = [...read.values()].filter((values) => values.length > 1)
  return {
    lost: all.filter((entry) => !has('verdicts', entry) || !has('transcripts', entry)).length,
    halves: all.filter((entry) => has('verdicts', entry) !== has('transcripts', entry)).length,
    repeated: repeated.length,
    different: repeated.filter((values) => new Set(values).size > 1).length,
  }
}

it(`outbox and transactions over ${KILLS} kills of the broker`, async () => {
  if (server.kind !== 'apache') return tell('SKIPPED: only Apache Kafka has transactions.')
  const { kill, restart } = server
  const admin = kafka.admin()
  await admin.connect()
  const topics = ['outbox', 'transactions'].flatMap((name) =>
    ['verdicts', 'transcripts'].map((topic) => ({ topic: `${name}-${topic}`, numPartitions: 4 })),
  )
  await createTopics(admin, topics)
  await admin.disconnect()

  let over = false
  const ways = { outbox: await plain(), transactions: await transactional() }
  const running = Object.entries(ways).map(async ([name, way]) => ({
    name,
    tally: await publish(name, way, () => over),
  }))
  for (let n = 0; n < KILLS; n++) {
    await sleep(1_000 + Math.random() * 2_000)
    await kill()
    await sleep(Math.random() * 3_000)
    await restart()
  }
  await sleep(2_000)
  over = true
  const results = []
  for (const { name, tally } of await Promise.all(running)) {
    const counted = await count(name, tally)
    results.push({ name, counted })
    const { errors, quietMs, ...rest } = tally
    const batchMs = percentiles(quietMs)
    tell(`${name}: ${JSON.stringify({ ...counted, ...rest, batchMs, errors: Object.fromEntries(errors) })}`)
  }
  for (const way of Object.values(ways)) await Promise.race([way.close(), sleep(5_000)])
  // What Gavel does; what transactions do stands in the line above.
  expect(results[0]?.counted).toMatchObject({ lost: 0, different: 0 })
})
