import { createRequire } from 'node:module'

/** The parts used here of kafkajs 2.2.4's fetched partition. */
interface FetchedPartition {
  abortedTransactions: readonly { readonly producerId: string; readonly firstOffset: string }[] | null
  readonly messages: readonly FetchedRecord[]
}
interface FetchedRecord {
  readonly offset: string
  readonly key: Buffer | null
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean }
  isControlRecord?: boolean
}
interface Response {
  decode(
    bytes: unknown,
  ): Promise<{ readonly responses: readonly { readonly partitions: readonly FetchedPartition[] }[] }>
}

/** Response versions that list aborted transactions. */
const VERSIONS = [4, 5, 6, 7, 8, 9, 10, 11]
/** Key of the marker that ends an aborted transaction: version 0, type 0. */
const ABORT = Buffer.from([0, 0, 0, 0])
let done = false

/**
 * Hides the records of aborted transactions. kafkajs itself does so incorrectly, since it starts at most one transaction
 * per record: if a fetch begins in the middle of one, and another begins with its first record, that record is delivered
 * though it was never committed. Here such records are turned into control records, which kafkajs skips. Call it before
 * the first fetch of the process.
 */
export function hideAbortedRecords(): void {
  if (done) return
  done = true
  const require = createRequire(import.meta.url)
  for (const version of VERSIONS) {
    const response = require(`kafkajs/src/protocol/requests/fetch/v${version}/response.js`) as Response
    const { decode } = response
    response.decode = async (bytes) => {
      const fetched = await decode(bytes)
      for (const { partitions } of fetched.responses) for (const partition of partitions) hide(partition)
      return fetched
    }
  }
}

function hide(partition: FetchedPartition): void {
  const { messages, abortedTransactions } = partition
  if (abortedTransactions === null || abortedTransactions.length === 0) return
  const coming = abortedTransactions.toSorted((a, b) => (BigInt(a.firstOffset) < BigInt(b.firstOffset) ? -1 : 1))
  const aborted = new Set<string>()
  for (const record of messages) {
    const { producerId, inTransaction } = record.batchContext
    while (coming[0] !== undefined && BigInt(coming[0].firstOffset) <= BigInt(record.offset))
      aborted.add(coming.shift()?.producerId ?? '')
    if (record.isControlRecord === true) {
      if (record.key !== null && ABORT.equals(record.key)) aborted.delete(producerId)
    } else if (inTransaction && aborted.has(producerId)) record.isControlRecord = true
  }
  partition.abortedTransactions = []
}
