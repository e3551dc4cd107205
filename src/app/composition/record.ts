import type { Settings } from '../../../config/schema.ts'
import { groupsOf, recordedTopics } from '../../../config/topics.ts'
import { recordConsumer } from '../../../consumers/record.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import { reviewProducer } from '../../../producers/reviews.ts'
import { reversalDeliveriesOf } from '../../../producers/webhooks/matching.ts'
import { agreementOfGroups } from '../../contracts/facts/agreement.ts'
import type { RecordReader } from '../../contracts/ports/record.ts'
import type { Webhooks } from '../../contracts/ports/webhooks.ts'
import { labelsForPeople, ofReplies, type Protocol } from '../../judging/engine/script.ts'
import { closable } from '../../operations/closable.ts'
import { contestedness } from '../../protocols/contestedness.ts'
import { sameWordsKey } from '../../protocols/same-words.ts'
import { askReversals } from '../../record/ask-reversals.ts'
import { LONGEST_OWN_BYTES, type ProjectContext } from '../../record/project.ts'
import { recordStoreOf, reviewQueueOf } from '../../record/record-store.ts'
import { startRecordErasing } from './author-erasures.ts'
import { laneAudits, lanesOf } from './lanes.ts'
import type { ServiceParts } from './parts.ts'
import { everyProtocol } from './protocols.ts'
import { sendStatements } from './send-statements.ts'
import { reasonsIn } from './statement-texts.ts'

/** How often what is due without a message is done, what the record holds is counted, and what it has to read, in ms. */
const [TIDY_MS, COUNT_MS, UNREAD_MS] = [1_000, 30_000, 5_000]
/** Outcomes of appeals that are told at a time. */
const MOST_TOLD = 100
/** At most this share of the time goes into counting agreement, and as much into lanes' audits, however much there is to count. */
const MOST_SHARE = 0.05
/** How far back people's words are compared with verdicts, in ms: as the console's page does where nothing is asked for. */
const AGREEMENT_MS = 14 * 86_400_000

/** Takes what was judged, said and deleted from the topics into the record. When closed, it has written what it has read. */
export function recordPart(
  settings: Settings,
  {
    redis,
    kafka,
    topics,
    loops,
    clock,
    report,
    deliveries,
    protocols,
  }: Pick<ServiceParts, 'redis' | 'kafka' | 'topics' | 'loops' | 'clock' | 'report'> & {
    /** Takes what receivers are to hear. */
    readonly deliveries: Pick<Webhooks, 'put'>
    /** The protocols in force, which a reload changes in place. */
    readonly protocols: readonly Pick<Protocol, 'name' | 'lanes'>[]
  },
) {
  return closable(async (keep) => {
    const store = keep(await recordStoreOf(settings))
    const queue = keep(await reviewQueueOf(settings))
    const consumer = keep(
      recordConsumer({
        kafka,
        settings: settings.kafka,
        store,
        clock,
        report,
        groupOf: groupsOf(settings).record,
        topics: recordedTopics(topics),
        project: projectOf(settings),
      }),
    )
    await consumer.start()
    loops.start('record', TIDY_MS, consumer.tidy)
    startRecordErasing(settings, { store, bounds: consumer.bounds, redis, topics, loops })
    const reviews = reviewProducer({
      writer: keep(await kafkaWriter(kafka, settings.kafka.compression)),
      topic: topics.reviews,
    })
    loops.start('record reversals', TIDY_MS, () =>
      askReversals(store, async (review) => {
        await reviews.tell(review)
        await deliveries.put(reversalDeliveriesOf(settings.webhooks.to, review))
        report('review:published', { protocol: review.protocol, why: review.why })
      }),
    )
    const statements = {
      hooks: settings.webhooks.to,
      webhooks: deliveries,
      read: reasonsIn(settings),
      clock,
      readUntil: consumer.readUntil,
      report,
    }
    loops.start('record statements', TIDY_MS, () => sendStatements(store, statements))
    loops.start('record size', COUNT_MS, consumer.count)
    const counted = async () => {
      const groups = await queue.comparedGroups({ since: clock() - AGREEMENT_MS })
      report('agreement:counted', { figures: agreementOfGroups(groups).figures })
    }
    loops.start('record agreement', COUNT_MS, sparingly(clock, counted))
    const audits = laneAudits({ lanes: () => lanesOf(protocols), queue, store, threads: redis.threads, clock, report })
    loops.start('record lanes', COUNT_MS, sparingly(clock, audits))
    loops.start('record appeals', TIDY_MS, async () => {
      const untold = await store.untoldAppeals(clock(), MOST_TOLD, consumer.readUntil())
      if (untold.length === 0) return
      await redis.outbox.putAppealOutcomes(untold.map(({ outcome }) => outcome))
      report('appeals:ended', { outcomes: untold.flatMap(({ outcome, isNew }) => (isNew ? [outcome] : [])) })
    })
    loops.start('record lag', UNREAD_MS, async () => {
      report('review:counted', { state: await queue.state(), now: clock() })
      const differing = await queue.list({ reason: 'story-differs', order: 'oldest' }, 1, clock())
      const [oldest] = differing.items
      report('stories:counted', { waiting: differing.waiting, since: oldest?.since ?? null, now: clock() })
      report('appeals:counted', { appeals: await store.openAppeals(clock() - settings.appeals.due), now: clock() })
      await consumer.countUnread()
    })
    return { problem: consumer.problem, store: store as RecordReader }
  })
}

/** The work, left out where it would take more than its share of the time. */
function sparingly(clock: ServiceParts['clock'], work: () => Promise<void>): () => Promise<void> {
  let nextAt = 0
  return async () => {
    const begun = clock()
    if (begun < nextAt) return
    await work()
    nextAt = begun + (clock() - begun) / MOST_SHARE
  }
}

/** How the record reads messages, also of protocols that are switched off now. */
export function projectOf(settings: Settings): ProjectContext {
  const { record, intake } = settings
  const protocols = everyProtocol(settings)
  return {
    ofReplies: ofReplies(protocols),
    labels: new Map(protocols.map((one) => [one.name, new Set(labelsForPeople(one))])),
    weigh: contestedness,
    sameKey: sameWordsKey,
    indexChars: record.indexChars,
    maxBytes: Math.max(intake.maxMessageBytes, LONGEST_OWN_BYTES),
  }
}
