import type { Settings } from '../../../config/schema.ts'
import { topicsOf } from '../../../config/topics.ts'
import { auditProducer } from '../../../producers/audit.ts'
import { caseworkProducer } from '../../../producers/casework.ts'
import { decisionsProducer } from '../../../producers/decision-producer.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import type { Terminal } from '../../cli/terminal.ts'
import type { ServiceStatus } from '../../console/health.ts'
import type { DecisionDesk } from '../../contracts/ports/decisions.ts'
import type { PublicationGate } from '../../contracts/ports/publication.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { PlacingWriter, TopicWriter } from '../../contracts/ports/topic.ts'
import { type ClosableRegistrar, closable } from '../../operations/closable.ts'
import { type Loops, namedLoops } from '../../operations/loop.ts'
import { makeTopics } from '../../operations/make-topics.ts'
import type { Places } from '../../operations/status/state.ts'
import { recordReaderOf, reviewPicturesOf, reviewQueueOf } from '../../record/record-store.ts'
import { redisAddresses } from '../../store/redis/connect.ts'
import { knownSecretOf } from '../../store/redis/shared-key.ts'
import { auditLog } from '../../stream/audit-log.ts'
import { topicHistory } from '../../stream/bounded-reader.ts'
import { consolePart, type Link } from '../composition/console.ts'
import { boundedAsKept } from '../composition/fresh-budget.ts'
import { refusalsPart } from '../composition/gate.ts'
import { appealHearings } from '../composition/hearings.ts'
import { commandRedis, redisGatewayStores } from '../composition/redis.ts'
import { statusPart } from '../composition/status.ts'
import { readingClient } from './reading-client.ts'
import { judgedRamps } from './variant/set-ramp.ts'
import { trialDesk } from './variant/trial-desk.ts'

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
    /** The settings file as it is now, which says what variants judge; by default the same. */
    reread?: () => Settings
    /** Told of what a broker refuses the console until a setting is changed, where that is exported. */
    gate?: PublicationGate
  },
) {
  const { link, places, terminal, report, isUnderstudy = false, now, gate, reread = now } = of
  return closable(async (keep) => {
    const record = keep(await recordReaderOf(settings))
    const queue = keep(await reviewQueueOf(settings))
    const pictures = keep(await reviewPicturesOf(settings))
    const isAlone = settings.kafka.brokers.length === 0 || redisAddresses(settings.redis).length === 0
    const readStatus = isAlone
      ? notConnected
      : keep(await statusPart(settings, () => readingClient(settings, terminal), places, now)).readStatus
    const loops = keep(namedLoops(report))
    const writer = isAlone ? null : await writerOf(settings, { terminal, loops, gate, keep })
    const redis = redisOnDemand(settings, keep)
    const secret = async () => (isAlone ? settings.fences.key : secretIn(settings, redis))
    const live = reread ?? (() => settings)
    const stores = async () => {
      const { client, keys } = await redis()
      return redisGatewayStores(settings, { working: client, keys }, await boundedAsKept(client, keys, live))
    }
    const decide = writer === null ? null : decidingOf(settings, writer, redis)
    const audit = writer === null ? null : auditProducer({ writer, topic: topicsOf(settings).audit })
    const casework = writer === null ? null : caseworkProducer({ writer, topic: topicsOf(settings).casework })
    const historyUntil = isAlone
      ? null
      : async (signal: AbortSignal) => topicHistory(await readingClient(settings, terminal), { signal })
    return keep(
      await consolePart(settings, {
        record,
        queue,
        pictures,
        keptImage: isAlone ? null : async (ref, hash) => (await redis()).threads.keptImage(ref, hash),
        readStatus,
        decide,
        audit,
        auditLog: historyUntil === null ? null : auditLog(topicsOf(settings).audit, historyUntil),
        trials: trialDesk(settings, { reader: record, ramps: () => judgedRamps(live()), historyUntil }),
        casework,
        hearings: appealHearings(live, { record, secret, report, ...(isAlone ? {} : { stores }) }),
        link,
        isUnderstudy,
        reread,
        secret,
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

/** The writer of all that the console sends. */
async function writerOf(
  settings: Settings,
  of: { terminal: Terminal; loops: Loops; gate: PublicationGate | undefined; keep: ClosableRegistrar },
): Promise<TopicWriter & PlacingWriter> {
  const { terminal, loops, gate, keep } = of
  const kafka = await readingClient(settings, terminal)
  await makeTopics(kafka, settings)
  const writer = keep(await kafkaWriter(kafka, settings.kafka.compression))
  return gate === undefined ? writer : refusalsPart(settings, { gate, kafka, loops }, 'console-record').writer(writer)
}

/** The key in the settings, else the one that the service made. */
async function secretIn({ fences }: Settings, redis: () => ReturnType<typeof commandRedis>): Promise<string> {
  if (fences.key !== '') return fences.key
  const { client, keys } = await redis()
  return knownSecretOf(client, keys, '')
}

/** Connects to Redis when somebody first needs it: until then it needs not to be there. */
function redisOnDemand(settings: Settings, keep: ClosableRegistrar): () => ReturnType<typeof commandRedis> {
  let opened: ReturnType<typeof commandRedis> | null = null
  return () => {
    const open = opened ?? commandRedis(settings).then(keep)
    opened = open
    open.catch(() => {
      opened = null
    })
    return open
  }
}

function decidingOf(
  settings: Settings,
  writer: PlacingWriter,
  redis: () => ReturnType<typeof commandRedis>,
): DecisionDesk {
  return {
    async decide(message, signal) {
      const { told } = (await redis()).decisions
      return decisionsProducer({ writer, topic: topicsOf(settings).decisions, told, waitMs: WAIT_MS }).decide(
        message,
        signal,
      )
    },
  }
}
