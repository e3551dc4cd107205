import type { Settings } from '../../../config/schema.ts'
import type { Topics } from '../../../config/topics.ts'
import { decisionsConsumer } from '../../../consumers/decisions.ts'
import { besideIntake, groupReader } from '../../../consumers/group-reader.ts'
import type { StoreWatch } from '../../../consumers/store-watch.ts'
import type { KafkaClient } from '../adapters/kafka/client.ts'
import { decider } from '../engine/decide.ts'
import type { Router } from '../engine/routes.ts'
import type { Protocol } from '../engine/script.ts'
import { closable } from '../operations/closable.ts'
import type { Clock } from '../ports/clock.ts'
import type { Report } from '../ports/report.ts'
import type { RedisPart } from './redis.ts'

/** The consumer group of decisions, beside that of the intake: one's offsets say nothing of the other's. */
function decisionsGroup({ kafka }: Pick<Settings, 'kafka'>): string {
  return `${kafka.group}-decisions`
}

/** Reads what people decide, and carries it out. */
export function decisionsPart(
  settings: Settings,
  parts: {
    readonly redis: Pick<RedisPart, 'decisions' | 'threads' | 'outbox'>
    readonly kafka: KafkaClient
    readonly topics: Pick<Topics, 'decisions'>
    readonly protocols: readonly Protocol[]
    readonly routes: Router
    readonly watch: StoreWatch
    readonly clock: Clock
    readonly report: Report
  },
) {
  const { redis, kafka, topics, protocols, routes, watch, clock, report } = parts
  return closable(async (keep) => {
    const reading = { ...settings.kafka, group: decisionsGroup(settings), topics: [topics.decisions] }
    const { decisions, threads, outbox } = redis
    const consumer = decisionsConsumer({
      ...{ decisions, outbox, limits: settings.intake, clock, report, store: watch },
      decide: decider({ decisions, threads, protocols, routes, clock, report }),
      reader: groupReader({ kafka, settings: reading, clock, report: besideIntake(report, 'decisions') }),
    })
    await consumer.start()
    keep(consumer)
    return {}
  })
}
