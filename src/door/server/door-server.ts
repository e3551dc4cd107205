import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { BytesResponse } from '../../platform/bytes-response.ts'
import { isLoopbackAddress, namesOf } from '../../platform/http.ts'
import { type Connection, type Exchange, isWritable, PortConnections } from '../../platform/port-connections.ts'
import { HEADERS_READ, hasTooManyHeaders, RequestInPieces } from '../../platform/request-bounds.ts'
import { type Asker, networksBehind, shareOf } from '../../platform/who-asks.ts'

export interface DoorServerSettings {
  readonly host: string
  readonly port: number
  /** Extra names by which it may be asked for; off loopback, once there are some, the only ones. */
  readonly hosts: readonly string[]
  /** Longest time in which a request arrives, and in which nothing of an answer is taken, in ms. */
  readonly requestTime: number
  /** Most connections at a time; beyond them one that waits for its client gives way to the next. */
  readonly connections: number
  /** How long a connection is kept on which nothing is asked, in ms. */
  readonly keepAlive: number
  /** Addresses and networks of those that may say for whom they ask. */
  readonly forwarders: readonly string[]
}

/** Whence a request comes. */
interface From {
  /** The address that is connected. */
  readonly address: string
  /** Who asks, as far as the server knows. */
  readonly asker: Asker
  readonly host: string
  readonly isKnownHost: boolean
  /** Every value of a header, as it was sent. */
  header(name: string): readonly string[]
  /** Counts the request as theirs until it is answered; false if their tenant, or the person, already holds half of the connections. */
  countFor(asker: Asker): boolean
}

export interface DoorServerParts {
  fetch(request: Request, from: From): Promise<Response>
  /** The body of an answer to what can't be read as a request, and its type. */
  refuse(problem: UnreadableReason): { readonly type: string; readonly body: string }
}

/** Why something can't be read as a request. */
export type UnreadableReason = keyof typeof STATUS_OF
const STATUS_OF = {
  'bad-request': 400,
  'dot-segment': 400,
  'slow-request': 408,
  expectation: 417,
  headers: 431,
} as const

const LIMITS = { headerBytes: 8_192, headersMs: 5_000, checkMs: 1_000 }

/** Serves the door over HTTP/1.1; resolves once the port is open. */
export async function serveDoor(
  settings: DoorServerSettings,
  { fetch, refuse }: DoorServerParts,
  { whose = "The door's", portIn = 'GAVEL_DOOR_PORT' }: { whose?: string; portIn?: string } = {},
) {
  const { host, port: wanted, hosts, requestTime, connections, keepAlive, forwarders } = settings
  const networkOf = networksBehind(forwarders)
  let answersTo: (headers: readonly string[]) => boolean = () => false
  const listener = getRequestListener(
    async (request, { incoming, outgoing }) => {
      const from = incoming as IncomingMessage
      const exchange = { incoming: from, outgoing: outgoing as ServerResponse }
      const named = from.headersDistinct.host ?? []
      const isWritten = named.length === 1 && HOST.test(named[0] ?? '')
      const response = await fetch(request, {
        address: from.socket.remoteAddress ?? '',
        asker: { network: networkOf(from) },
        host: isWritten ? (named[0] ?? '') : '',
        isKnownHost: isWritten && answersTo(named),
        header: (name) => entryOf(from.headersDistinct, name.toLowerCase()) ?? [],
        countFor: (asker) => open.countFor(shareOf(asker).name, exchange),
      })
      if (!(response instanceof BytesResponse)) return response
      exchange.outgoing.writeHead(response.status, [...response.headers].flat()).end(response.content)
      return RESPONSE_ALREADY_SENT
    },
    {
      overrideGlobalObjects: false,
      hostname: host,
      // Its address and its Host make no URL.
      errorHandler() {
        const { type, body } = refuse('bad-request')
        return new Response(body, { status: 400, headers: { 'content-type': type, connection: 'close' } })
      },
    },
  )
  const respondUnread = (outgoing: ServerResponse, problem: UnreadableReason) => {
    const { type, body } = refuse(problem)
    outgoing.writeHead(STATUS_OF[problem], { 'content-type': type, connection: 'close' }).end(body)
  }
  const limits = {
    IncomingMessage: RequestInPieces,
    maxHeaderSize: LIMITS.headerBytes,
    headersTimeout: Math.min(LIMITS.headersMs, requestTime),
    requestTimeout: requestTime,
    keepAliveTimeout: keepAlive,
    connectionsCheckingInterval: LIMITS.checkMs,
    requireHostHeader: false,
  }
  const open = new PortConnections(connections, networkOf)
  const server = createServer(limits, (incoming: IncomingMessage, outgoing: ServerResponse) => {
    open.begin({ incoming, outgoing }, () => {
      const named = incoming.headersDistinct.host ?? []
      // The address of a request is made of its Host: what is none makes no address.
      if (named.length !== 1 || !HOST.test(named[0] ?? '')) respondUnread(outgoing, 'bad-request')
      else if (hasTooManyHeaders(incoming)) respondUnread(outgoing, 'headers')
      else if (DOT_SEGMENT.test(incoming.url?.split('?', 1)[0] ?? '')) respondUnread(outgoing, 'dot-segment')
      else void listener(incoming, outgoing)
    })
  })
  server.maxHeadersCount = HEADERS_READ
  server.on('checkExpectation', (_, outgoing: ServerResponse) => respondUnread(outgoing, 'expectation'))
  server.on('connect', (_, socket) => socket.end(rawAnswer('bad-request', refuse)))
  server.on('connection', (socket: Socket) => open.admit(socket))
  // An answer may be long in coming; what is written must be taken, and an idle connection goes.
  server.setTimeout(requestTime, (socket: Socket) => {
    if (socket.writableLength > 0 || (open.of(socket)?.inHand.length ?? 0) === 0) socket.destroy()
  })
  server.on('clientError', (error: NodeJS.ErrnoException, duplex) => {
    const socket = duplex as Socket
    const problem = FAULTS.get(error.code ?? '') ?? 'bad-request'
    const connection = open.of(socket)
    // Browsers open connections ahead of need. If one of those is answered while a request is on its way, that is taken for its answer.
    if (!isWritable(socket) || socket.bytesRead === 0) socket.destroy()
    else if (connection?.latest === undefined) end(socket, problem, rawAnswer(problem, refuse))
    else endFaulty(socket, connection, connection.latest, problem, () => rawAnswer(problem, refuse))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EADDRINUSE' ? `is taken; set ${portIn} to another, or to 0 for a free one` : String(error.code)
      reject(new OperatorError(`${whose} port ${wanted} on ${host} ${why}.`, { cause: error }))
    })
    server.listen(wanted, host, resolve)
  })
  const { port, address } = server.address() as AddressInfo
  answersTo = namesOf(address, [host, ...hosts], { elsewhere: hosts.length > 0 })
  return {
    port,
    /** Where it is asked. */
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    isLoopback: isLoopbackAddress(address),
    /**
     * Takes no more connections, and ends idle ones; resolves when what was asked is answered, or cut off after so many ms. A request
     * that has not arrived has the time that it always has.
     */
    async close(withinMs: number): Promise<void> {
      await open.close(server, { within: withinMs, headers: LIMITS.headersMs, request: requestTime })
    },
  }
}

/** A name or an address, perhaps with a port. */
const HOST = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/

/** A segment that readers of the address resolve: in front of this port it may mean another path than behind it. */
const DOT_SEGMENT = /(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\]|$)/i

const FAULTS: ReadonlyMap<string, UnreadableReason> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', 'slow-request'],
  ['HPE_HEADER_OVERFLOW', 'headers'],
])

/** What can't be read is refused; never in place of the answer to an earlier request, nor behind an answer to the same. */
function endFaulty(
  socket: Socket,
  connection: Connection,
  latest: Exchange,
  problem: UnreadableReason,
  refusal: () => string,
): void {
  const { incoming, outgoing } = latest
  // Of a request that is whole it is what follows that is at fault.
  const isOwn = !incoming.complete
  const before = connection.inHand.length - (isOwn && !outgoing.closed ? 1 : 0)
  if (before > 0) connection.endsAt = connection.inHand.length - before
  else if (isOwn && outgoing.headersSent) socket.destroy()
  else end(socket, problem, refusal())
}

/** Refuses what can't be read. A parser that only waited too long would go on reading: a request that was refused would be carried out. */
function end(socket: Socket, problem: UnreadableReason, refusal: string): void {
  socket.end(refusal)
  if (problem === 'slow-request') socket.destroySoon()
}

function rawAnswer(problem: UnreadableReason, refuse: DoorServerParts['refuse']): string {
  const { type, body } = refuse(problem)
  const status = STATUS_OF[problem]
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `content-type: ${type}`,
    'x-content-type-options: nosniff',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
