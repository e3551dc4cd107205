import type { EachBatchPayload } from 'kafkajs'
import { partitionKey } from '../src/stream/record.ts'

/** What is used here of a batch that kafkajs hands over. */
type ReadBatch = Pick<EachBatchPayload, 'batch' | 'pause'>

/** Partitions of a consumer of which nothing more is fetched until work on what was read of them has ended. */
export class HeldPartitions {
  /** The consumer fetches nothing at all. kafkajs would end that where one partition is paused, or resumed, by itself. */
  isPaused = false
  readonly #working = new Map<string, Promise<unknown>>()

  /** Whether this batch is of a held partition: it came as all were resumed, and is fetched again. */
  holds(read: ReadBatch): boolean {
    const working = this.#working.get(partitionKey(read.batch))
    if (working !== undefined) this.#pause(read, working)
    return working !== undefined
  }

  /** Holds the batch's partition until this work has ended. */
  hold(read: ReadBatch, work: Promise<unknown>): void {
    const key = partitionKey(read.batch)
    this.#working.set(key, work)
    const end = () => {
      if (this.#working.get(key) === work) this.#working.delete(key)
    }
    work.then(end, end)
    this.#pause(read, work)
  }

  #pause({ pause }: ReadBatch, work: Promise<unknown>): void {
    if (this.isPaused) return
    const resume = pause()
    const end = () => {
      if (!this.isPaused) resume()
    }
    work.then(end, end)
  }
}
