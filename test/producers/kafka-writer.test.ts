import { createRequire } from 'node:module'
import type { Kafka, ProducerBatch, ProducerConfig } from 'kafkajs'
import { expect, test } from 'vitest'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import { BrokerRefused } from '../../src/contracts/facts/broker-refusal.ts'
import { RefusedRecord } from '../../src/contracts/ports/topic.ts'

const RECORDS = ['one', 'two'].map((key) => ({ topic: 'verdicts', key, value: `of ${key}` }))

/** A Kafka whose producer fails in these ways first, and whose topics have one copy and want so many in sync. */
function kafkaOf(failures: Error[], wanted?: number) {
  const sent: ProducerBatch[] = []
  const configs: (ProducerConfig | undefined)[] = []
  const producer = (config?: ProducerConfig) => {
    configs.push(config)
    return {
      connect: async () => {},
      disconnect: async () => {},
      async sendBatch(batch: ProducerBatch) {
        sent.push(batch)
        const failure = failures.shift()
        if (failure !== undefined) throw failure
        return []
      },
    }
  }
  const admin = () => ({
    connect: async () => {},
    disconnect: async () => {},
    fetchTopicMetadata: async ({ topics }: { topics: string[] }) => ({
      topics: topics.map((name) => ({ name, partitions: [{ replicas: [1] }] })),
    }),
    async describeConfigs({ resources }: { resources: { name: string }[] }) {
      if (wanted === undefined) throw new Error('not authorised')
      const configEntries = [{ configName: 'min.insync.replicas', configValue: String(wanted) }]
      return { resources: resources.map(({ name }) => ({ resourceName: name, configEntries })) }
    },
  })
  return { kafka: { producer, admin } as unknown as Kafka, sent, configs } // The writer uses nothing else of a client.
}
/** What kafkajs throws of this error of the broker. */
const ofBroker = (type: string) => named('KafkaJSNonRetriableError', Object.assign(new Error(type), { type }))

const named = (name: string, cause?: Error) => Object.assign(new Error(name, { cause }), { name })

test('what may pass is sent again whole, by the writer: kafkajs’ own tries leave out what has moved to a broker that answered', async () => {
  const { kafka, sent, configs } = kafkaOf([named('KafkaJSNumberOfRetriesExceeded')])
  const writer = await kafkaWriter(kafka, 'none')
  await writer.send(RECORDS)
  expect(configs.map((config) => config?.retry?.retries)).toEqual([0])
  expect(sent).toHaveLength(2)
  expect(sent[1]).toEqual(sent[0])
  expect(sent[0]?.topicMessages?.[0]?.messages.map(({ key }) => key)).toEqual(['one', 'two'])
})

test('what can’t pass is not sent again', async () => {
  const { kafka, sent } = kafkaOf([named('KafkaJSNonRetriableError')])
  const writer = await kafkaWriter(kafka, 'none')
  await expect(writer.send(RECORDS)).rejects.toThrow('KafkaJSNonRetriableError')
  expect(sent).toHaveLength(1)
})

test('a small record that is refused for its size is not at fault: its topic takes none', async () => {
  const { kafka } = kafkaOf([
    ofBroker('MESSAGE_TOO_LARGE'),
    ofBroker('MESSAGE_TOO_LARGE'),
    ofBroker('MESSAGE_TOO_LARGE'),
  ])
  const writer = await kafkaWriter(kafka, 'none')
  const small = { topic: 'audit', key: 'ann', value: 'x'.repeat(900) }
  await expect(writer.send([small])).rejects.toMatchObject({ setting: 'size', topics: ['audit'] })
  await expect(writer.send([small, small])).rejects.toBeInstanceOf(RefusedRecord)
  await expect(writer.send([{ ...small, value: 'x'.repeat(2_000) }])).rejects.toBeInstanceOf(RefusedRecord)
})

test.each(['NOT_ENOUGH_REPLICAS', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND'])(
  '%s never passes where more copies are wanted than there are',
  async (type) => {
    const { kafka } = kafkaOf([ofBroker(type)], 2)
    const writer = await kafkaWriter(kafka, 'none')
    await expect(writer.send(RECORDS)).rejects.toMatchObject({
      setting: 'replicas',
      topics: ['verdicts'],
      message: expect.stringContaining('verdicts wants 2 copies in sync (min.insync.replicas), and has 1'),
    })
  },
)

test.each([1, undefined])('and may pass where %s is wanted, or nothing is told of it', async (wanted) => {
  const { kafka } = kafkaOf([ofBroker('NOT_ENOUGH_REPLICAS')], wanted)
  const writer = await kafkaWriter(kafka, 'none')
  const failed = writer.send(RECORDS)
  await expect(failed).rejects.toThrow('KafkaJSNonRetriableError')
  await expect(failed).rejects.not.toBeInstanceOf(BrokerRefused)
})

/** A cluster of two brokers, of which the first goes with the first request, and the second leads everything from then on. */
function movingCluster() {
  const written: string[] = []
  let moved = false
  const broker = (nodeId: number) => ({
    nodeId,
    async produce({
      topicData,
    }: {
      topicData: { partitions: { partition: number; messages: { value: string }[] }[] }[]
    }) {
      if (nodeId === 1) throw Object.assign(new Error('gone'), { name: 'KafkaJSConnectionError', retriable: true })
      for (const { partitions } of topicData)
        for (const { messages } of partitions) written.push(...messages.map(({ value }) => value))
      return { topics: [] }
    },
  })
  const brokers = [broker(1), broker(2)]
  const partitions = [0, 1].map((partitionId) => ({ partitionId, leader: partitionId + 1 }))
  const cluster = {
    addMultipleTargetTopics: async () => {},
    refreshMetadataIfNecessary: async () => {},
    refreshMetadata: async () => {
      moved = true
    },
    isConnected: () => true,
    findTopicPartitionMetadata: () => partitions,
    findLeaderForPartitions: (_: string, wanted: readonly string[]) =>
      Object.groupBy(wanted.map(Number), (partition) => (moved ? 2 : partition + 1)),
    findBroker: async ({ nodeId }: { nodeId: string }) => brokers[Number(nodeId) - 1],
  }
  return { cluster, written }
}

test.each([
  ['kafkajs’ own tries lose what moved', 5, ['of two']],
  ['the whole request again does not', 0, ['of two', 'of one', 'of two']],
] as const)('where a broker dies: %s', async (_, retries, expected) => {
  const require = createRequire(import.meta.url)
  const sendMessages = require('kafkajs/src/producer/sendMessages') as (
    parts: object,
  ) => (batch: object) => Promise<void>
  const createRetry = require('kafkajs/src/retry') as (options: object) => unknown
  const { cluster, written } = movingCluster()
  const idle = async () => {}
  const send = sendMessages({
    cluster,
    logger: { debug() {}, error() {} },
    partitioner: ({ message }: { message: { key: string } }) => (message.key === 'one' ? 0 : 1),
    retrier: createRetry({ retries, initialRetryTime: 1, maxRetryTime: 1 }),
    eosManager: {
      acquireBrokerLock: idle,
      releaseBrokerLock: idle,
      isTransactional: () => false,
      getSequence: () => 0,
      updateSequence() {},
      getProducerId: () => -1,
      getProducerEpoch: () => 0,
    },
  })
  const batch = { acks: -1, topicMessages: [{ topic: 'verdicts', messages: RECORDS }] }
  await send(batch).catch(async (error: Error) => {
    expect(error.name).toBe('KafkaJSNumberOfRetriesExceeded')
    await send(batch)
  })
  expect(written).toEqual(expected)
})
