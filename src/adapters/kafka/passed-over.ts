import type { Consumer } from 'kafkajs'

/** Offsets of a partition that hold no record for a reader, fetched up to and without `next`. */
export interface PassedOver {
  readonly topic: string
  readonly partition: number
  readonly next: string
  /** Nothing stands behind them. */
  readonly atEnd: boolean
}

/**
 * Tells of what a consumer fetches and has no record for its reader: marks of transactions, and what was aborted. kafkajs goes
 * on behind it and never calls `eachBatch`, so that whoever waits for an end that such offsets make up must listen here. Told
 * when every batch of the partition before it has been handled.
 */
export function onPassedOver(consumer: Consumer, tell: (passed: PassedOver) => void): void {
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    const { topic, partition, batchSize, lastOffset, highWatermark } = payload
    if (batchSize > 0) return
    const next = BigInt(lastOffset) + 1n
    tell({ topic, partition, next: String(next), atEnd: next >= BigInt(highWatermark) })
  })
}
