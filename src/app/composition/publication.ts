import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Settings } from '../../../config/schema.ts'
import { groupsOf } from '../../../config/topics.ts'
import { besideIntake, groupReader } from '../../../consumers/group-reader.ts'
import { tryTopics } from '../../../producers/broker-trial.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import { publisher } from '../../../producers/publisher/publisher.ts'
import type { TraceparentOf } from '../../../producers/publisher/records.ts'
import type { SendingContext } from '../../../producers/publisher/send-entries.ts'
import { deliveryWorker } from '../../../producers/webhooks/delivery-worker.ts'
import { appealDeliveriesOf, deliveriesOf } from '../../../producers/webhooks/matching.ts'
import { traceparentOf } from '../../contracts/facts/trace.ts'
import type { Webhooks } from '../../contracts/ports/webhooks.ts'
import { newestVerdict } from '../../judging/engine/routes.ts'
import { ofReplies, type Protocol } from '../../judging/engine/script.ts'
import { type Closable, closable } from '../../operations/closable.ts'
import { otlpSink } from '../../operations/tracing/otlp.ts'
import { tracing } from '../../operations/tracing/reading.ts'
import { version } from '../../platform/package-folder.js'
import { fencedOutbox } from '../../store/outbox/redis-fenced.ts'
import { redisSinkNotes } from '../../store/sink/redis.ts'
import { beginAtEnds } from '../../stream/offsets.ts'
import { webhookSender } from '../../stream/webhook-sender.ts'
import { trialOf } from './gate.ts'
import type { ServiceParts } from './parts.ts'
import { sinksOf } from './sources.ts'

/**
 * Sends verdicts from the outbox to Kafka, and their traces to a collector if there is one. When closed, it has sent what
 * Kafka accepts, and leaves the rest to other publishers.
 */
export function publicationPart(
  settings: Settings,
  parts: Pick<ServiceParts, 'redis' | 'protocols' | 'kafka' | 'topics' | 'gate' | 'loops' | 'clock' | 'report'> & {
    readonly deliveries: Pick<Webhooks, 'put'>
  },
) {
  const { redis, protocols, kafka, topics, gate, deliveries, loops, clock, report } = parts
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
    const hooking = hookingOf(settings, deliveries, protocols)
    const traceparentOf = traceparents(settings)
    const tryTopic = async (topic: string) => (await tryTopics(kafka, [topic], trialOf(settings, topic))).refusal
    const mapping = await sinksOf(settings, kafka)
    const notes = redisSinkNotes(redis.working, redis.keys, settings.kafka.retention)
    const sinks = mapping === undefined ? undefined : { mapping, notes }
    const where = { gate, tryTopic, topics, name, traceparentOf, sinks }
    const sending = { outbox, writer, answers, ...hooking, ...where, clock, report }
    keep(publisher(sending)).start()
    return {}
  })
}

/** What records of a verdict say of its trace; undefined where none are sent. */
function traceparents({ traces, name }: Pick<Settings, 'traces' | 'name'>): TraceparentOf | undefined {
  return traces.endpoint === '' ? undefined : (id) => traceparentOf(name, id)
}

/**
 * Sends traces of what is published, and of labels that people give, to the settings' collector. What was published before a
 * deployment sent traces for the first time has none. When closed, it has committed what the collector has accepted.
 */
function tracesPart(
  settings: Settings,
  deps: Pick<ServiceParts, 'kafka' | 'topics' | 'threads' | 'protocols' | 'clock' | 'report'>,
) {
  const { kafka, topics, threads, protocols, clock } = deps
  const { name: gavel, traces, intake } = settings
  const report = besideIntake(deps.report)
  return closable(async (keep) => {
    const group = groupsOf(settings).traces
    const read = [topics.transcripts, ...(traces.evaluations ? [topics.feedback] : [])]
    await beginAtEnds(kafka, group, read)
    const reader = groupReader({ kafka, settings: { ...settings.kafka, group, topics: read }, clock, report })
    keep(reader)
    const stopping = new AbortController()
    // Closed before the reader, which waits for what is being sent.
    keep({ close: async () => stopping.abort(new Error('the service is stopping')) })
    const sending = {
      gavel,
      topics,
      limits: intake,
      evaluations: traces.evaluations,
      clock,
      report,
      sink: otlpSink(traces, { gavel, version: version() }),
      verdictOf: newestVerdict(threads, protocols),
      stopping: stopping.signal,
    }
    await reader.start(tracing(sending))
    return {}
  })
}

/** How often to look for what is due, in ms. */
const POLL_MS = 500
/** How often to count what waits and what is parked, in ms. */
const COUNT_MS = 10_000

/** How the publisher has verdicts sent to the receivers that the settings name. */
export function hookingOf(
  { webhooks: { to } }: Settings,
  webhooks: Pick<Webhooks, 'put'>,
  protocols: readonly Protocol[],
): Pick<SendingContext, 'hook' | 'hookAppeals' | 'judgesReplies'> {
  const replies = ofReplies(protocols)
  return {
    async hook(published) {
      await webhooks.put(deliveriesOf(to, published))
    },
    async hookAppeals(ended) {
      await webhooks.put(appealDeliveriesOf(to, ended))
    },
    judgesReplies: (protocol) => replies.has(protocol),
  }
}

/** Sends verdicts to the receivers that the settings name; where they name none, nothing is looked for. */
export function webhooksPart(
  { webhooks: settings }: Settings,
  { webhooks, loops, clock, report }: { webhooks: Webhooks } & Pick<ServiceParts, 'loops' | 'clock' | 'report'>,
): Closable {
  if (Object.keys(settings.to).length === 0) return { close: async () => {} }
  const work = deliveryWorker({ webhooks, hooks: settings.to, settings, clock, report, send: webhookSender(settings) })
  loops.start('webhooks', POLL_MS, work.poll)
  loops.start('webhooks count', COUNT_MS, work.count)
  return work
}
