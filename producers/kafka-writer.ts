import kafkajs, { type Kafka } from 'kafkajs'
import type { Compression, TopicWriter } from '../src/ports/topic.ts'

const { CompressionTypes } = kafkajs
const TYPES: Record<Compression, number> = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

/**
 * Writes with acknowledgement by all in-sync replicas. Not idempotent on purpose: kafkajs reuses sequence numbers once it
 * has given up on a batch, and the broker would then drop the next one in silence. A repeat is healed by its id.
 */
export async function kafkaWriter(kafka: Kafka, compression: Compression): Promise<TopicWriter> {
  const producer = kafka.producer({
    idempotent: false,
    allowAutoTopicCreation: false,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    retry: { retries: 5, initialRetryTime: 100, maxRetryTime: 2_000 },
  })
  await producer.connect()
  return {
    async send(records) {
      if (records.length === 0) return
      const byTopic = Map.groupBy(records, ({ topic }) => topic)
      await producer.sendBatch({
        acks: -1,
        compression: TYPES[compression],
        topicMessages: [...byTopic].map(([topic, own]) => ({
          topic,
          messages: own.map(({ key, value }) => ({ key, value })),
        })),
      })
    },
    close: () => producer.disconnect(),
  }
}
