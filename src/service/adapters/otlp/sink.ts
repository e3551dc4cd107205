import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { jsonOf } from '../../domain/json-of.ts'
import type { Sent, TraceSink } from '../../ports/traces.ts'
import { logsJson, type Resource, tracesJson } from './json.ts'

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
/** Of an answer so much is read, in characters: it says how many spans were rejected, and why. */
const READ_CHARS = 4_096
/** A reason is no longer: a collector may answer with a page. */
const WHY_CHARS = 200

/** Sends to a collector, as JSON by OTLP over HTTP, compressed. It tries nothing again by itself. */
export function otlpSink({ endpoint, headers, timeout }: SinkSettings, resource: Resource): TraceSink {
  const base = endpoint.replace(/\/+$/, '')
  async function send(path: string, json: string, signal: AbortSignal): Promise<Sent> {
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

function sentBy(response: Response, text: string): Sent {
  const { status, ok, headers } = response
  if (ok) return accepted(text)
  const why = `status ${status}`
  if (AGAIN.has(status)) return { end: 'again', delayMs: retryAfterMs(headers.get('retry-after')), why }
  // What a proxy says in place of a collector, or a wrong key, is mended by people: nothing is thrown away for it.
  if (status === 401 || status === 403 || status === 404 || status >= 500 || status < 400)
    return { end: 'again', delayMs: 0, why }
  return { end: 'refused', why }
}

/** `partialSuccess` says what the collector leaves out for good. */
function accepted(text: string): Sent {
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
