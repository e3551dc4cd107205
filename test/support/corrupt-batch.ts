import kafkajs, { type Kafka, type Message } from 'kafkajs'

const { CompressionCodecs, CompressionTypes } = kafkajs

/** Sends a batch that says that it is gzip, and holds these bytes instead. */
export async function sendCorruptBatch(
  kafka: Kafka,
  topic: string,
  messages: readonly Message[],
  bytes: Buffer,
): Promise<void> {
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  const whole = CompressionCodecs[CompressionTypes.GZIP]
  CompressionCodecs[CompressionTypes.GZIP] = () => ({
    compress: async () => bytes,
    decompress: async (data: Buffer) => data,
  })
  try {
    await producer.send({ topic, compression: CompressionTypes.GZIP, messages: [...messages] })
  } finally {
    if (whole !== undefined) CompressionCodecs[CompressionTypes.GZIP] = whole
    await producer.disconnect()
  }
}
