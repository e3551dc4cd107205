import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { jsonOf } from '../../contracts/facts/json-of.ts'
import type { ExportOutcome, TraceEvent, TraceSink, TraceSpan, TraceValue } from '../../contracts/ports/traces.ts'

const zipped = promisify(gzip)

export interface SinkSettings {
  /** Where the collector takes OTLP over HTTP, without `/v1/traces`. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  /** Longest wait for its answer, in ms. */
  readonly timeout: number
}

/** What OTLP has tried again; 408 as well, since a request that was slow is none that is wrong. */
const AGAIN: ReadonlySet<number> = new Set([408, 429, 502, 503, 504])
/** Of an answer so much is read, in characters: it has the number of rejected spans, and the reason. */
const READ_CHARS = 4_096
/** A reason is no longer: a collector may answer with a page. */
const WHY_CHARS = 200

/** Sends to a collector, as JSON by OTLP over HTTP, compressed. It tries nothing again by itself. */
export function otlpSink({ endpoint, headers, timeout }: SinkSettings, resource: Resource): TraceSink {
  const base = endpoint.replace(/\/+$/, '')
  async function send(path: string, json: string, signal: AbortSignal): Promise<ExportOutcome> {
    const limit = AbortSignal.timeout(timeout)
    try {
      const response = await fetch(`${base}${path}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'content-encoding': 'gzip', 'user-agent': 'gavel' },
        body: await zipped(json),
        // A collector elsewhere would be given the same content, and keys.
        redirect: 'manual',
        signal: AbortSignal.any([signal, limit]),
      })
      return sentBy(response, await beginningOf(response))
    } catch (error) {
      signal.throwIfAborted()
      const why = limit.aborted ? `no answer within ${timeout} ms` : 'it could not be reached'
      return { end: 'again', delayMs: 0, why: `${why}${codeOf(error)}` }
    }
  }
  return {
    sendSpans: (spans, signal) => send('/v1/traces', tracesJson(resource, spans), signal),
    sendEvents: (events, signal) => send('/v1/logs', logsJson(resource, events), signal),
  }
}

function sentBy(response: Response, text: string): ExportOutcome {
  const { status, ok, headers } = response
  if (ok) return accepted(text)
  const why = `status ${status}`
  if (AGAIN.has(status)) return { end: 'again', delayMs: retryAfterMs(headers.get('retry-after')), why }
  // The answer of a proxy in place of a collector, or a wrong key, is mended by people: nothing is thrown away for it.
  if (status === 401 || status === 403 || status === 404 || status >= 500 || status < 400)
    return { end: 'again', delayMs: 0, why }
  return { end: 'refused', why }
}

/** `partialSuccess` names what the collector leaves out for good. */
function accepted(text: string): ExportOutcome {
  const read = jsonOf({ value: text }) as { partialSuccess?: Record<string, unknown> } | null | undefined
  const { rejectedSpans = 0, rejectedLogRecords = 0, errorMessage = '' } = read?.partialSuccess ?? {}
  const rejected = Number(rejectedSpans) + Number(rejectedLogRecords)
  return {
    end: 'accepted',
    rejected: Number.isFinite(rejected) ? rejected : 0,
    why: String(errorMessage).slice(0, WHY_CHARS),
  }
}

async function beginningOf({ body }: Response): Promise<string> {
  if (body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    // Leaving the loop ends the response.
    if (text.length > READ_CHARS) break
  }
  return text.slice(0, READ_CHARS)
}

function retryAfterMs(header: string | null): number {
  if (header === null) return 0
  const ms = /^\d{1,6}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : 0
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined
  return typeof code === 'string' ? ` (${code})` : ''
}

// OTLP's JSON, as its specification has it: ids in hexadecimal, 64-bit integers as text, enumerations as numbers.

/** Of `SpanKind` and `StatusCode`. */
const KINDS = { internal: 1, client: 3 } as const
const FAILED = 2
/** Of `SeverityNumber`: information. */
const INFO = 9
/** Bit 0: sampled; the collector decides what is kept. */
const SAMPLED = 1

/** Who tells. */
interface Resource {
  readonly gavel: string
  readonly version: string
}

/** An `ExportTraceServiceRequest`. */
function tracesJson(resource: Resource, spans: readonly TraceSpan[]): string {
  const scopeSpans = [{ scope: scopeOf(resource), spans: spans.map(spanJson) }]
  return JSON.stringify({ resourceSpans: [{ resource: resourceJson(resource), scopeSpans }] })
}

/** An `ExportLogsServiceRequest`. */
function logsJson(resource: Resource, events: readonly TraceEvent[]): string {
  const scopeLogs = [{ scope: scopeOf(resource), logRecords: events.map(eventJson) }]
  return JSON.stringify({ resourceLogs: [{ resource: resourceJson(resource), scopeLogs }] })
}

function spanJson({ traceId, spanId, parentId, name, kind, startMs, endMs, attributes, links, failed }: TraceSpan) {
  return {
    traceId,
    spanId,
    parentSpanId: parentId,
    name,
    kind: KINDS[kind],
    flags: SAMPLED,
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(Math.max(startMs, endMs)),
    attributes: attributesJson(attributes),
    links,
    ...(failed === undefined ? {} : { status: { code: FAILED, message: failed } }),
  }
}

function eventJson({ name, atMs, traceId, spanId, attributes }: TraceEvent) {
  return {
    timeUnixNano: nanoseconds(atMs),
    observedTimeUnixNano: nanoseconds(atMs),
    severityNumber: INFO,
    eventName: name,
    attributes: attributesJson(attributes),
    ...(traceId === undefined ? {} : { traceId, spanId, flags: SAMPLED }),
  }
}

function scopeOf({ version }: Resource) {
  return { name: 'gavel', version }
}

function resourceJson({ gavel, version }: Resource) {
  return {
    attributes: attributesJson({
      'service.name': gavel,
      'service.version': version,
      'telemetry.sdk.language': 'nodejs',
    }),
  }
}

function attributesJson(attributes: Readonly<Record<string, TraceValue>>) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueJson(value) }))
}

function valueJson(value: TraceValue): object {
  if (typeof value === 'string') return { stringValue: value.toWellFormed() }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { arrayValue: { values: value.map(valueJson) } }
}

/** Times have more digits in nanoseconds than a number holds. */
function nanoseconds(ms: number): string {
  const whole = Math.floor(ms)
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6)))
}
