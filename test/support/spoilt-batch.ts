import { type FileHandle, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import kafkajs, { type Kafka, type Message } from 'kafkajs'

const { CompressionCodecs, CompressionTypes } = kafkajs

/**
 * Sends a batch, and spoils it in the broker's files before anybody can read it, as a broken disk does: Apache Kafka itself
 * refuses a batch that it can't decompress. `data` is the broker's folder.
 */
export async function sendSpoiltBatch(kafka: Kafka, topic: string, messages: readonly Message[], data: string) {
  const producer = kafka.producer({ transactionalId: `spoilt-${topic}`, idempotent: true, maxInFlightRequests: 1 })
  const whole = CompressionCodecs[CompressionTypes.GZIP]
  if (whole === undefined) throw new Error('gzip is not registered')
  let packed: Buffer | undefined
  CompressionCodecs[CompressionTypes.GZIP] = () => ({
    ...whole(),
    async compress(encoder: { buffer: Buffer }) {
      packed = await whole().compress(encoder)
      return packed
    },
  })
  await producer.connect()
  try {
    // Until it is committed, readers get nothing of it.
    const transaction = await producer.transaction()
    const partition = 0
    await transaction.send({
      topic,
      compression: CompressionTypes.GZIP,
      messages: messages.map((message) => ({ ...message, partition })),
    })
    if (packed === undefined) throw new Error('nothing was packed')
    await spoil(join(data, `${topic}-${partition}`), packed)
    await transaction.commit()
  } finally {
    CompressionCodecs[CompressionTypes.GZIP] = whole
    await producer.disconnect()
  }
}

/** Overwrites the second half of these bytes, in whichever log file of the folder has them. */
async function spoil(folder: string, bytes: Buffer): Promise<void> {
  for (const name of (await readdir(folder)).filter((each) => each.endsWith('.log'))) {
    const file: FileHandle = await open(join(folder, name), 'r+')
    try {
      const at = (await file.readFile()).indexOf(bytes)
      if (at === -1) continue
      const half = Math.ceil(bytes.length / 2)
      await file.write(Buffer.alloc(bytes.length - half), 0, bytes.length - half, at + half)
      return
    } finally {
      await file.close()
    }
  }
  throw new Error(`no file in ${folder} has the batch`)
}
