import type { Settings } from '../../../config/schema.ts'
import { inputsOf } from '../../../config/topics.ts'
import { lagReport, partitionLag } from '../../../consumers/partition-lag.ts'
import type { PartitionLag } from '../../contracts/ports/report.ts'
import type { ClosableRegistrar } from '../../operations/closable.ts'
import { overdueUnread } from '../../operations/overdue.ts'
import type { ServiceParts } from './parts.ts'
import { sourceReading } from './sources.ts'

/** How often Kafka is asked how far the group has come, in ms; and while nothing happens here. */
const LAG_MS = 2_000
const QUIET_LAG_MS = 5_000

/** Looks ever again how far the groups are behind that read messages, and records of sources. */
export function watchLag(
  settings: Settings,
  {
    kafka,
    topics,
    watches,
    loops,
    clock,
    report,
  }: Pick<ServiceParts, 'kafka' | 'topics' | 'loops' | 'clock' | 'report'> & { watches: () => boolean },
  keep: ClosableRegistrar,
): void {
  const { group } = settings.kafka
  const lag = keep(partitionLag({ kafka, group, topics: inputsOf(topics), also: sourceReading(settings), clock }))
  const overdue = (all: readonly PartitionLag[]) =>
    overdueUnread(all, [topics.posts, topics.counterspeech], settings.objectives.latency)
  const lags = lagReport({ lag, watches, overdue, report })
  keep({ close: async () => lags.withdraw() })
  loops.start('kafka lag', LAG_MS, lags.poll, QUIET_LAG_MS)
}
