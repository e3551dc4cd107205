import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { bytesOf } from './request-bounds.ts'
import { networkOf } from './who-asks.ts'

export interface Exchange {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
}

// Requests in hand stand in arrays. The tables that a map or a set leaves behind as it changes refer to those that follow: once one of
// them is old, all later ones and their requests outlive every short collection.

interface PendingRequest extends Exchange {
  answer(): void
}

export interface Connection {
  /** Who holds it: the network that is connected or, behind a forwarder, that of the latest request. */
  network: string
  /** Its requests, until their answers are with the client. */
  readonly inHand: PendingRequest[]
  /** How many bytes had been read when the last answer was written: with more of them, a request has begun. */
  answeredAt: number
  latest?: Exchange
  /** It is closed when so many are in hand; -1: while it is good. */
  endsAt: number
}

/** More requests than that are not in hand on one connection… */
const MOST_IN_HAND = 16
/** …nor larger ones behind one that is not answered yet, in bytes. */
const MOST_BEHIND = 32_768
/** Bytes of answers that this process keeps for clients that have not taken them. */
const MOST_UNTAKEN = 64 * 2 ** 20

/**
 * The connections of a port, at most so many: beyond that one that waits for its client gives way to the next. That is one on which
 * nothing is asked, whose request has not arrived as a whole, or whose client does not take its answer.
 */
export class PortConnections {
  readonly #most: number
  readonly #networkOf: (incoming: IncomingMessage) => string
  readonly #open = new Map<Socket, Connection>()
  /** Those that wait for their client, by network. A client that sends a little of a request changes no place in it. */
  readonly #waiting = new Groups<Socket>()
  /** Those that were given more than their clients take at once, by network. */
  readonly #untaken = new Groups<Socket>()
  /** Requests in hand, by whose they are. */
  readonly #counted = new Map<string, Exchange[]>()
  #isClosing = false

  constructor(most: number, networkOf: (incoming: IncomingMessage) => string) {
    this.#most = most
    this.#networkOf = networkOf
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
    this.#open.set(socket, { network, inHand: [], answeredAt: 0, endsAt: -1 })
    this.#waiting.add(network, socket)
    socket.once('close', () => this.#forget(socket))
  }

  /**
   * A request begins; it is in hand until it is answered. `answer` is called once the client has taken the answers to its earlier requests, so
   * that nobody has more made than they take. It is not called if nothing can be answered: the connection is closed then.
   */
  begin(exchange: Exchange, answer: () => void): void {
    const { incoming, outgoing } = exchange
    const { socket } = incoming
    const connection = this.#open.get(socket)
    // The parser goes on through what it has already read. Whatever can't be answered is not begun.
    if (connection === undefined || !isWritable(socket) || !hasRoomFor(incoming, connection)) {
      socket.destroy()
      return
    }
    if (connection.inHand.length === 0) this.#heldBy(socket, connection, this.#networkOf(incoming))
    const pending = { incoming, outgoing, answer }
    connection.inHand.push(pending)
    connection.latest = exchange
    if (this.#isClosing) outgoing.shouldKeepAlive = false
    // By then the parser has read what came with the headers: of most requests that is all.
    process.nextTick(() => {
      this.#place(socket)
      if (!incoming.complete) incoming.on('end', () => this.#place(socket))
    })
    // When its last byte is written: of most answers all are with the system then.
    outgoing.on('prefinish', () => {
      if (socket.writableLength === 0) return
      this.#untaken.add(connection.network, socket)
      this.#boundUntaken()
    })
    outgoing.on('close', () => {
      removeFrom(connection.inHand, pending)
      this.#untaken.remove(connection.network, socket)
      const isLast = connection.inHand.length === 0
      if (connection.inHand.length === connection.endsAt || (isLast && this.#isClosing)) socket.destroySoon()
      else {
        if (isLast) connection.answeredAt = socket.bytesRead
        this.#place(socket)
        if (isWritable(socket)) connection.inHand[0]?.answer()
      }
    })
    if (connection.inHand.length === 1) answer()
  }

  /**
   * Counts a request as this owner's until it is answered. An owner has at most half as many in hand as there may be connections:
   * beyond that the longest one that waits for its client is ended. False if there is none.
   */
  countFor(owner: string, exchange: Exchange): boolean {
    const own = this.#counted.get(owner) ?? []
    if (own.length >= Math.ceil(this.#most / 2)) {
      const half = own.find(({ incoming: { socket } }) => isWaiting(this.#open.get(socket)))
      if (half === undefined) return false
      this.#uncount(owner, half)
      this.#end(half.incoming.socket)
    }
    if (exchange.outgoing.closed) return true
    own.push(exchange)
    this.#counted.set(owner, own)
    exchange.outgoing.on('close', () => this.#uncount(owner, exchange))
    return true
  }

  #uncount(owner: string, exchange: Exchange): void {
    const own = this.#counted.get(owner)
    if (own !== undefined) removeFrom(own, exchange)
    if (own?.length === 0) this.#counted.delete(owner)
  }

  /** Closes the server and idle connections; resolves when what was asked is answered, or its time is over. */
  async close(server: Server, times: { within: number; headers: number; request: number }): Promise<void> {
    this.#isClosing = true
    const cuts = [
      setTimeout(() => this.#cut(({ inHand }) => inHand.length === 0), times.headers),
      setTimeout(() => this.#cut(({ latest }) => latest?.incoming.complete !== true), times.request),
      setTimeout(() => this.#cut(() => true), times.within),
    ]
    await new Promise<void>((resolve) => {
      server.close(() => resolve())
      for (const { latest } of this.#open.values()) if (latest !== undefined) latest.outgoing.shouldKeepAlive = false
      this.#cut(({ inHand, answeredAt }, { bytesRead }) => inHand.length === 0 && bytesRead === answeredAt)
    })
    for (const cut of cuts) clearTimeout(cut)
  }

  #cut(isOver: (connection: Connection, socket: Socket) => boolean): void {
    for (const [socket, connection] of this.#open) if (isOver(connection, socket)) socket.destroy()
  }

  /** Puts it among those that wait for their client, or takes it from them. */
  #place(socket: Socket): void {
    const connection = this.#open.get(socket)
    if (connection === undefined) return
    if (isWaiting(connection)) this.#waiting.add(connection.network, socket)
    else this.#waiting.remove(connection.network, socket)
  }

  #heldBy(socket: Socket, connection: Connection, network: string): void {
    if (network !== connection.network) this.#waiting.remove(connection.network, socket)
    connection.network = network
  }

  #forget(socket: Socket): void {
    const { network = '' } = this.#open.get(socket) ?? {}
    this.#waiting.remove(network, socket)
    this.#untaken.remove(network, socket)
    this.#open.delete(socket)
  }

  #end(socket: Socket): void {
    this.#forget(socket)
    socket.destroy()
  }

  /** Ends connections whose answers are not taken, as long as those are too many bytes: the longest one of the network that holds most. */
  #boundUntaken(): void {
    for (;;) {
      let [all, most] = [0, 0]
      let longest: Socket | undefined
      for (const sockets of this.#untaken.groups()) {
        const bytes = [...sockets].reduce((sum, { writableLength }) => sum + writableLength, 0)
        all += bytes
        if (bytes > most) [most, longest] = [bytes, [...sockets][0]]
      }
      if (all <= MOST_UNTAKEN || longest === undefined || longest.writableLength === all) return
      this.#end(longest)
    }
  }

  /** Ends the connection that has waited longest, of the network that holds most; false if there is none. */
  #giveWay(): boolean {
    for (let allPlaced = false; ; ) {
      const [longest] = this.#waiting.largest()
      if (longest === undefined) {
        if (allPlaced) return false
        // No event tells that an answer is written and stays with this process.
        for (const socket of this.#open.keys()) this.#place(socket)
        allPlaced = true
      } else if (isWaiting(this.#open.get(longest))) {
        this.#end(longest)
        return true
      }
      // Its request has arrived, and nobody has read it to its end.
      else this.#place(longest)
    }
  }
}

/** Whether a request may wait here until those before it are answered. */
function hasRoomFor(incoming: IncomingMessage, { inHand }: Connection): boolean {
  if (inHand.length === 0) return true
  const behind = inHand.slice(1).map((one) => one.incoming)
  const bytes = [...behind, incoming].reduce((sum, one) => sum + bytesOf(one), 0)
  return inHand.length < MOST_IN_HAND && bytes <= MOST_BEHIND
}

/** Whether nothing is to be done for it before its client sends more, or takes what it was given. */
function isWaiting(connection: Connection | undefined): boolean {
  const first = connection?.inHand[0]
  return (
    first === undefined || !first.incoming.complete || first.outgoing.writableEnded || first.outgoing.writableNeedDrain
  )
}

function removeFrom<Member>(members: Member[], member: Member): void {
  const at = members.indexOf(member)
  if (at !== -1) members.splice(at, 1)
}

export function isWritable(socket: Socket): boolean {
  return socket.writable && !socket.destroyed
}

/** Members by group, those of each in the order in which they were added. */
class Groups<Member> {
  readonly #all = new Map<string, Set<Member>>()

  add(group: string, member: Member): void {
    this.#all.set(group, (this.#all.get(group) ?? new Set()).add(member))
  }

  remove(group: string, member: Member): void {
    const members = this.#all.get(group)
    members?.delete(member)
    if (members?.size === 0) this.#all.delete(group)
  }

  groups(): Iterable<ReadonlySet<Member>> {
    return this.#all.values()
  }

  largest(): ReadonlySet<Member> {
    let largest: ReadonlySet<Member> = new Set()
    for (const members of this.#all.values()) if (members.size > largest.size) largest = members
    return largest
  }
}
