import { createRequire } from 'node:module'
import type { Kafka } from 'kafkajs'

// Requests that kafkajs 2.2.4 can send, and does not offer.

const require = createRequire(import.meta.url)

/** The parts used of kafkajs' cluster and broker. */
export interface Cluster {
  connect(): Promise<void>
  disconnect(): Promise<void>
  refreshMetadata(): Promise<void>
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>
  findTopicPartitionMetadata(topic: string): readonly { readonly partitionId: number }[]
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, readonly number[]>>
  findBroker(node: { nodeId: string }): Promise<Broker>
  findControllerBroker(): Promise<Broker>
}
interface Broker {
  readonly versions: Readonly<Record<number, { readonly minVersion: number; readonly maxVersion: number }>>
  readonly connectionPool: { send<Value>(request: { request: object; response: object }): Promise<Value> }
  fetch(asked: object): Promise<{
    readonly responses: readonly {
      readonly partitions: readonly FetchedPartition[]
    }[]
  }>
}
interface FetchedPartition {
  readonly partition: number
  readonly highWatermark: string
  /** Before it no transaction is open. */
  readonly lastStableOffset: string
  /** What lies before it has been deleted; brokers of long ago do not tell it. */
  readonly lastStartOffset?: string
  readonly messages: readonly {
    readonly offset: string
    readonly value: Buffer | null
    readonly isControlRecord: boolean
  }[]
}
type MakeCluster = (options: { allowAutoTopicCreation: boolean }) => Cluster

/** The client's cluster, not connected yet. */
export function clusterOf(kafka: Kafka): Cluster {
  const symbol = Object.getOwnPropertySymbols(kafka).find(({ description = '' }) => /:createCluster$/.test(description))
  if (symbol === undefined) throw new Error('kafkajs’ cluster not found; was kafkajs upgraded?')
  // Typed by hand: kafkajs keeps it under a symbol, which its types do not name.
  const make = (kafka as unknown as Record<symbol, MakeCluster>)[symbol] as MakeCluster
  return make({ allowAutoTopicCreation: false })
}

async function onCluster<Value>(kafka: Kafka, use: (cluster: Cluster) => Promise<Value>): Promise<Value> {
  const cluster = clusterOf(kafka)
  await cluster.connect()
  try {
    return await use(cluster)
  } finally {
    await cluster.disconnect()
  }
}

/** The value of the record at this place, read without a group; undefined where there is none. */
export function recordAt(
  kafka: Kafka,
  { topic, partition, offset }: { readonly topic: string; readonly partition: number; readonly offset: string },
): Promise<Buffer | null | undefined> {
  return onCluster(kafka, async (cluster) => {
    await cluster.addMultipleTargetTopics([topic])
    const [nodeId = ''] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]))
    const broker = await cluster.findBroker({ nodeId })
    const [maxBytes, currentLeaderEpoch] = [2 ** 20, -1]
    const partitions = [{ partition, fetchOffset: offset, maxBytes, currentLeaderEpoch }]
    const { responses } = await broker.fetch({ maxWaitTime: 1_000, minBytes: 1, topics: [{ topic, partitions }] })
    return responses[0]?.partitions[0]?.messages.find((one) => one.offset === offset)?.value
  })
}

/** Kafka's numbers of operations on a topic. */
const OPERATIONS = { read: 3, write: 4 } as const
export type TopicOperation = keyof typeof OPERATIONS

const METADATA = 3
/** The first version that lists the authorised operations. */
const METADATA_VERSION = 8
/** The broker does not tell. */
const UNTOLD = -(2 ** 31)
const NOT_AUTHORISED = 29

/** The parts used here of kafkajs' coders. */
interface Encoder {
  writeNullableArray(values: readonly string[]): Encoder
  writeBoolean(value: boolean): Encoder
}
interface Decoder {
  readInt16(): number
  readInt32(): number
  readString(): string
  readBoolean(): boolean
  readArray<Value>(read: (decoder: Decoder) => Value): Value[]
}

/**
 * What the user may do on these topics, of reading and writing, by topic; null where the broker does not tell. Topics that are
 * not there are left out.
 */
export function authorisedOperations(
  kafka: Kafka,
  topics: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<TopicOperation>> | null> {
  return onCluster(kafka, async (cluster) => {
    await cluster.refreshMetadata()
    const broker = await cluster.findControllerBroker()
    if ((broker.versions[METADATA]?.maxVersion ?? 0) < METADATA_VERSION) return null
    const told = await broker.connectionPool.send<ReadonlyMap<string, number | null>>(metadataRequest(topics))
    if ([...told.values()].some((bits) => bits === UNTOLD)) return null
    const names = Object.keys(OPERATIONS) as TopicOperation[]
    return new Map(
      [...told].flatMap(([topic, bits]) =>
        bits === null ? [] : [[topic, new Set(names.filter((one) => (bits & (1 << OPERATIONS[one])) !== 0))] as const],
      ),
    )
  })
}

/** Version 8 of Metadata; the bits of what is authorised by topic, null for one that is not there. */
function metadataRequest(topics: readonly string[]) {
  const NewEncoder = require('kafkajs/src/protocol/encoder.js') as new () => Encoder
  const NewDecoder = require('kafkajs/src/protocol/decoder.js') as new (data: Buffer) => Decoder
  const request = {
    apiKey: METADATA,
    apiVersion: METADATA_VERSION,
    apiName: 'Metadata',
    // No topic is to be made, and the rights on the cluster are not asked for.
    encode: async () =>
      new NewEncoder().writeNullableArray(topics).writeBoolean(false).writeBoolean(false).writeBoolean(true),
  }
  const ids = (decoder: Decoder) => decoder.readArray((one) => one.readInt32())
  function topicOf(decoder: Decoder): readonly [string, number | null] {
    const fault = decoder.readInt16()
    const topic = decoder.readString()
    decoder.readBoolean()
    decoder.readArray((one) => [
      one.readInt16(),
      one.readInt32(),
      one.readInt32(),
      one.readInt32(),
      ids(one),
      ids(one),
      ids(one),
    ])
    const bits = decoder.readInt32()
    return [topic, fault === 0 ? bits : fault === NOT_AUTHORISED ? 0 : null]
  }
  const response = {
    async decode(data: Buffer) {
      const decoder = new NewDecoder(data)
      decoder.readInt32()
      decoder.readArray((one) => [one.readInt32(), one.readString(), one.readInt32(), one.readString()])
      decoder.readString()
      decoder.readInt32()
      return new Map(decoder.readArray(topicOf))
    },
    parse: async (told: unknown) => told,
  }
  return { request, response }
}
