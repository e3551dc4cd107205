import type { Clock } from '../contracts/ports/clock.ts'
import type { IncomingMessage, TopicReader } from '../contracts/ports/topic.ts'

/** A record to be written to a topic. */
export type KeyedValue = Pick<IncomingMessage, 'key' | 'value'>

/**
 * Topics in memory, with one partition each. They number their records as a broker does: consumers treat a number that
 * does not rise as a record that they have already handled. Their timestamps are by `clock`.
 */
export function memoryTopics(clock: Clock = () => 0): {
  readonly reader: TopicReader
  /** Passes the records on at once; resolves to their offsets when they have been handled. */
  send(topic: string, records: readonly KeyedValue[]): Promise<readonly number[]>
} {
  let handle: Parameters<TopicReader['start']>[0] = async () => {}
  const ends = new Map<string, number>()
  return {
    reader: {
      async start(given) {
        handle = given
      },
      positions: async () => [...ends.keys()].map((topic) => ({ topic, partition: 0, lag: 0 })),
      setPaused() {},
      downSince: null,
      async close() {},
    },
    async send(topic, records) {
      const first = ends.get(topic) ?? 0
      const next = first + records.length
      ends.set(topic, next)
      const messages = records.map(
        ({ key, value }, at): IncomingMessage => ({
          topic,
          partition: 0,
          offset: String(first + at),
          key,
          value,
          headers: {},
          timestamp: clock(),
        }),
      )
      const working: Promise<unknown>[] = []
      const batch = { topic, partition: 0, messages, next: String(next), atEnd: true }
      await handle(
        batch,
        async () => {},
        (work) => void working.push(work()),
      )
      await Promise.all(working)
      return messages.map((_, at) => first + at)
    },
  }
}
