import type { Settings } from '../../../config/schema.ts'
import type { Topics } from '../../../config/topics.ts'
import { decisionsProducer } from '../../../producers/decisions.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import type { KafkaClient } from '../adapters/kafka/client.ts'
import { recordAt } from '../adapters/record-store.ts'
import { closable } from '../operations/closable.ts'
import { askingPart } from './asking.ts'
import { doorPart } from './door.ts'
import type { RedisPart } from './redis.ts'
import { scoringPart } from './scoring.ts'

/** How long the door waits for what comes of a decision, in ms. */
const DECISION_WAIT_MS = 15_000

/** The door of a service, on its Kafka and Redis, and the record of its machine. */
export function servedDoor(
  settings: Settings,
  parts: Omit<Parameters<typeof askingPart>[1], 'answers'> &
    Pick<Parameters<typeof doorPart>[1], 'signals'> & {
      redis: Pick<RedisPart, 'answers' | 'decisions'>
      kafka: KafkaClient
      topics: Topics
      gateway: Parameters<typeof scoringPart>[1]['gateway']
      secret: string
    },
) {
  const { redis, kafka, topics, signals, gateway, secret, ...judging } = parts
  const { threads, cases, loops, clock, report } = judging
  return closable(async (keep) => {
    const writer = keep(await kafkaWriter(kafka, settings.kafka.compression))
    const { told } = redis.decisions
    return keep(
      await doorPart(settings, {
        ...{ writer, topics, signals, loops, clock, report },
        asking: askingPart(settings, { ...judging, answers: redis.answers }),
        answers: redis.answers,
        scoring: scoringPart(settings, { gateway, secret, clock }),
        subjects: { threads, cases, decisions: redis.decisions, record: keep(recordAt(settings)).now },
        deciding: decisionsProducer({ writer, topic: topics.decisions, told, waitMs: DECISION_WAIT_MS }),
      }),
    )
  })
}
