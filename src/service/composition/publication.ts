import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Settings } from '../../../config/schema.ts'
import type { Topics } from '../../../config/topics.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import { publisher } from '../../../producers/publisher/publisher.ts'
import { fencedOutbox } from '../adapters/redis/fenced-outbox.ts'
import type { Protocol } from '../engine/script.ts'
import { closable } from '../operations/closable.ts'
import type { Loops } from '../operations/loop.ts'
import type { Clock } from '../ports/clock.ts'
import type { Report } from '../ports/report.ts'
import type { KafkaClient } from './kafka.ts'
import type { RedisPart } from './redis.ts'
import { traceparents, tracesPart } from './traces.ts'
import { hookingOf, webhooksPart } from './webhooks.ts'

/**
 * Sends verdicts from the outbox to Kafka, and their traces to a collector if there is one. When closed, it has sent what Kafka accepts, and leaves the rest to other
 * publishers.
 */
export function publicationPart(
  settings: Settings,
  {
    redis,
    protocols,
    loops,
    kafka,
    topics,
    clock,
    report,
  }: {
    redis: Pick<RedisPart, 'threads' | 'outbox' | 'incarnation' | 'sentinels' | 'answers' | 'webhooks'>
    protocols: readonly Protocol[]
    loops: Loops
    kafka: KafkaClient
    topics: Topics
    clock: Clock
    report: Report
  },
) {
  return closable(async (keep) => {
    // Before anything is published: what comes from now on has a trace.
    if (settings.traces.endpoint !== '')
      keep(await tracesPart(settings, { kafka, topics, threads: redis.threads, protocols, clock, report }))
    const writer = keep(await kafkaWriter(kafka, settings.kafka.compression))
    const name = `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`
    const { sentinels, answers, webhooks } = redis
    const isCutOff = () => sentinels.silentMs() > settings.redis.sentinelSilence
    const outbox = fencedOutbox(redis.outbox, redis.incarnation, isCutOff)
    keep(webhooksPart(settings, { webhooks, loops, clock, report }))
    const hooking = hookingOf(settings, webhooks, protocols)
    const traceparentOf = traceparents(settings)
    keep(publisher({ outbox, writer, answers, ...hooking, topics, name, traceparentOf, clock, report })).start()
    return {}
  })
}
