import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { OperatorError } from '../domain/errors.ts'
import { isLoopbackAddress, namesOf } from './http.ts'

export interface DoorServerSettings {
  readonly host: string
  readonly port: number
  /** Extra names by which it may be asked for; off loopback, once there are some, the only ones. */
  readonly hosts: readonly string[]
  /** Longest time in which a request arrives, and in which nothing of an answer is taken, in ms. */
  readonly requestTime: number
  /** Most connections at a time. */
  readonly connections: number
}

/** Whence a request comes. */
interface From {
  readonly address: string
  readonly host: string
  readonly isKnownHost: boolean
}

export interface DoorServerParts {
  fetch(request: Request, from: From): Promise<Response>
  /** The body of an answer to what can't be read as a request, and its type. */
  refuse(problem: 'bad-request' | 'slow-request' | 'headers'): { readonly type: string; readonly body: string }
}

const LIMITS = { headerBytes: 8_192, headersMs: 5_000, keepAliveMs: 5_000, checkMs: 1_000, unanswered: 16 }

/** Serves the door over HTTP/1.1; resolves once the port is open. */
export async function serveDoor(settings: DoorServerSettings, { fetch, refuse }: DoorServerParts) {
  const { host, port: wanted, hosts, requestTime, connections } = settings
  let answersTo: (headers: readonly string[]) => boolean = () => false
  const listener = getRequestListener(
    (request, { incoming }) => {
      const from = incoming as IncomingMessage
      const named = from.headersDistinct.host ?? []
      const isWritten = named.length === 1 && HOST.test(named[0] ?? '')
      return fetch(request, {
        address: from.socket.remoteAddress ?? '',
        host: isWritten ? (named[0] ?? '') : '',
        isKnownHost: isWritten && answersTo(named),
      })
    },
    { overrideGlobalObjects: false, hostname: host },
  )
  const limits = {
    maxHeaderSize: LIMITS.headerBytes,
    headersTimeout: Math.min(LIMITS.headersMs, requestTime),
    requestTimeout: requestTime,
    keepAliveTimeout: LIMITS.keepAliveMs,
    connectionsCheckingInterval: LIMITS.checkMs,
    requireHostHeader: false,
  }
  const sockets = new WeakMap<Socket, { unanswered: number }>()
  const server = createServer(limits, (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { socket } = incoming
    // The parser goes on through what it has already read.
    if (socket.destroyed) return
    const state = sockets.get(socket) ?? { unanswered: 0 }
    sockets.set(socket, state)
    if (++state.unanswered > LIMITS.unanswered) {
      socket.destroy()
      return
    }
    outgoing.once('close', () => state.unanswered--)
    const named = incoming.headersDistinct.host ?? []
    // The address of a request is made of its Host: what is none makes no address.
    if (named.length !== 1 || !HOST.test(named[0] ?? '')) {
      const { type, body } = refuse('bad-request')
      outgoing.writeHead(400, { 'content-type': type, connection: 'close' }).end(body)
      return
    }
    void listener(incoming, outgoing)
  })
  server.maxConnections = connections
  // An answer may be long in coming; what is written must be taken, and an idle connection goes.
  server.setTimeout(requestTime, (socket: Socket) => {
    if (socket.writableLength > 0 || (sockets.get(socket)?.unanswered ?? 0) === 0) socket.destroy()
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const [status, problem] = FAULTS.get(error.code ?? '') ?? ([400, 'bad-request'] as const)
    if (!isWritable(socket as Socket)) {
      socket.destroy()
      return
    }
    const { type, body } = refuse(problem)
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `content-type: ${type}`,
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
    ]
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EADDRINUSE'
          ? 'is taken; set GAVEL_DOOR_PORT to another, or to 0 for a free one'
          : String(error.code)
      reject(new OperatorError(`The door's port ${wanted} on ${host} ${why}.`, { cause: error }))
    })
    server.listen(wanted, host, resolve)
  })
  const { port, address } = server.address() as AddressInfo
  answersTo = namesOf(address, [host, ...hosts], { elsewhere: hosts.length > 0 })
  return {
    port,
    isLoopback: isLoopbackAddress(address),
    /** Takes no more connections; resolves when those that there are have ended, or been cut off after so many ms. */
    async close(withinMs: number): Promise<void> {
      const cut = setTimeout(() => server.closeAllConnections(), withinMs)
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      })
      clearTimeout(cut)
    },
  }
}

/** A name or an address, perhaps with a port. */
const HOST = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/

const FAULTS: ReadonlyMap<string, readonly [status: number, 'bad-request' | 'slow-request' | 'headers']> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', [408, 'slow-request']],
  ['HPE_HEADER_OVERFLOW', [431, 'headers']],
])

function isWritable(socket: Socket): boolean {
  return socket.writable && !socket.destroyed
}
