import kafkajs, { type Kafka } from 'kafkajs'
import { rangesOf, readRanges } from '../../src/stream/bounded-reader.ts'
import { incomingOf } from '../../src/stream/record.ts'

/** A record as it stands on its topic. */
export interface TopicRecord {
  readonly partition: number
  readonly offset: string
  /** When it was sent, ms since 1970, or what its producer said. */
  readonly timestamp: number
  readonly value: string
  readonly headers: Readonly<Record<string, string>>
}

/** A client of the suite's own, on the brokers' own ports. */
export function ownClient(brokers: string): Kafka {
  return new kafkajs.Kafka({
    clientId: 'chaos',
    brokers: brokers.split(','),
    retry: { initialRetryTime: 200, maxRetryTime: 1_000, retries: 40 },
    logLevel: kafkajs.logLevel.NOTHING,
  })
}

/** Everything that stands on these topics, by topic, in the order of each partition. */
export async function readAll(kafka: Kafka, topics: readonly string[]): Promise<ReadonlyMap<string, TopicRecord[]>> {
  const waiting = { signal: new AbortController().signal }
  const read = topics.map(async (topic): Promise<[string, TopicRecord[]]> => {
    const records: TopicRecord[] = []
    await readRanges(kafka, topic, await rangesOf(kafka, topic, null, waiting), waiting, (partition, messages) => {
      for (const message of messages) {
        const { offset, timestamp, value, headers } = incomingOf(topic, partition, message)
        records.push({ partition, offset, timestamp, value: value?.toString('utf8') ?? '', headers })
      }
    })
    return [topic, records]
  })
  return new Map(await Promise.all(read))
}
