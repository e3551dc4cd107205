import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface Exchange {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
}

export interface Connection {
  readonly network: string
  /** Requests whose answers are not written yet. */
  unanswered: number
  /** How many bytes had been read when the last answer was written: with more of them, a request has begun. */
  answeredAt: number
  latest?: Exchange
  /** It is closed when so many are unanswered; -1: while it is good. */
  endsAt: number
}

/** The connections of a port, at most so many: beyond that one without a request gives way to the next. */
export class DoorConnections {
  readonly #most: number
  readonly #open = new Map<Socket, Connection>()
  readonly #idle = new IdleConnections()
  #isClosing = false

  constructor(most: number) {
    this.#most = most
  }

  /** Those that are open. */
  of(socket: Socket): Connection | undefined {
    return this.#open.get(socket)
  }

  /** Takes it, or closes it. */
  admit(socket: Socket): void {
    if (this.#open.size >= this.#most && !this.#giveWay()) {
      socket.destroy()
      return
    }
    const network = networkOf(socket.remoteAddress ?? '')
    this.#open.set(socket, { network, unanswered: 0, answeredAt: 0, endsAt: -1 })
    this.#idle.add(network, socket)
    socket.once('close', () => this.#forget(socket))
  }

  /** A request begins on a connection; it is counted until it is answered. */
  begin(socket: Socket, connection: Connection, latest: Exchange): void {
    this.#idle.remove(connection.network, socket)
    connection.unanswered++
    connection.latest = latest
    if (this.#isClosing) latest.outgoing.shouldKeepAlive = false
    latest.outgoing.once('close', () => {
      const isLast = --connection.unanswered === 0
      if (connection.unanswered === connection.endsAt || (isLast && this.#isClosing)) socket.destroySoon()
      else if (isLast && this.#open.has(socket)) {
        connection.answeredAt = socket.bytesRead
        this.#idle.add(connection.network, socket)
      }
    })
  }

  /** Closes the server and idle connections; resolves when what was asked is answered, or its time is over. */
  async close(server: Server, times: { within: number; headers: number; request: number }): Promise<void> {
    this.#isClosing = true
    const cuts = [
      setTimeout(() => this.#cut(({ unanswered }) => unanswered === 0), times.headers),
      setTimeout(() => this.#cut(({ latest }) => latest?.incoming.complete !== true), times.request),
      setTimeout(() => this.#cut(() => true), times.within),
    ]
    await new Promise<void>((resolve) => {
      server.close(() => resolve())
      for (const { latest } of this.#open.values()) if (latest !== undefined) latest.outgoing.shouldKeepAlive = false
      this.#cut(({ unanswered, answeredAt }, { bytesRead }) => unanswered === 0 && bytesRead === answeredAt)
    })
    for (const cut of cuts) clearTimeout(cut)
  }

  #cut(isOver: (connection: Connection, socket: Socket) => boolean): void {
    for (const [socket, connection] of this.#open) if (isOver(connection, socket)) socket.destroy()
  }

  #forget(socket: Socket): void {
    this.#idle.remove(this.#open.get(socket)?.network ?? '', socket)
    this.#open.delete(socket)
  }

  /** Ends a connection without a request; false if there is none. */
  #giveWay(): boolean {
    const longest = this.#idle.longestOfMost()
    if (longest === undefined) return false
    this.#forget(longest)
    longest.destroy()
    return true
  }
}

/** Connections that have no request in hand, by the network that they come from. */
class IdleConnections {
  /** The sockets of a network, the one that has been idle longest first. */
  readonly #byNetwork = new Map<string, Set<Socket>>()

  add(network: string, socket: Socket): void {
    const idle = this.#byNetwork.get(network) ?? new Set()
    this.#byNetwork.set(network, idle.add(socket))
  }

  remove(network: string, socket: Socket): void {
    const idle = this.#byNetwork.get(network)
    idle?.delete(socket)
    if (idle?.size === 0) this.#byNetwork.delete(network)
  }

  /** Of the network that holds most, the one that has been idle longest: whoever holds many gives way first. */
  longestOfMost(): Socket | undefined {
    let most: ReadonlySet<Socket> = new Set()
    for (const idle of this.#byNetwork.values()) if (idle.size > most.size) most = idle
    return most.values().next().value
  }
}

/** What one party is taken to hold: an address, in IPv6 the 64 bits that are given out together. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1)
  const [before = '', after = ''] = address.replace(/%.*/, '').split('::')
  const [first, last] = [before, after].map((part) => (part === '' ? [] : part.split(':'))) as [string[], string[]]
  const zeros = address.includes('::') ? Array<string>(Math.max(0, 8 - first.length - last.length)).fill('0') : []
  return [...first, ...zeros, ...last].slice(0, 4).join(':')
}
