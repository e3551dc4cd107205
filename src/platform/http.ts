import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurnOfLoop } from 'node:timers/promises'
import { OperatorError } from '../contracts/facts/errors.ts'
import { PortConnections } from './port-connections.ts'
import { wrongGuesses } from './rates.ts'
import { HEADERS_READ, hasTooManyHeaders, RequestInPieces } from './request-bounds.ts'
import { networksBehind } from './who-asks.ts'

/** The answer to a health check: 200 if `ok`, else 503, with the reasons. */
export interface Health {
  readonly ok: boolean
  readonly checks: Readonly<Record<string, string>>
  /** Which process answers. */
  readonly process?: object
}

export interface HttpParts {
  /** The metrics in a form that this `Accept` header names. */
  readonly metrics: (accept: string | undefined) => Promise<{ readonly type: string; readonly text: string }>
  readonly live: () => Promise<Health>
  readonly ready: () => Promise<Health>
}

export interface HttpSettings {
  readonly host: string
  readonly port: number
  /** Extra host names that may be used for a port on loopback. */
  readonly hosts: readonly string[]
  /** The bearer token that `/metrics` requires; empty: none. Health pages need no token. */
  readonly token: string
  /** Addresses and networks of those that may say for whom they ask. */
  readonly forwarders: readonly string[]
}

/** The settings of the port, or of another on its host; its token is read at each request. */
export function withForwarders(
  {
    http,
    forwarders,
  }: {
    readonly http: Omit<HttpSettings, 'forwarders'>
    readonly forwarders: readonly string[]
  },
  port = http.port,
): HttpSettings {
  const { host, hosts } = http
  return {
    host,
    port,
    hosts,
    forwarders,
    get token() {
      return http.token
    },
  }
}

/** No scraper needs more than this: slow, flooding or endless connections are cut off. */
const LIMITS = { headerBytes: 8_192, headersMs: 5_000, requestMs: 10_000, silenceMs: 30_000 }

/** Serves `/metrics`, `/health/live` and `/health/ready`; resolves once the port is open. */
export async function serveHttp(
  settings: HttpSettings,
  parts: HttpParts,
  /** Most connections at a time. No scraper needs more than this. */
  connections = 128,
): Promise<{
  readonly port: number
  /** From now on the minute of a replaced token is counted. */
  tokenTaken(): void
  close(): Promise<void>
}> {
  const { host, port: wanted, hosts, forwarders } = settings
  const knows = bearer(
    () => settings.token,
    () => performance.now(),
  )
  const guess = wrongGuesses(() => performance.now())
  const networkOf = networksBehind(forwarders)
  // Known once the port is open: a host name may resolve to loopback too.
  let answersTo: (headers: readonly string[]) => boolean = () => false
  const limits = {
    IncomingMessage: RequestInPieces,
    maxHeaderSize: LIMITS.headerBytes,
    headersTimeout: LIMITS.headersMs,
    requestTimeout: LIMITS.requestMs,
    connectionsCheckingInterval: 1_000,
  }
  const page = sharedPages(parts.metrics)
  const open = new PortConnections(connections, networkOf)
  const server = createServer(limits, (request, response) => {
    const exchange = { incoming: request, outgoing: response }
    const send = (status: number, type: string, body: string | Buffer, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff', ...headers }).end(body)
    const health = ({ ok, ...said }: Health) =>
      send(ok ? 200 : 503, 'application/json', `${JSON.stringify({ status: ok ? 'ok' : 'failing', ...said })}\n`)
    // Who brings the token is let in before: nobody is shut out by another who guesses.
    const refuseToken = () => {
      const seconds = request.headers.authorization === undefined ? null : guess(networkOf(request))
      if (seconds === null) return send(401, 'text/plain', 'bearer token required\n', { 'www-authenticate': 'Bearer' })
      const wait = { 'retry-after': String(Math.ceil(seconds)) }
      return send(429, 'text/plain', 'too many wrong tokens came from this address\n', wait)
    }
    const answer = async () => {
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return send(405, 'text/plain', 'only GET and HEAD are allowed\n', { allow: 'GET, HEAD', connection: 'close' })
      if (hasTooManyHeaders(request)) return send(431, 'text/plain', 'too many headers\n', { connection: 'close' })
      if (!answersTo(request.headersDistinct.host ?? []))
        return send(421, 'text/plain', 'Host header not allowed: add it to http.hosts\n')
      switch ((request.url ?? '').split('?', 1)[0]) {
        case '/metrics':
          if (!knows(request.headers.authorization)) return refuseToken()
          // A page is long in coming: whoever asks for many at once leaves connections for probes.
          if (!open.countFor(networkOf(request), exchange)) return send(429, 'text/plain', 'too many at once\n', SOON)
          return send(200, ...(await page(request.headers.accept)))
        case '/health/live':
          return health(await parts.live())
        case '/health/ready':
          return health(await parts.ready())
        default:
          return send(404, 'text/plain', 'see /metrics, /health/live and /health/ready\n')
      }
    }
    open.begin(exchange, () => {
      answer().catch(() => send(500, 'text/plain', 'failed\n'))
    })
  })
  server.maxHeadersCount = HEADERS_READ
  server.setTimeout(LIMITS.silenceMs)
  server.on('connection', (socket) => open.admit(socket))
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EADDRINUSE'
          ? 'is taken; set GAVEL_HTTP_PORT to another, or to 0 for a free one'
          : String(error.code)
      reject(new OperatorError(`Port ${wanted} on ${host} ${why}.`, { cause: error }))
    })
    server.listen(wanted, host, resolve)
  })
  const { port, address } = server.address() as AddressInfo
  answersTo = namesOf(address, [host, ...hosts])
  return {
    port,
    tokenTaken: () => void knows(undefined),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const SOON = { 'retry-after': '1', connection: 'close' }

/** The form of the metrics that is not the usual one. */
const OPEN_METRICS = 'application/openmetrics-text'

/**
 * Pages of metrics, with their type, made one at a time: who asks while one is made gets the next, and all of them the same bytes. So neither work
 * nor memory grows with those who ask at once.
 */
function sharedPages(make: HttpParts['metrics']): (accept?: string) => Promise<[type: string, page: Buffer]> {
  const next = new Map<string, Promise<[string, Buffer]>>()
  let last: Promise<unknown> = Promise.resolve()
  return (accept = '') => {
    // No other difference between two headers makes another page.
    const form = accept.includes(OPEN_METRICS) ? OPEN_METRICS : ''
    const known = next.get(form)
    if (known !== undefined) return known
    const made = last.then(async (): Promise<[string, Buffer]> => {
      await nextTurnOfLoop()
      next.delete(form)
      const { type, text } = await make(form)
      return [type, Buffer.from(text)]
    })
    next.set(form, made)
    last = made.catch(() => undefined)
    return made
  }
}

/** A warning for a port that other machines can reach without a token; null for any other. */
export function exposure({
  host,
  token,
}: Pick<HttpSettings, 'host' | 'token'>): { host: string; advice: string } | null {
  return isLoopbackAddress(host) || token !== ''
    ? null
    : { host, advice: 'anyone who can reach this port can read /metrics: set http.token' }
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i

/** Whether only this machine reaches it. */
export function isLoopbackAddress(address: string): boolean {
  return LOOPBACK.test(address)
}

/**
 * Checks a request's `Host` headers. A web page can point a host name of its own at loopback and then read the answers
 * (DNS rebinding): on loopback only known names are allowed. Elsewhere any name is, since containers and pods have many,
 * and a token keeps others out; with `elsewhere` only known names there too. A request without the header is HTTP/1.0, which no browser uses.
 */
export function namesOf(
  address: string,
  hosts: readonly string[],
  { elsewhere = false }: { elsewhere?: boolean } = {},
): (headers: readonly string[]) => boolean {
  const isLoopback = isLoopbackAddress(address)
  if (!isLoopback && !elsewhere) return () => true
  const known = new Set(hosts.map((name) => name.toLowerCase()))
  return (headers) =>
    headers.length <= 1 &&
    headers.every((header) => {
      const name = header
        .toLowerCase()
        .replace(/:\d{1,5}$/, '')
        .replace(/\.$/, '')
      if (known.has(name)) return true
      return isLoopback && (isLoopbackAddress(name.replace(/^\[(.*)\]$/, '$1')) || name.endsWith('.localhost'))
    })
}

/** A token that was replaced holds for so long, in ms: not all who bring it have the new one at the same moment. */
const REPLACED_HOLDS_MS = 60_000

/**
 * Checks an `Authorization` header for the token as it is at the time, in constant time; for a minute the one before it counts, too.
 * None is asked for while the token is empty.
 */
export function bearer(token: () => string, clock: () => number): (header: string | undefined) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  let current = token()
  let before: { readonly token: string; readonly until: number } | null = null
  return (header = '') => {
    const now = token()
    if (now !== current) before = { token: current, until: clock() + REPLACED_HOLDS_MS }
    current = now
    if (current === '') return true
    const brought = digest(/^Bearer +(\S+) *$/i.exec(header)?.[1] ?? '')
    const known = before !== null && before.token !== '' && clock() < before.until ? [current, before.token] : [current]
    return known.filter((one) => timingSafeEqual(brought, digest(one))).length > 0
  }
}
