import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Kafka, type Producer, type RecordMetadata } from 'kafkajs'
import type { BrokerRefused } from '../src/contracts/facts/broker-refusal.ts'
import {
  type Compression,
  type OutgoingMessage,
  type PlacingWriter,
  RefusedRecord,
  type TopicWriter,
} from '../src/contracts/ports/topic.ts'
import {
  brokerRefusal,
  isTooLarge,
  LEAST_RECORD_BYTES,
  lacksReplicas,
  replicasRefusal,
  sizeRefusal,
} from '../src/stream/broker-refusals.ts'
import { starvedTopics } from '../src/stream/starved-topics.ts'
import { NoAnswer, withTimeout } from '../src/stream/with-timeout.ts'

const { CompressionTypes } = kafkajs
const TYPES: Record<Compression, number> = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

/**
 * Most bytes of records in one request. The records of a partition are sent as one batch, and a broker accepts batches
 * up to 1 MiB by default: a larger backlog would be refused as a whole, again and again.
 */
export const REQUEST_BYTES = 900_000

/**
 * A request without a response for this long was sent on a connection that died unnoticed; kafkajs would retry on the
 * same one.
 */
const SILENT_MS = 20_000

/**
 * A request that failed and may not fail again is sent again as a whole, so often, after waits in ms. Not by kafkajs: its own
 * tries go only to brokers that have not answered yet, and where a partition has moved to one that has, its records are never
 * sent, and called sent.
 */
const AGAIN = { times: 5, firstMs: 100, mostMs: 2_000 }

/**
 * Writes with acknowledgement by all in-sync replicas; after a silence, through a new producer on new connections.
 * Deliberately not idempotent: kafkajs reuses sequence numbers after it has given up on a batch, and the broker would
 * then silently drop the next one. Consumers skip a repeat by its id.
 */
export async function kafkaWriter(kafka: Kafka, compression: Compression): Promise<TopicWriter & PlacingWriter> {
  const connect = async () => {
    const fresh = kafka.producer({
      idempotent: false,
      allowAutoTopicCreation: false,
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
      retry: { retries: 0 },
    })
    await fresh.connect()
    return fresh
  }
  let producer: Promise<Producer> | undefined = connect()
  await producer

  async function write(request: readonly OutgoingMessage[]): Promise<RecordMetadata[]> {
    producer ??= connect()
    const own = producer
    try {
      const byTopic = Map.groupBy(request, ({ topic }) => topic)
      const topicMessages = [...byTopic].map(([topic, records]) => ({
        topic,
        messages: GroupedMessages.from(records, ({ key, value, headers = {} }) => ({ key, value, headers })),
      }))
      const batch = { acks: -1, compression: TYPES[compression], topicMessages }
      const ready = await withTimeout(SILENT_MS, own)
      return await again(
        () => withTimeout(SILENT_MS, ready.sendBatch(batch)),
        (error) => starvedRefusal(kafka, error, [...byTopic.keys()]),
      )
    } catch (error) {
      // A record that the broker refused doesn't mean that the connection is bad. Others may be sending on it: closing
      // it would make them send twice.
      const isConnected = () =>
        own.then(
          () => true,
          () => false,
        )
      if (error instanceof NoAnswer || !(await isConnected())) {
        if (producer === own) producer = undefined
        void own.then((dead) => dead.disconnect()).catch(() => undefined)
      }
      const topics = [...new Set(request.map(({ topic }) => topic))]
      const refusal = brokerRefusal(error, { topics, compression })
      if (refusal !== null) throw refusal
      if (isTooLarge(error)) throw tooLarge(request, error)
      throw error
    }
  }

  return {
    async send(records) {
      for (const request of requests(records)) await write(request)
    },
    async place(record) {
      const [written] = await write([record])
      const offset = written?.baseOffset ?? written?.offset
      if (written === undefined || offset === undefined) throw new Error('Kafka has not returned the record’s offset')
      return { partition: written.partition, offset }
    },
    close: async () => (await producer)?.disconnect(),
  }
}

/** Adds a message to those of its partition, by the partition, as kafkajs does. */
type AddMessage = (groups: Record<string, unknown[]>, message: unknown) => Record<string, unknown[]>

/**
 * Messages of a topic, which kafkajs sorts by their partitions with `reduce`, and so copies what a partition has for each further one:
 * of 500 it copied 125,000. Here each is sorted by itself, and joins the others.
 */
class GroupedMessages<Message> extends Array<Message> {
  // What is made of them is an ordinary list.
  static override get [Symbol.species]() {
    return Array
  }

  override reduce(add: unknown): never {
    const groups = new Map<string, unknown[]>()
    // kafkajs gives no other function.
    for (const message of this)
      for (const [partition, [own]] of Object.entries((add as AddMessage)({}, message))) {
        const group = groups.get(partition)
        if (group === undefined) groups.set(partition, [own])
        else group.push(own)
      }
    return Object.fromEntries(groups) as never // as kafkajs types what it reduces to
  }
}

/** A small record by itself is not at fault: its topic takes none. */
function tooLarge([first, ...others]: readonly OutgoingMessage[], cause: unknown): Error {
  if (first !== undefined && others.length === 0 && sizeOf(first) <= LEAST_RECORD_BYTES)
    return sizeRefusal(first.topic, cause)
  return new RefusedRecord(cause instanceof Error ? cause.message : 'refused', { cause })
}

/** The refusal of records that never have enough copies; null where enough may come, or that is not told. */
async function starvedRefusal(kafka: Kafka, error: unknown, topics: readonly string[]): Promise<BrokerRefused | null> {
  if (!lacksReplicas(error)) return null
  const starved = await withTimeout(SILENT_MS, starvedTopics(kafka, topics)).catch(() => [])
  return starved.length === 0 ? null : replicasRefusal(starved, error)
}

/** `refusalOf`: why a failure will not pass; asked of the first one, and of the last. */
async function again<T>(send: () => Promise<T>, refusalOf: (error: unknown) => Promise<Error | null>): Promise<T> {
  for (let [times, waitMs] = [0, AGAIN.firstMs]; ; times++, waitMs = Math.min(AGAIN.mostMs, 2 * waitMs))
    try {
      return await send()
    } catch (error) {
      const refusal = times === 0 || times === AGAIN.times ? await refusalOf(error) : null
      if (refusal !== null) throw refusal
      const mayPass = error instanceof Error && error.name === 'KafkaJSNumberOfRetriesExceeded'
      if (!mayPass || times === AGAIN.times) throw error
      await sleep(waitMs)
    }
}

/** The records in order, in requests that a broker accepts; a record that is too large by itself is sent alone. */
function* requests(records: readonly OutgoingMessage[]): Generator<OutgoingMessage[]> {
  let portion: OutgoingMessage[] = []
  let bytes = 0
  for (const record of records) {
    const size = sizeOf(record)
    if (portion.length > 0 && bytes + size > REQUEST_BYTES) {
      yield portion
      portion = []
      bytes = 0
    }
    portion.push(record)
    bytes += size
  }
  if (portion.length > 0) yield portion
}

function sizeOf({ key, value, headers = {} }: OutgoingMessage): number {
  let size = 100 + Buffer.byteLength(value) + Buffer.byteLength(key ?? '')
  for (const [name, all] of Object.entries(headers)) {
    size += Buffer.byteLength(name)
    for (const each of Array.isArray(all) ? all : [all]) size += Buffer.byteLength(each)
  }
  return size
}
