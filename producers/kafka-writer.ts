import kafkajs, { type Kafka } from 'kafkajs'
import type { Compression, Outgoing, TopicWriter } from '../src/ports/topic.ts'

const { CompressionTypes } = kafkajs
const TYPES: Record<Compression, number> = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

/**
 * Most bytes of records in one request. The records of a partition go as one batch, and a broker takes batches of 1 MiB by
 * default: what waited together would else be refused together, again and again.
 */
const REQUEST_BYTES = 900_000

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
      for (const request of requests(records)) {
        const byTopic = Map.groupBy(request, ({ topic }) => topic)
        await producer.sendBatch({
          acks: -1,
          compression: TYPES[compression],
          topicMessages: [...byTopic].map(([topic, own]) => ({
            topic,
            messages: own.map(({ key, value }) => ({ key, value })),
          })),
        })
      }
    },
    close: () => producer.disconnect(),
  }
}

/** The records in their order, in portions that a broker takes; one that is larger by itself goes alone. */
function* requests(records: readonly Outgoing[]): Generator<Outgoing[]> {
  let portion: Outgoing[] = []
  let bytes = 0
  for (const record of records) {
    const size = Buffer.byteLength(record.value) + Buffer.byteLength(record.key) + 100
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
