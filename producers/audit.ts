import type { Audit } from '../src/contracts/ports/audit.ts'
import type { TopicWriter } from '../src/contracts/ports/topic.ts'
import { withTimeout } from '../src/stream/with-timeout.ts'

/** How long somebody waits for what they asked for until it is noted that they did, in ms; most notes that wait at a time. */
const [WAIT_MS, MOST_WAITING] = [5_000, 1_000]

/** Writes who saw and did what to its topic. */
export function auditProducer({ writer, topic }: { writer: Pick<TopicWriter, 'send'>; topic: string }): Audit {
  let waiting = 0
  return {
    async note(entry) {
      if (waiting >= MOST_WAITING) throw new Error('too many notes of who saw what wait for Kafka')
      waiting++
      const sent = writer.send([{ topic, key: entry.by, value: JSON.stringify(entry) }]).finally(() => waiting--)
      // Where it is not awaited to its end, nobody hears of how it ended.
      sent.catch(() => undefined)
      await withTimeout(WAIT_MS, sent)
    },
  }
}
