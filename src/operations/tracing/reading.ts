import { setTimeout as sleep } from 'node:timers/promises'
import { jsonOf } from '../../contracts/facts/json-of.ts'
import { type FeedbackMessage, feedbackMessage } from '../../contracts/facts/messages.ts'
import { type ReadLimits, readValue } from '../../contracts/facts/read-value.ts'
import { spanIdOf, traceIdOf } from '../../contracts/facts/trace.ts'
import { transcript as transcriptSchema } from '../../contracts/facts/verdict.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { HandleBatch, Heartbeat, IncomingMessage } from '../../contracts/ports/topic.ts'
import type { ExportOutcome, TraceEvent, TraceSink, TraceSpan } from '../../contracts/ports/traces.ts'
import { postAttribute, spansOf, type TraceableTranscript } from './spans.ts'

/** The name of such an event in the GenAI conventions. */
const RESULT = 'gen_ai.evaluation.result'

/** A collector that is away is tried again after this, in ms: doubles up to `max`. */
const AGAIN_MS = { first: 1_000, max: 30_000 }
/** The reader reports this often to its group that it is at work, in ms: well within its session time-out. */
const BEAT_MS = 1_500
/** Most that a request holds: collectors take 4 MiB, of which a span takes up to a kilobyte. */
const AT_ONCE = 500

export interface TracingDeps {
  readonly sink: TraceSink
  /** The deployment's name. */
  readonly gavel: string
  readonly topics: { readonly transcripts: string }
  /** Whether verdicts are sent as evaluation results beside their spans. */
  readonly evaluations: boolean
  /** The id of the newest verdict of whatever a label is about; null if none is known. */
  readonly verdictOf: (label: FeedbackMessage) => Promise<string | null>
  readonly limits: ReadLimits
  readonly clock: Clock
  readonly report: Report
  /** Aborted when the service stops: what the collector has not accepted by then is read again. */
  readonly stopping: AbortSignal
  /** Resolves after so many ms; rejects when it is aborted. */
  readonly wait?: Wait
}

type Wait = (ms: number, signal: AbortSignal) => Promise<unknown>

const realWait: Wait = (ms, signal) => sleep(ms, null, { signal })

/**
 * Sends the traces of what was published, and people's labels, to a collector. A batch is handled once the collector has accepted all of
 * it; what it refuses for good is counted and left out, case by case, so that one case holds up no other.
 */
export function tracing(deps: TracingDeps): HandleBatch {
  const { topics, report } = deps
  /** By partition when the oldest message was published whose trace waits for the collector, ms since 1970. */
  const waiting = new Map<string, number>()
  let held = false
  const tellWaiting = () =>
    report('traces:waiting', { oldest: waiting.size === 0 ? null : Math.min(...waiting.values()) })
  const reportSent = (sent: ExportOutcome) => {
    if (held !== (sent.end === 'again')) report('traces:held', { held: !held, why: sent.why })
    held = sent.end === 'again'
  }
  return async (batch, heartbeat) => {
    const partition = `${batch.topic}/${batch.partition}`
    try {
      for (let at = 0; at < batch.messages.length; at += TRACED_AT_ONCE) {
        const some = batch.messages.slice(at, at + TRACED_AT_ONCE)
        waiting.set(partition, some[0]?.timestamp ?? 0)
        tellWaiting()
        const traced =
          batch.topic === topics.transcripts
            ? some.flatMap((message) => tracedCase(deps, message))
            : await labels(deps, some)
        await delivered(deps, traced, heartbeat, reportSent)
        await heartbeat()
      }
    } finally {
      // The next reader of the partitions reports them.
      waiting.delete(partition)
      tellWaiting()
    }
  }
}

/** Transcripts that are parsed and sent together: one may have 900 kB. */
const TRACED_AT_ONCE = 20

/** What is accepted or refused together. */
interface Traced {
  readonly spans: readonly TraceSpan[]
  readonly events: readonly TraceEvent[]
}

function tracedCase({ gavel, evaluations, report }: TracingDeps, { value, timestamp }: IncomingMessage): Traced[] {
  if (value === null) return []
  const read = transcriptSchema.safeParse(jsonOf({ value: value.toString('utf8') }))
  // Older ones don't say what a trace needs; they hold up nothing.
  if (!read.success || read.data.verdict === undefined) return []
  const traceable = read.data as TraceableTranscript
  const spans = spansOf(gavel, traceable, timestamp)
  // Nobody can send what has no time; it holds up nothing either.
  if (!spans.every(({ startMs, endMs }) => Number.isFinite(startMs) && Number.isFinite(endMs))) {
    report('traces:rejected', { count: spans.length, why: 'a time of its transcript is none' })
    return []
  }
  return [{ spans, events: evaluations ? evaluationsOf(gavel, traceable) : [] }]
}

async function labels(
  { gavel, limits, clock, verdictOf }: TracingDeps,
  some: readonly IncomingMessage[],
): Promise<Traced[]> {
  const traced: Traced[] = []
  for (const { value } of some) {
    if (value === null) continue
    const read = readValue(value, feedbackMessage, limits, clock())
    if (!read.ok) continue
    traced.push({ spans: [], events: [labelledEvent(gavel, read.message, await verdictOf(read.message))] })
  }
  return traced
}

/** Sends until all of it was accepted, or refused for good. */
async function delivered(
  deps: TracingDeps,
  traced: readonly Traced[],
  heartbeat: Heartbeat,
  reportSent: (sent: ExportOutcome) => void,
): Promise<void> {
  const { sink, report } = deps
  const requests: ((signal: AbortSignal) => Promise<ExportOutcome>)[] = [
    ...parts(traced.map(({ spans }) => spans)).map((some) => (signal: AbortSignal) => sink.sendSpans(some, signal)),
    ...parts(traced.map(({ events }) => events)).map((some) => (signal: AbortSignal) => sink.sendEvents(some, signal)),
  ]
  for (const request of requests) {
    const sent = await untilAnswered(deps, request, heartbeat, reportSent)
    if (sent.end === 'accepted') {
      if (sent.rejected > 0) report('traces:rejected', { count: sent.rejected, why: sent.why })
      continue
    }
    // Who of them it is that the collector can't take is found by halves.
    if (traced.length > 1) {
      const half = Math.ceil(traced.length / 2)
      await delivered(deps, traced.slice(0, half), heartbeat, reportSent)
      await delivered(deps, traced.slice(half), heartbeat, reportSent)
      return
    }
    report('traces:rejected', {
      count: traced.reduce((sum, { spans, events }) => sum + spans.length + events.length, 0),
      why: sent.why,
    })
    return
  }
  const cases = traced.filter(({ spans }) => spans.length > 0).length
  if (cases > 0) report('traces:accepted', { count: cases })
}

/** What is sent together: whole cases while they have room beside one another. */
function parts<Item>(groups: readonly (readonly Item[])[]): (readonly Item[])[] {
  const found: Item[][] = []
  for (const group of groups) {
    const last = found.at(-1)
    if (last !== undefined && last.length + group.length <= AT_ONCE) last.push(...group)
    else if (group.length > 0) found.push([...group])
  }
  return found
}

/** Tries again for as long as the collector is away; meanwhile the reader reports to its group that it is at work. */
async function untilAnswered(
  { stopping, wait = realWait }: TracingDeps,
  request: (signal: AbortSignal) => Promise<ExportOutcome>,
  heartbeat: Heartbeat,
  reportSent: (sent: ExportOutcome) => void,
): Promise<Exclude<ExportOutcome, { end: 'again' }>> {
  for (let waitMs = AGAIN_MS.first; ; waitMs = Math.min(AGAIN_MS.max, 2 * waitMs)) {
    stopping.throwIfAborted()
    const sent = await beating(request(stopping), heartbeat, wait)
    reportSent(sent)
    if (sent.end !== 'again') return sent
    const leastMs = Math.max(waitMs, Math.min(sent.delayMs, MOST_DELAY_MS))
    // Not all readers at once when it is back.
    await beating(wait(leastMs * (1 + Math.random() / 4), stopping), heartbeat, wait)
  }
}

/** A collector may ask for more; whether it is back is looked at this often, in ms. */
const MOST_DELAY_MS = 60_000

/** Waits for it with heartbeats, and rejects as soon as one of these does. */
async function beating<Result>(work: Promise<Result>, heartbeat: Heartbeat, wait: Wait): Promise<Result> {
  // It may fail while a heartbeat is waited for.
  work.catch(() => {})
  const ended = work.then((result) => ({ result }))
  ended.catch(() => {})
  for (;;) {
    const timer = new AbortController()
    const beat = wait(BEAT_MS, timer.signal).then(() => null)
    beat.catch(() => {})
    try {
      const first = await Promise.race([ended, beat])
      if (first !== null) return first.result
    } finally {
      timer.abort()
    }
    await heartbeat()
  }
}

/** A verdict as evaluation results beside its case: its label, and each of its scores. */
export function evaluationsOf(gavel: string, { verdictId, verdict }: TraceableTranscript): TraceEvent[] {
  const { protocol, label, scores, decidedBy, timing } = verdict
  const traceId = traceIdOf(gavel, verdictId)
  const around = { name: RESULT, atMs: Date.parse(timing.decidedAt), traceId, spanId: spanIdOf(traceId, 'case') }
  const by = decidedBy === 'human' ? `${protocol}.human` : protocol
  const given = { 'gavel.verdict.id': verdictId, 'gavel.decided_by': decidedBy }
  return [
    ...(label === null
      ? []
      : [
          { ...around, attributes: { 'gen_ai.evaluation.name': by, 'gen_ai.evaluation.score.label': label, ...given } },
        ]),
    ...Object.entries(scores).map(([name, score]) => ({
      ...around,
      attributes: { 'gen_ai.evaluation.name': `${by}.${name}`, 'gen_ai.evaluation.score.value': score, ...given },
    })),
  ]
}

/** What a person said a label should have been; beside the case of this verdict, the newest of its subject, if there is one. */
export function labelledEvent(
  gavel: string,
  { protocol, subjectId, subjectKind, postId, tenant, label, createdAt }: FeedbackMessage,
  verdictId: string | null,
): TraceEvent {
  const traceId = verdictId === null ? null : traceIdOf(gavel, verdictId)
  return {
    name: RESULT,
    atMs: createdAt,
    ...(traceId === null ? {} : { traceId, spanId: spanIdOf(traceId, 'case') }),
    attributes: {
      'gen_ai.evaluation.name': `${protocol}.human`,
      'gen_ai.evaluation.score.label': label,
      'gavel.tenant': tenant,
      'gavel.subject.id': subjectId,
      ...postAttribute(subjectKind === 'comment' ? postId : undefined),
      ...(verdictId === null ? {} : { 'gavel.verdict.id': verdictId }),
    },
  }
}
