import { createHash } from 'node:crypto'

/** Lengths of ids in traces, in bytes. */
const [TRACE_BYTES, SPAN_BYTES] = [16, 8]

/**
 * The id of a case's trace, by the deployment's name and the id of its verdict: with both one finds the trace, and a case
 * that is reported twice has one.
 */
export function traceIdOf(gavel: string, verdictId: string): string {
  return hashed(TRACE_BYTES, gavel, verdictId)
}

/** The id of a span of a trace, by its place in it: `case`, `round/0`, `ask/0.1`, `call/ID`. */
export function spanIdOf(traceId: string, place: string): string {
  return hashed(SPAN_BYTES, traceId, place)
}

/** The trace context of a case, as W3C Trace Context writes it; sampled, since the collector of traces decides on that. */
export function traceparentOf(gavel: string, verdictId: string): string {
  const traceId = traceIdOf(gavel, verdictId)
  return `00-${traceId}-${spanIdOf(traceId, 'case')}-01`
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The first of the contexts that stand in a header, in which several may be joined by commas; null if it is none. */
export function readTraceparent(header: string): string | null {
  const first = header.slice(0, 200).split(',', 1)[0]?.trim() ?? ''
  return TRACEPARENT.test(first) ? first : null
}

/** The parts of a context that was read by `readTraceparent`. */
export function contextIn(traceparent: string): { readonly traceId: string; readonly spanId: string } {
  const [, traceId = '', spanId = ''] = traceparent.split('-')
  return { traceId, spanId }
}

/** The length before each part keeps two names from running into each other. */
function hashed(bytes: number, ...parts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:${part}`)
  return hash.digest('hex').slice(0, 2 * bytes)
}
