import type { TraceEvent, TraceSpan, TraceValue } from '../../ports/traces.ts'

// OTLP's JSON, as its specification has it: ids in hexadecimal, 64-bit integers as text, enumerations as numbers.

/** Of `SpanKind` and `StatusCode`. */
const KINDS = { internal: 1, client: 3 } as const
const FAILED = 2
/** Of `SeverityNumber`: information. */
const INFO = 9
/** Bit 0: sampled; whoever collects decides what is kept. */
const SAMPLED = 1

/** Who tells. */
export interface Resource {
  readonly gavel: string
  readonly version: string
}

/** An `ExportTraceServiceRequest`. */
export function tracesJson(resource: Resource, spans: readonly TraceSpan[]): string {
  const scopeSpans = [{ scope: scopeOf(resource), spans: spans.map(spanJson) }]
  return JSON.stringify({ resourceSpans: [{ resource: resourceJson(resource), scopeSpans }] })
}

/** An `ExportLogsServiceRequest`. */
export function logsJson(resource: Resource, events: readonly TraceEvent[]): string {
  const scopeLogs = [{ scope: scopeOf(resource), logRecords: events.map(eventJson) }]
  return JSON.stringify({ resourceLogs: [{ resource: resourceJson(resource), scopeLogs }] })
}

function spanJson({ traceId, spanId, parentId, name, kind, startMs, endMs, attributes, links, failed }: TraceSpan) {
  return {
    ...{ traceId, spanId, ...(parentId === undefined ? {} : { parentSpanId: parentId }) },
    ...{ name, kind: KINDS[kind], flags: SAMPLED },
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(Math.max(startMs, endMs)),
    attributes: attributesJson(attributes),
    ...(links === undefined ? {} : { links }),
    ...(failed === undefined ? {} : { status: { code: FAILED, message: failed } }),
  }
}

function eventJson({ name, atMs, traceId, spanId, attributes }: TraceEvent) {
  return {
    ...{ timeUnixNano: nanoseconds(atMs), observedTimeUnixNano: nanoseconds(atMs) },
    ...{ severityNumber: INFO, eventName: name, attributes: attributesJson(attributes) },
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
