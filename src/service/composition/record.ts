import type { Settings } from '../../../config/schema.ts'
import { recordedTopics } from '../../../config/topics.ts'
import { recordConsumer } from '../../../consumers/record.ts'
import { recordStoreOf, reviewQueueOf } from '../adapters/record-store.ts'
import { labelsForPeople } from '../engine/script.ts'
import { closable } from '../operations/closable.ts'
import type { RecordReader } from '../ports/record.ts'
import { weighed } from '../protocols/weighed.ts'
import type { ProjectContext } from '../record/project.ts'
import type { Parts } from './parts.ts'
import { everyProtocol } from './protocols.ts'

/** How often what is due without a message is done, what the record holds is counted, and what it has to read, in ms. */
const [TIDY_MS, COUNT_MS, UNREAD_MS] = [1_000, 30_000, 5_000]
/** No message of Gavel's own is longer, in bytes. */
const LONGEST_OWN = 16 * 2 ** 20

/** Takes what was judged, said and deleted from the topics into the record. When closed, it has written what it has read. */
export function recordPart(
  settings: Settings,
  { kafka, topics, loops, clock, report }: Pick<Parts, 'kafka' | 'topics' | 'loops' | 'clock' | 'report'>,
) {
  return closable(async (keep) => {
    const store = keep(await recordStoreOf(settings))
    const queue = keep(await reviewQueueOf(settings))
    const consumer = keep(
      recordConsumer({
        ...{ kafka, settings: settings.kafka, store, clock, report },
        groupOf: (name) => recordGroup(settings, name),
        topics: recordedTopics(topics),
        project: projectOf(settings),
      }),
    )
    await consumer.start()
    loops.start('record', TIDY_MS, consumer.tidy)
    loops.start('record size', COUNT_MS, consumer.count)
    loops.start('record lag', UNREAD_MS, async () => {
      report('review:counted', { state: await queue.state(), now: clock() })
      await consumer.countUnread()
    })
    return { problem: consumer.problem, store: store as RecordReader }
  })
}

/** The Kafka group of the processes that write the record of this name. */
export function recordGroup({ kafka }: Settings, name: string): string {
  return `${kafka.group}-record-${name}`
}

/** How the record reads messages, also of protocols that are switched off now. */
export function projectOf(settings: Settings): ProjectContext {
  const { record, intake } = settings
  const protocols = everyProtocol(settings)
  return {
    ofReplies: new Set(protocols.filter(({ subject }) => subject === 'reply').map(({ name }) => name)),
    labels: new Map(protocols.map((one) => [one.name, new Set(labelsForPeople(one))])),
    weigh: weighed,
    indexChars: record.indexChars,
    maxBytes: Math.max(intake.maxMessageBytes, LONGEST_OWN),
  }
}
