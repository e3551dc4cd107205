import type { Settings } from '../../../config/schema.ts'
import { topicsOf } from '../../../config/topics.ts'
import { auditProducer } from '../../../producers/audit.ts'
import { decisionsProducer } from '../../../producers/decision-producer.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import type { Terminal } from '../../cli/terminal.ts'
import type { ServiceStatus } from '../../console/health.ts'
import type { Audit } from '../../contracts/ports/audit.ts'
import type { DecisionDesk } from '../../contracts/ports/decisions.ts'
import type { Report } from '../../contracts/ports/report.ts'
import { type ClosableRegistrar, closable } from '../../operations/closable.ts'
import { namedLoops } from '../../operations/loop.ts'
import { makeTopics } from '../../operations/make-topics.ts'
import type { Places } from '../../operations/status/state.ts'
import { recordReaderOf, reviewQueueOf } from '../../record/record-store.ts'
import { redisAddresses } from '../../store/redis/connect.ts'
import { consolePart, type Link } from '../composition/console.ts'
import { commandRedis } from '../composition/redis.ts'
import { statusPart } from '../composition/status.ts'
import { readingClient } from './reading-client.ts'

/** How long a decision's sender waits for what comes of it, in ms. */
const WAIT_MS = 15_000

/**
 * The console over the record of this machine, and over the service that Redis and Kafka lead to. Without them it shows what was
 * judged, and nobody decides on it.
 */
export function localConsole(
  settings: Settings,
  of: {
    link: Link | null
    places: Places
    terminal: Terminal
    report: Report
    /** Models' answers are the understudy's. */
    isUnderstudy?: boolean
    /** The settings as they are now, where limits and budgets can change. */
    now?: () => Settings
  },
) {
  const { link, places, terminal, report, isUnderstudy = false, now } = of
  return closable(async (keep) => {
    const record = keep(await recordReaderOf(settings))
    const queue = keep(await reviewQueueOf(settings))
    const isAlone = settings.kafka.brokers.length === 0 || redisAddresses(settings.redis).length === 0
    const readStatus = isAlone
      ? notConnected
      : keep(await statusPart(settings, () => readingClient(settings, terminal), places, now)).readStatus
    const decide = isAlone ? null : decidingOf(settings, terminal, keep)
    const loops = keep(namedLoops(report))
    const audit = isAlone ? null : await auditOf(settings, terminal, keep)
    return keep(
      await consolePart(settings, {
        record,
        queue,
        readStatus,
        decide,
        audit,
        link,
        isUnderstudy,
        loops,
        report,
        clock: Date.now,
      }),
    )
  })
}

async function notConnected(): Promise<ServiceStatus> {
  const unknown = { lag: null, firing: null, stages: null, openCases: null, due: null, outbox: null, paused: null }
  return { at: Date.now(), away: [], replicas: [], isConnected: false, ...unknown }
}

async function auditOf(settings: Settings, terminal: Terminal, keep: ClosableRegistrar): Promise<Audit> {
  const kafka = await readingClient(settings, terminal)
  await makeTopics(kafka, settings)
  const writer = keep(await kafkaWriter(kafka, settings.kafka.compression))
  return auditProducer({ writer, topic: topicsOf(settings).audit })
}

/** Connects when somebody first decides: until then nothing of the service needs to be there. */
function decidingOf(settings: Settings, terminal: Terminal, keep: ClosableRegistrar): DecisionDesk {
  let opened: Promise<DecisionDesk> | null = null
  const open = async () => {
    const kafka = await readingClient(settings, terminal)
    await makeTopics(kafka, settings)
    const redis = keep(await commandRedis(settings))
    const writer = keep(await kafkaWriter(kafka, settings.kafka.compression))
    const { told } = redis.decisions
    return decisionsProducer({ writer, topic: topicsOf(settings).decisions, told, waitMs: WAIT_MS })
  }
  return {
    async decide(message, signal) {
      opened ??= open().catch((error: unknown) => {
        opened = null
        throw error
      })
      return (await opened).decide(message, signal)
    },
  }
}
