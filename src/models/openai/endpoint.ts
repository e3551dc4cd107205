import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { urlToHttpOptions } from 'node:url'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { PermanentError, RetryLaterError } from '../../contracts/facts/errors.ts'
import { excessOf } from '../../contracts/facts/json-walk.ts'
import { completionOf, isEventStream } from './event-stream.ts'
import { failureOf } from './refusals.ts'
import { resetIn, waitUntil } from './reset-times.ts'

/** A server with OpenAI's interface. Its key and headers are read at each request: they may be replaced meanwhile. */
export interface ServerSettings {
  readonly baseUrl: string
  /** Sent as a bearer token; none if it is empty. */
  readonly apiKey: string
  /** Sent with each request, such as Azure's `api-key`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Added to the URL, such as Azure's `api-version`. */
  readonly query?: Readonly<Record<string, string>>
}

interface EndpointLimits<Body> {
  /** The path below the base URL: `/chat/completions`. */
  readonly path: string
  /** Longest response to a request, in bytes after decompression: the connection is closed if there are more. */
  readonly maxBytes: (body: Body) => number
  /** Most lists, objects and fields of a response. */
  readonly maxParts: number
  /** It is an interface for decision models. */
  readonly isDecision?: boolean
}

/**
 * A server with OpenAI's interface that may be broken or hostile: one request per call, limited in time and bytes. No
 * redirect is followed: the question goes only to the configured server.
 *
 * The SDK builds the request, and Node's own HTTP client sends it. The SDK's own client, and `fetch`, assign functions
 * to properties at each call (`promise.withResponse = async () => …`); V8 allocates such a function in the old space,
 * and everything that it captures, the whole call, lives until the next full collection: at 200 calls a second, 25 ms of
 * each second.
 */
export class Endpoint<Body extends object = object> {
  readonly #server: ServerSettings
  readonly #limits: EndpointLimits<Body>
  #template: { readonly secrets: string; readonly request: Promise<https.RequestOptions> } | null = null

  constructor(server: ServerSettings, limits: EndpointLimits<Body>) {
    this.#server = server
    this.#limits = limits
    // A large package: it is loaded while the rest of the process starts, and nothing else waits for it.
    import('openai').catch(() => undefined)
  }

  /** What is sent to be let in. */
  get secrets(): readonly string[] {
    const { apiKey, headers = {}, query = {} } = this.#server
    const inQuery = Object.entries(query).flatMap(([name, value]) =>
      /key|token|sig|secret/i.test(name) ? [value] : [],
    )
    return [apiKey, ...Object.values(headers), ...inQuery]
  }

  /**
   * Resolves to the JSON of a successful response; `timeoutMs` is from the request to its last byte. Rejects with
   * `RetryLaterError` or `PermanentError`, whose messages name the status and never repeat what was sent or received;
   * with a `ParameterNamed` if the server refuses a parameter.
   */
  async post(
    body: Body,
    signal: AbortSignal,
    timeoutMs: number,
    own: Readonly<Record<string, string>> = {},
  ): Promise<unknown> {
    // Built at the first call, since a command without model calls needs no key; and anew for another key.
    const secrets = this.secrets.join('\n')
    if (this.#template?.secrets !== secrets)
      this.#template = { secrets, request: templateOf(this.#server, this.#limits.path) }
    const { headers, ...to } = await this.#template.request
    return this.#exchange({ ...to, headers: { ...headers, ...own } }, body, signal, timeoutMs)
  }

  #exchange(to: https.RequestOptions, body: Body, signal: AbortSignal, timeoutMs: number): Promise<unknown> {
    const maxBytes = this.#limits.maxBytes(body)
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(stopped(signal))
      // Images make it megabytes: nothing below holds it, so that it need not wait in memory for the response.
      const json = JSON.stringify(body)
      const open = to.protocol === 'https:' ? https.request : http.request
      const length = { 'content-length': String(Buffer.byteLength(json)) }
      const request = open({ ...to, headers: { ...to.headers, ...length } })
      let reading: Readable | null = null
      let isSettled = false
      const settled = () => {
        isSettled = true
        clearTimeout(timer)
        signal.removeEventListener('abort', stop)
      }
      const end = (why: Error) => {
        settled()
        reject(why)
        reading?.destroy()
        request.destroy()
      }
      const stop = () => end(stopped(signal))
      const late = () => end(new RetryLaterError('timeout', `no answer within ${timeoutMs} ms`))
      let lost = (cause: Error) =>
        end(new RetryLaterError('unavailable', 'the endpoint could not be reached', { cause }))
      const timer = setTimeout(late, timeoutMs)
      signal.addEventListener('abort', stop, { once: true })
      request.on('error', (error) => lost(error))
      request.on('response', (response) => {
        const done = (text: string | null) => {
          // The rest, which is not waited for, may fail once more.
          if (!isSettled) resolve(this.#read(response, text, body))
          settled()
          if (text !== null && response.complete && request.writableFinished) return
          reading?.destroy()
          request.destroy()
        }
        if (!succeeded(response)) lost = () => done(null)
        response.on('error', (error) => lost(error))
        reading = decompressed(response).on('error', (error) => lost(error))
        collect(reading, maxBytes, done)
      })
      request.end(json)
    })
  }

  /** `text` is null if it is longer than it may be, or if the response to a failed request could not be read. */
  async #read(response: IncomingMessage, text: string | null, body: Body): Promise<unknown> {
    if (text === null && succeeded(response))
      throw new RetryLaterError('unavailable', 'the response exceeded the size limit')
    if (text === '' && succeeded(response)) throw new RetryLaterError('unavailable', 'the response is empty')
    if (text !== null && text.length > LONG) await turnToParse()
    const json = await read(text ?? '', this.#limits.maxParts)
    if (succeeded(response) && !isError(json)) return json ?? null
    const { statusCode: status = 0, headers } = response
    const retryAfterMs = retryAfter(headers) ?? (status === 429 ? resetIn(headers) : undefined)
    const wait = retryAfterMs === undefined ? {} : { retryAfterMs }
    throw failureOf(
      { status, json, text: text ?? '', location: headers.location, ...wait },
      { body, secrets: this.secrets, isDecision: this.#limits.isDecision },
    )
  }
}

/** A request without its body. */
async function templateOf(
  { baseUrl, apiKey, headers: defaultHeaders = {}, query: defaultQuery = {} }: ServerSettings,
  path: string,
): Promise<https.RequestOptions> {
  const { OpenAI } = await import('openai')
  try {
    const client = new OpenAI({
      baseURL: baseUrl,
      apiKey: apiKey || 'none',
      logLevel: 'off',
      defaultHeaders: { ...defaultHeaders },
      defaultQuery: { ...defaultQuery },
    })
    const { req, url } = await client.buildRequest({ method: 'post', path, body: {} })
    const headers = new Headers(req.headers)
    headers.set('accept-encoding', 'identity')
    if (apiKey === '' && !Object.keys(defaultHeaders).some(isAuthorization)) headers.delete('authorization')
    const to = new URL(url)
    return { ...urlToHttpOptions(to), method: 'POST', headers: Object.fromEntries(headers), agent: agentFor(to) }
  } catch {
    // Its message may contain the key.
    throw new PermanentError('rejected', 'requests cannot be made with this base URL and API key')
  }
}

const isAuthorization = (name: string) => name.toLowerCase() === 'authorization'

/** Characters of a response from which on it is parsed by itself. */
const LONG = 2 ** 16

let lastTurn: Promise<unknown> = Promise.resolve()

/** Of long responses that arrive together each is parsed in a turn of the event loop of its own, so that others have theirs. */
function turnToParse(): Promise<unknown> {
  lastTurn = lastTurn.then(() => nextTurn())
  return lastTurn
}

/** Servers close idle connections after five seconds or more, and a call sent at that moment is lost: close them earlier. */
const IDLE_MS = 4_000

/** The options of Node's own agent, including its proxy, with a shorter idle time. */
function agentOptions(agent: http.Agent): http.AgentOptions {
  // Missing in the types.
  const { options } = agent as http.Agent & { options?: http.AgentOptions }
  return { ...options, keepAlive: true, timeout: IDLE_MS }
}

const agents = {
  'http:': new http.Agent(agentOptions(http.globalAgent)),
  'https:': new https.Agent(agentOptions(https.globalAgent)),
}

function agentFor({ protocol }: URL): http.Agent {
  if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError('the base URL must begin with http: or https:')
  return agents[protocol]
}

const succeeded = ({ statusCode = 0 }: IncomingMessage) => statusCode >= 200 && statusCode < 300

const utf8 = new TextDecoder()

/** A body of more bytes than this is large, and so many of them are read at a time: an endpoint may send one to each call. */
const [LARGE, LARGE_AT_ONCE] = [2 ** 18, 8]

/** Large bodies: those that are read, and those that wait for one of them to end. */
const largeBodies = {
  read: new Set<Readable>(),
  waiting: new Set<Readable>(),
  enter(body: Readable): void {
    if (this.read.size < LARGE_AT_ONCE) this.read.add(body)
    else {
      this.waiting.add(body)
      body.pause()
    }
  },
  leave(body: Readable): void {
    this.waiting.delete(body)
    if (!this.read.delete(body)) return
    for (const next of this.waiting) {
      if (this.read.size >= LARGE_AT_ONCE) return
      this.waiting.delete(next)
      this.read.add(next)
      next.resume()
    }
  },
}

/**
 * Calls `done` with the text, or with null if it has more than `maxBytes`. Takes linear time, in however many chunks it
 * arrives.
 */
export function collect(body: Readable, maxBytes: number, done: (text: string | null) => void): void {
  let buffer: Buffer = Buffer.alloc(0)
  let length = 0
  let large = false
  body.on('close', () => {
    if (large) largeBodies.leave(body)
  })
  body.on('data', (chunk: Buffer) => {
    const longer = length + chunk.byteLength
    if (longer > maxBytes) return done(null)
    if (longer > LARGE && !large) {
      large = true
      largeBodies.enter(body)
    }
    if (length === 0) buffer = chunk
    else {
      if (longer > buffer.byteLength) {
        const larger = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(longer, 2 * buffer.byteLength)))
        buffer.copy(larger, 0, 0, length)
        buffer = larger
      }
      chunk.copy(buffer, length)
    }
    length = longer
  })
  body.on('end', () => done(utf8.decode(buffer.subarray(0, length))))
}

/** Some servers compress without being asked to. */
function decompressed(response: IncomingMessage): Readable {
  switch (response.headers['content-encoding']) {
    case 'gzip':
      return response.pipe(createGunzip())
    case 'deflate':
      return response.pipe(createInflate())
    case 'br':
      return response.pipe(createBrotliDecompress())
    case 'zstd':
      return response.pipe(createZstdDecompress())
    default:
      return response
  }
}

/** Far deeper than any response of the interface. */
const MAX_DEPTH = 32

/** The JSON of a response, also of one in events; undefined where there is none. */
async function read(text: string, maxParts: number): Promise<unknown> {
  return isEventStream(text) ? completionOf(text, (data) => parsed(data, maxParts)) : parsed(text, maxParts)
}

/** The JSON; undefined for none, or for one with more parts than it may have. */
function parsed(text: string, maxParts: number): unknown {
  try {
    return excessOf(text, { depth: MAX_DEPTH, parts: maxParts, fields: true }) === null ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}

/**
 * Gateways answer 200 also where the server behind them failed: with an error in place of a message. MiniMax has a
 * status of its own in every response.
 */
function isError(json: unknown): boolean {
  const body: unknown = Array.isArray(json) ? json[0] : json
  if (typeof body !== 'object' || body === null) return false
  const choice: unknown = 'choices' in body && Array.isArray(body.choices) ? body.choices[0] : undefined
  if (typeof choice === 'object' && choice !== null && 'message' in choice && choice.message !== null) return false
  if ('error' in body && body.error) return true
  const own = 'base_resp' in body ? body.base_resp : null
  return typeof own === 'object' && own !== null && 'status_code' in own && own.status_code !== 0
}

function stopped({ reason }: AbortSignal): RetryLaterError {
  return new RetryLaterError('aborted', 'the call was stopped', { costsAttempt: false, delayMs: 0, cause: reason })
}

/** `Retry-After` (seconds, seconds since 1970, or a date) or `retry-after-ms`, in ms, with no upper limit. */
function retryAfter(heads: IncomingHttpHeaders): number | undefined {
  const exact = Number(heads['retry-after-ms'] ?? Number.NaN)
  if (exact > 0 && Number.isFinite(exact)) return exact
  const said = heads['retry-after']
  return said === undefined ? undefined : waitUntil(said, Date.now())
}
