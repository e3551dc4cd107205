import { subjectKeyOf } from '../src/contracts/facts/messages.ts'
import type { CaseworkDesk } from '../src/contracts/ports/casework.ts'
import type { TopicWriter } from '../src/contracts/ports/topic.ts'
import { withTimeout } from '../src/stream/with-timeout.ts'

/** How long somebody waits until it is known that their message is kept, in ms. */
const WAIT_MS = 5_000

/** Writes who is to review what to its topic, in order for each subject. */
export function caseworkProducer({
  writer,
  topic,
}: {
  writer: Pick<TopicWriter, 'send'>
  topic: string
}): CaseworkDesk {
  return {
    async tell(entry) {
      const sent = writer.send([{ topic, key: subjectKeyOf(entry), value: JSON.stringify(entry) }])
      // Where it is not awaited to its end, nobody hears of how it ended.
      sent.catch(() => undefined)
      await withTimeout(WAIT_MS, sent)
    },
  }
}
