import type { Kafka } from 'kafkajs'
import { groupAdmin } from '../src/adapters/kafka/group-admin.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { PartitionLag } from '../src/ports/report.ts'
import { partitionEnds } from './partition-ends.ts'
import { timeBehind } from './time-behind.ts'

/**
 * How far a group is behind in every partition of these topics, by what it has committed: also in one that no consumer
 * reads, or has ever read.
 */
export function partitionLag(deps: { kafka: Kafka; group: string; topics: readonly string[]; clock: Clock }) {
  const { kafka, group, topics, clock } = deps
  const admin = groupAdmin(kafka)
  const behind = timeBehind(clock)
  return {
    async look(): Promise<PartitionLag[]> {
      const all = await admin.ask((asked) => partitionEnds(asked, group, topics))
      return all.map((one) => {
        const { topic, partition, next, end } = one
        return { topic, partition, messages: end - next, seconds: behind(one) }
      })
    },
    /** Closes the connection; the next look opens another. */
    close: admin.close,
  }
}
