import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import OpenAI from 'openai'
import { z } from 'zod'
import { PermanentError, RetryLaterError } from '../../domain/errors.ts'

export interface EndpointSettings {
  readonly baseUrl: string
  readonly apiKey: string
  /** Below the base URL: `/chat/completions`. */
  readonly path: string
  /** Longest response, in bytes as unpacked: an endpoint that sends more is hung up on. */
  readonly maxBytes: number
}

export interface Posting {
  readonly signal: AbortSignal
  /** From the request to the last byte of the response. */
  readonly timeoutMs: number
  readonly headers?: Readonly<Record<string, string>>
}

/** Resolves to the JSON of a response whose status tells of success. */
export type Post = (body: object, posting: Posting) => Promise<unknown>

/**
 * Posts to a server that speaks OpenAI's interface and may be broken or hostile: one request a call, bounded in time and
 * bytes, and no redirect is followed: what was asked goes where it was addressed, and nowhere else. Rejects with
 * `RetryLaterError` or `PermanentError`, whose messages name the status and never repeat what was sent or received.
 *
 * The SDK says how a request looks, and Node's own HTTP sends it. The SDK's sending, and `fetch`, assign functions to
 * properties at each call (`promise.withResponse = async () => …`); V8 allocates such a function in the old space, and all
 * that it captures, the whole call, lives until the next full collection: at 200 calls a second 25 ms of each second.
 */
export function endpoint({ baseUrl, apiKey, path, maxBytes }: EndpointSettings): Post {
  let form: ReturnType<typeof makeForm> | null = null
  async function makeForm() {
    const client = new OpenAI({ baseURL: baseUrl, apiKey, logLevel: 'off' })
    const { req, url } = await client.buildRequest({ method: 'post', path, body: {} })
    return { url: new URL(url), headers: { ...Object.fromEntries(req.headers), 'accept-encoding': 'identity' } }
  }
  return async (body, posting) => {
    // Made when it is needed: a command that asks nothing needs no key.
    form ??= makeForm()
    const { url, headers } = await form
    const { status, heads, text } = await exchange(url, { ...headers, ...posting.headers }, body, posting, maxBytes)
    if (status < 200 || status > 299) throw failureOf(status, heads, text ?? '')
    if (text === null) throw new RetryLaterError('unavailable', 'the endpoint sent too much')
    return parsed(text) ?? null
  }
}

interface Exchanged {
  readonly status: number
  readonly heads: IncomingHttpHeaders
  /** null where it is longer than anybody reads. */
  readonly text: string | null
}

function exchange(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: object,
  { signal, timeoutMs }: Posting,
  maxBytes: number,
): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(stopped(signal))
    const sent = JSON.stringify(body)
    const length = { 'content-length': String(Buffer.byteLength(sent)) }
    const { request: open } = url.protocol === 'https:' ? https : http
    const request = open(url, { method: 'POST', headers: { ...headers, ...length } })
    const stop = () => end(stopped(signal))
    const late = () => end(new RetryLaterError('timeout', `no answer within ${timeoutMs} ms`))
    const timer = setTimeout(late, timeoutMs)
    signal.addEventListener('abort', stop, { once: true })
    const settled = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
    }
    const end = (why: Error) => {
      settled()
      reject(why)
      request.destroy()
    }
    const lost = (cause: Error) =>
      end(new RetryLaterError('unavailable', 'the endpoint could not be reached', { cause }))
    request.on('error', lost)
    request.on('response', (response) => {
      const done = (text: string | null) => {
        settled()
        resolve({ status: response.statusCode ?? 0, heads: response.headers, text })
        if (text === null) request.destroy()
      }
      read(response, maxBytes, done, lost)
    })
    request.end(sent)
  })
}

const utf8 = new TextDecoder()

/** Calls one of the two, once or more often: with the text, or null for one of more than `maxBytes`. */
function read(
  response: IncomingMessage,
  maxBytes: number,
  done: (text: string | null) => void,
  lost: (error: Error) => void,
): void {
  const body = unpacked(response).on('error', lost)
  const chunks: Buffer[] = []
  let bytes = 0
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength
    if (bytes <= maxBytes) chunks.push(chunk)
    else done(null)
  })
  body.on('end', () => done(utf8.decode(Buffer.concat(chunks))))
  response.on('error', lost)
}

/** Servers pack unasked. */
function unpacked(response: IncomingMessage) {
  switch (response.headers['content-encoding']) {
    case 'gzip':
      return response.pipe(createGunzip())
    case 'deflate':
      return response.pipe(createInflate())
    case 'br':
      return response.pipe(createBrotliDecompress())
    default:
      return response
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function stopped({ reason }: AbortSignal): RetryLaterError {
  return new RetryLaterError('aborted', 'the call was stopped', { costsAttempt: false, delayMs: 0, cause: reason })
}

const refusal = z.object({ error: z.object({ code: z.string() }) })

function failureOf(status: number, heads: IncomingHttpHeaders, text: string): Error {
  const said = refusal.safeParse(parsed(text))
  const code = said.success ? said.data.error.code : null
  if (status === 429 && code !== 'insufficient_quota') {
    const delayMs = retryAfterMs(heads)
    return new RetryLaterError('rate-limited', 'status 429', {
      ...(delayMs === undefined ? {} : { delayMs }),
      costsAttempt: delayMs === undefined,
    })
  }
  if (status >= 500 || status === 408 || status === 409) return new RetryLaterError('unavailable', `status ${status}`)
  return new PermanentError(code === 'content_filter' ? 'content-filter' : 'rejected', `status ${status}${named(code)}`)
}

/** An error's code as the endpoint names it, if it is a name: some endpoints repeat there what they were asked. */
function named(code: string | null): string {
  return code !== null && /^[a-z][a-z0-9_.-]{0,63}$/i.test(code) ? ` (${code})` : ''
}

/** `Retry-After` (seconds or an HTTP date) or `retry-after-ms`, in ms, however long. */
function retryAfterMs(heads: IncomingHttpHeaders): number | undefined {
  const exact = Number(heads['retry-after-ms'] ?? Number.NaN)
  if (exact > 0 && Number.isFinite(exact)) return exact
  const said = heads['retry-after']
  if (said === undefined) return undefined
  const seconds = Number(said)
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(said) - Date.now()
  return Number.isFinite(ms) && ms > 0 ? ms : undefined
}
