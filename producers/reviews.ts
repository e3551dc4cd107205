import type { Review } from '../src/contracts/facts/decision-messages.ts'
import { subjectKeyOf } from '../src/contracts/facts/messages.ts'
import type { TopicWriter } from '../src/contracts/ports/topic.ts'
import { subjectHeaders } from './publisher/records.ts'

/** Sends requests for review that no case brings about. */
export function reviewProducer({ writer, topic }: { writer: Pick<TopicWriter, 'send'>; topic: string }) {
  return {
    tell: (review: Review) =>
      writer.send([
        { topic, key: subjectKeyOf(review), value: JSON.stringify(review), headers: subjectHeaders(review) },
      ]),
  }
}
