import type { Settings } from '../../../config/schema.ts'
import type { Topics } from '../../../config/topics.ts'
import { groupReader } from '../../../consumers/group-reader.ts'
import type { TraceparentOf } from '../../../producers/publisher/records.ts'
import { version } from '../../package-folder.js'
import { endsOf, groupProgress, setOffsets } from '../adapters/kafka/offsets.ts'
import { otlpSink } from '../adapters/otlp/sink.ts'
import { traceparentOf } from '../domain/trace.ts'
import { verdictId } from '../domain/verdict.ts'
import { kindNamed } from '../engine/routes.ts'
import type { Protocol } from '../engine/script.ts'
import { closable } from '../operations/closable.ts'
import type { Clock } from '../ports/clock.ts'
import type { Report } from '../ports/report.ts'
import type { ThreadStore } from '../ports/threads.ts'
import { type TracingDeps, tracing } from '../tracing/reading.ts'
import type { KafkaClient } from './kafka.ts'
import { besideIntake } from './reader-report.ts'

/** The group of the processes that send traces. */
function tracesGroup({ kafka }: Pick<Settings, 'kafka'>): string {
  return `${kafka.group}-traces`
}

/** What records of a verdict say of its trace; undefined where none are sent. */
export function traceparents({ traces, name }: Pick<Settings, 'traces' | 'name'>): TraceparentOf | undefined {
  return traces.endpoint === '' ? undefined : (id) => traceparentOf(name, id)
}

/**
 * Sends traces of what is published, and of labels that people give, to the settings' collector. What was published before a
 * deployment sent traces for the first time has none. When closed, it has committed what the collector has accepted.
 */
export function tracesPart(
  settings: Settings,
  deps: {
    readonly kafka: KafkaClient
    readonly topics: Pick<Topics, 'transcripts' | 'feedback'>
    readonly threads: Pick<ThreadStore, 'read'>
    readonly protocols: readonly Protocol[]
    readonly clock: Clock
    readonly report: Report
  },
) {
  const { kafka, topics, threads, protocols, clock } = deps
  const { name: gavel, traces, intake } = settings
  const report = besideIntake(deps.report)
  return closable(async (keep) => {
    const group = tracesGroup(settings)
    const read = [topics.transcripts, ...(traces.evaluations ? [topics.feedback] : [])]
    await beginAtEnds(kafka, group, read)
    const reader = groupReader({ kafka, settings: { ...settings.kafka, group, topics: read }, clock, report })
    keep(reader)
    const stopping = new AbortController()
    // Closed before the reader, which waits for what is being sent.
    keep({ close: async () => stopping.abort(new Error('the service is stopping')) })
    const sending = {
      ...{ gavel, topics, limits: intake, evaluations: traces.evaluations, clock, report },
      sink: otlpSink(traces, { gavel, version: version() }),
      verdictOf: newestVerdict(threads, protocols),
      stopping: stopping.signal,
    }
    await reader.start(tracing(sending))
    return {}
  })
}

/** A group that has never read begins with what comes now; one that has goes on where it was. */
async function beginAtEnds(kafka: KafkaClient, group: string, topics: readonly string[]): Promise<void> {
  const { committed, alone } = await groupProgress(kafka, group, topics)
  const unread = topics.filter((topic) => (committed.get(topic)?.size ?? 0) === 0)
  if (!alone || unread.length === 0) return
  try {
    await setOffsets(kafka, group, { committed: await endsOf(kafka, unread) })
  } catch (error) {
    // Another process may have begun meanwhile: Kafka takes no offsets then.
    if ((await groupProgress(kafka, group, topics)).alone) throw error
  }
}

/** The newest published verdict of what a label is about; null where none is known. */
function newestVerdict(threads: Pick<ThreadStore, 'read'>, protocols: readonly Protocol[]): TracingDeps['verdictOf'] {
  return async ({ tenant, subjectId, protocol: name }) => {
    const protocol = protocols.find((one) => one.name === name)
    if (protocol === undefined) return null
    const kind = protocol.subject === 'reply' ? 'reply' : 'post'
    const known = (await threads.read({ tenant, postId: subjectId, kind }))?.revisions.get(name)
    const revision = known?.published ?? (known?.openId === null ? known.revision : undefined)
    if (revision === undefined) return null
    return verdictId({ protocol: name, tenant, subjectId, revision, ...kindNamed(protocol, kind) })
  }
}
