import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import kafkajs, { type Kafka } from 'kafkajs'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { groupReader } from '../../consumers/group-reader.ts'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import type { Events } from '../../src/contracts/ports/report.ts'
import type { TopicReader, TopicWriter } from '../../src/contracts/ports/topic.ts'
import { type LocalKafka, startKafka } from '../../src/kit/stack/servers/kafka.ts'
import { registerCodecs } from '../../src/stream/codecs.ts'
import { type BlackHole, blackHoleBefore } from '../support/black-hole.ts'
import { createTopics } from '../support/create-topics.ts'
import { eventually, tell } from '../support/pipeline.ts'

// Ways in which a consumer is cut off from its group and hears nothing of it, at Apache Kafka itself.

/** Of a writer on dead connections: nothing may be stuck for longer. */
const WRITER_MS = 60_000

let server: LocalKafka
let way: BlackHole
let near: Kafka
let topic: string
let writer: TopicWriter
let reader: TopicReader
let troubles: Events['error'][] = []
const read: string[] = []

beforeAll(async () => {
  server = await startKafka({ prefer: 'apache', say: tell })
  const address = server.settings.KAFKA_BROKERS ?? ''
  way = await blackHoleBefore(Number(address.split(':')[1]))
  registerCodecs()
  near = new kafkajs.Kafka({ clientId: 'near', brokers: [address], logLevel: kafkajs.logLevel.NOTHING })
  writer = await kafkaWriter(near, 'none')
})
beforeEach(async () => {
  topic = `topic-${randomUUID()}`
  const admin = near.admin()
  await admin.connect()
  await createTopics(admin, [{ topic, numPartitions: 4 }])
  await admin.disconnect()
  troubles = []
  read.length = 0
  reader = groupReader({
    kafka: farKafka(),
    settings: {
      group: topic,
      topics: [topic],
      sessionTimeout: 6_000,
      maxBytesPerPartition: 1 << 20,
      fetchBytes: 1,
      fetchWait: 250,
      partitions: 4,
    },
    clock: Date.now,
    report: (name, event) => {
      if (name === 'error') troubles.push(event as Events['error'])
    },
  })
  await reader.start(async ({ messages }) => {
    read.push(...messages.map(({ value }) => String(value)))
  })
  await send('before')
  await reads('before', 10_000)
})
afterEach(() => reader?.close())
afterAll(async () => {
  await writer?.close()
  await way?.close()
  await server?.close()
})

/** A client of the service's kind; whatever address the broker gives, its way there leads through the black hole. */
function farKafka(): Kafka {
  return new kafkajs.Kafka({
    clientId: 'far',
    brokers: [server.settings.KAFKA_BROKERS ?? ''],
    connectionTimeout: 3_000,
    requestTimeout: 30_000,
    retry: { initialRetryTime: 100, maxRetryTime: 2_000, retries: 4 },
    logLevel: kafkajs.logLevel.NOTHING,
    socketFactory: ({ onConnect }) => connect(way.port, '127.0.0.1', onConnect),
  })
}

const send = (value: string) => writer.send([{ topic, key: value, value }])
const reads = (value: string, withinMs: number) =>
  eventually(
    async () => read.includes(value),
    withinMs,
    () => `read ${read.join()}; troubles ${troubles.map(({ error }) => String(error)).join('; ')}`,
  )

/** Cuts the consumer off, and tells after how long that was noticed and, once the way is free, healed. */
async function rehearse(what: string, cut: () => void, free: () => void): Promise<void> {
  const began = Date.now()
  cut()
  await eventually(
    async () => reader.downSince !== null,
    30_000,
    () => 'nobody noticed',
  )
  const noticed = Date.now() - began
  free()
  const freed = Date.now()
  await send('after')
  await reads('after', 60_000)
  tell(`${what}: noticed after ${noticed} ms, read again ${Date.now() - freed} ms after the way was free`)
  expect(reader.downSince).toBeNull()
  expect(new Set(read)).toEqual(new Set(['before', 'after']))
}

it('heals when its connections died without a word, though new ones work at once', async () => {
  await rehearse(
    'half-open connections',
    () => {
      way.swallow()
      way.pass()
    },
    () => {},
  )
})

it('heals after a black hole that swallowed new connections too', async () => {
  await rehearse(
    'black hole',
    () => way.swallow(),
    () => way.pass(),
  )
})

it('heals after a broker that was stopped in mid-sentence', async () => {
  const { pid } = server
  if (server.kind !== 'apache' || pid === undefined) return tell('SKIPPED: no Apache Kafka here, no process to stop.')
  await rehearse(
    'SIGSTOPped broker',
    () => process.kill(pid, 'SIGSTOP'),
    () => process.kill(pid, 'SIGCONT'),
  )
})

it('goes on by itself, with the same consumer, after a broker that stood still for longer than the session', async () => {
  const { pid } = server
  if (server.kind !== 'apache' || pid === undefined) return tell('SKIPPED: no Apache Kafka here, no process to stop.')
  process.kill(pid, 'SIGSTOP')
  await new Promise((resolve) => setTimeout(resolve, 12_000))
  process.kill(pid, 'SIGCONT')
  await send('after')
  await reads('after', 30_000)
  expect(reader.downSince).toBeNull()
})

it('a writer whose connections died without a word sends again', async () => {
  const far = farKafka()
  const sender = await kafkaWriter(far, 'none')
  await sender.send([{ topic, key: 'first', value: 'first' }])
  way.swallow()
  way.pass()
  const began = Date.now()
  // As the publisher does: what is not known to have arrived is sent again.
  for (let sent = false; !sent; )
    sent = await sender.send([{ topic, key: 'second', value: 'second' }]).then(
      () => true,
      () => Date.now() > began + WRITER_MS,
    )
  tell(`the writer sent again after ${Date.now() - began} ms`)
  await reads('second', 5_000)
  expect(Date.now() - began).toBeLessThan(WRITER_MS)
  await sender.close()
})
