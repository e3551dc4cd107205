import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Settings } from '../../config/schema.ts'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import { publisher } from '../../producers/publisher.ts'
import type { Incarnation } from '../adapters/redis/incarnation.ts'
import type { Outbox, OutboxEntry } from '../ports/cases.ts'
import type { Clock } from '../ports/clock.ts'
import type { Report } from '../ports/report.ts'
import { closable } from './closable.ts'
import type { KafkaClient } from './kafka.ts'
import type { RedisPart } from './redis.ts'
import type { Topics } from './topics.ts'

/**
 * Sends verdicts from the outbox to Kafka. When closed, it has sent what Kafka accepts, and leaves the rest to other
 * publishers.
 */
export function publicationPart(
  settings: Settings,
  {
    redis,
    kafka,
    topics,
    clock,
    report,
  }: {
    redis: Pick<RedisPart, 'outbox' | 'incarnation' | 'sentinels'>
    kafka: KafkaClient
    topics: Topics
    clock: Clock
    report: Report
  },
) {
  return closable(async (keep) => {
    const writer = keep(await kafkaWriter(kafka, settings.kafka.compression))
    const name = `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`
    const { sentinels } = redis
    const isCutOff = () => sentinels.silentMs() > settings.redis.sentinelSilence
    const outbox = fenced(redis.outbox, redis.incarnation, isCutOff)
    keep(publisher({ outbox, writer, clock, report, settings: { name, topics } })).start()
    return {}
  })
}

/**
 * An outbox that hands out entries only after the watermark of the data that have them was raised past them: if Redis then
 * loses the step that put them there, this process notices. Nothing is handed out while Redis has lost data, or has just
 * restarted and may have; nor while this process is cut off from the sentinels, who may have chosen another master.
 */
function fenced(outbox: Outbox, incarnation: Incarnation, isCutOff: () => boolean): Outbox {
  async function isSuspended(): Promise<boolean> {
    if (incarnation.quiet) await incarnation.advance()
    return incarnation.quiet || incarnation.lost !== null || isCutOff()
  }
  const handOut = async (publisher: string, waitMs: number, read: () => Promise<OutboxEntry[]>) => {
    if (await isSuspended()) {
      await sleep(Math.min(waitMs, SUSPENDED_LOOK_MS))
      return []
    }
    const entries = await read()
    if (entries.length === 0) return []
    const ids = entries.map(({ id }) => id)
    let here = await incarnation.advancePast(publisher, ids)
    while (incarnation.quiet) {
      await sleep(SUSPENDED_LOOK_MS)
      here = await incarnation.advancePast(publisher, ids)
    }
    // The others stay assigned to this publisher, and are adopted after the store has been recovered, or the sentinels answer.
    return isCutOff() ? [] : entries.filter(({ id }) => here.has(id))
  }
  return {
    ...outbox,
    next: (publisher, limit, waitMs) => handOut(publisher, waitMs, () => outbox.next(publisher, limit, waitMs)),
    adopt: (publisher, limit, idleMs) => handOut(publisher, 0, () => outbox.adopt(publisher, limit, idleMs)),
  }
}

/** Wait between two checks whether Redis may hand out entries again, in ms. */
const SUSPENDED_LOOK_MS = 200
