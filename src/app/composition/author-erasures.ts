import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Settings } from '../../../config/schema.ts'
import { inputsOf, recordedTopics, topicsByMessage } from '../../../config/topics.ts'
import { authorEraser } from '../../../consumers/author-eraser.ts'
import { partitionEnds } from '../../../consumers/partition-ends.ts'
import { recordAuthors } from '../../../consumers/record-authors.ts'
import { auditProducer } from '../../../producers/audit.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import { closable } from '../../operations/closable.ts'
import { groupAdmin } from '../../stream/group-admin.ts'
import type { ServiceParts } from './parts.ts'

/** How often it is looked for erasures of authors, how soon again while one is under way, and how long one run lasts, in ms. */
const [LOOK_MS, AGAIN_MS, RUN_MS] = [1_000, 50, 2_000]
/** One that has not moved for so long, in ms, is looked at no sooner than any other. */
const MOVED_MS = 10_000
/** How often it is looked at which subjects of authors are left, in ms. */
const TIDY_MS = 10_000
/** Another process goes on with the erasures when the one that did has been silent for so long, in ms. */
const LEASE_MS = 5_000

type Parts = Pick<ServiceParts, 'redis' | 'kafka' | 'topics' | 'watch' | 'loops' | 'clock' | 'report'> & {
  streamNow: () => Promise<number>
}

/** Erases authors: beside intake, which obeys what it sends. */
export function authorErasurePart(
  settings: Settings,
  { redis, kafka, topics, watch, streamNow, loops, clock, report }: Parts,
) {
  return closable(async (keep) => {
    const writer = keep(await kafkaWriter(kafka, settings.kafka.compression))
    const admin = keep(groupAdmin(kafka))
    const byMessage = topicsByMessage(topics)
    const name = randomUUID()
    const eraser = authorEraser({
      index: redis.authors,
      erasures: redis.authorErasures,
      lead: () => redis.erasures.lead('authors', name, LEASE_MS),
      writer,
      topicOf: (type) => byMessage[type],
      progress: () => admin.ask((asked) => partitionEnds(asked, settings.kafka.group, inputsOf(topics))),
      waiting: redis.erasures.waiting,
      streamNow,
      audit: auditProducer({ writer, topic: topics.audit }),
      keepMs: settings.threads.keepTombstone,
      clock,
      report,
    })
    let moved = Number.NEGATIVE_INFINITY
    loops.start('erasure of authors', LOOK_MS, async () => {
      for (const until = performance.now() + RUN_MS; watch.problem === null && performance.now() < until; ) {
        if (await eraser.step()) moved = performance.now()
        else if (performance.now() - moved > MOVED_MS) return
        else await sleep(AGAIN_MS)
      }
    })
    loops.start('erasure notes', TIDY_MS, eraser.tidy)
    return {}
  })
}

/** What the record does for erasures of authors. */
export function startRecordErasing(
  settings: Settings,
  of: Pick<Parameters<typeof recordAuthors>[0], 'store' | 'bounds'> & Pick<ServiceParts, 'redis' | 'topics' | 'loops'>,
): void {
  const { store, bounds, redis, topics, loops } = of
  const { authors: index, authorErasures: erasures } = redis
  const recorded = { topics: recordedTopics(topics), keepMs: settings.record.keep }
  const record = recordAuthors({ store, bounds, index, erasures, ...recorded })
  loops.start('erasure from record', LOOK_MS, record.step)
}
