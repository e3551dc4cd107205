import type { Consumer } from 'kafkajs'

/** A range of a partition that has no records for a reader, fetched up to but not including `next`. */
export interface PassedOver {
  readonly topic: string
  readonly partition: number
  readonly next: string
  /** The partition ends after them. */
  readonly atEnd: boolean
}

/**
 * Reports fetched ranges without records for the reader: transaction markers and aborted records. kafkajs skips them and
 * never calls `eachBatch`, so anyone who waits for a partition's end must listen here. Reported after every earlier
 * batch of the partition has been handled.
 */
export function onPassedOver(consumer: Consumer, tell: (passed: PassedOver) => void): void {
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    const { topic, partition, batchSize, lastOffset, highWatermark } = payload
    if (batchSize > 0) return
    const next = BigInt(lastOffset) + 1n
    tell({ topic, partition, next: String(next), atEnd: next >= BigInt(highWatermark) })
  })
}
