import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Certificates } from './certificates.ts'

/** An event as either generation of a relay sends it. */
export interface RelayedEvent {
  readonly did: string
  /** µs since 1970 */
  readonly time: number
  readonly commit?: {
    readonly rev: string
    readonly operation: 'create' | 'update' | 'delete'
    readonly collection: string
    readonly rkey: string
    readonly record?: unknown
    readonly cid?: string
  }
  readonly account?: { readonly active: boolean; readonly status?: string }
}

/** A relay of the tests' own, which keeps what it was given and sends it as Jetstream does. */
export interface TestRelay {
  /** Of the first and of the second generation. */
  readonly urls: { readonly v1: string; readonly v2: string }
  /** What it was asked for at each connection, in order. */
  readonly asked: readonly URLSearchParams[]
  /** Events, or frames as they are. */
  give(...events: (RelayedEvent | string)[]): void
  /** Forgets all but the last so many. */
  forget(but: number): void
  /** Ends all connections, without a word. */
  drop(): void
  /** After so many more frames on each connection it drops it; null: never. */
  dropEvery(frames: number | null): void
  /** Bytes that wait in it to be sent. */
  unsent(): number
  connections(): number
  close(): Promise<void>
}

/** A dictionary that was trained on events such as these tests write, of the id 77. */
export const DICTIONARY = Buffer.from(
  readFileSync(join(import.meta.dirname, '..', 'producers', 'jetstream', 'dictionary.base64'), 'utf8'),
  'base64',
)

/** Starts one; with a dictionary it compresses for those who ask. */
export async function startRelay({
  certificates,
  dictionary,
}: {
  certificates?: Certificates
  dictionary?: Buffer
} = {}): Promise<TestRelay> {
  const events: { readonly seq: number; readonly event: RelayedEvent | string }[] = []
  const asked: URLSearchParams[] = []
  const sockets = new Map<WebSocket, { query: URLSearchParams; isNewer: boolean; next: number; sent: number }>()
  let [seq, dropAfter] = [0, null as number | null]

  const listener = (request: IncomingMessage, response: ServerResponse) => {
    if (dictionary !== undefined && request.url?.startsWith('/xrpc/network.bsky.jetstream.getZstdDictionary'))
      response.end(dictionary)
    else response.writeHead(404).end()
  }
  const http =
    certificates === undefined
      ? createServer(listener)
      : createSecureServer({ cert: readFileSync(certificates.cert), key: readFileSync(certificates.key) }, listener)
  const server = new WebSocketServer({ noServer: true })
  http.on('upgrade', (request, socket, head) => {
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://relay')
    const isNewer = pathname.startsWith('/xrpc/')
    asked.push(query)
    const first = events[0]
    const cursor = query.get('cursor') === null ? null : Number(query.get('cursor'))
    if (isNewer && cursor !== null && cursor < 1e15 && first !== undefined && cursor < first.seq) {
      const body = JSON.stringify({ error: 'CursorTooOld', message: `seq ${cursor} is below the floor ${first.seq}` })
      socket.end(
        `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      )
      return
    }
    server.handleUpgrade(request, socket, head, (client) => {
      const from = cursor === null ? events.length : events.findIndex((one) => isAtOrAfter(one, cursor))
      sockets.set(client, { query, isNewer, next: from === -1 ? events.length : from, sent: 0 })
      client.on('close', () => sockets.delete(client))
      client.on('error', () => {})
      if (isNewer && cursor !== null && cursor >= 1e15 && first !== undefined && cursor < timeOf(first.event))
        client.send(
          JSON.stringify({
            $type: 'message',
            payload: { $type: `${TYPE}info`, name: 'OutdatedCursor', message: `from ${first.seq}` },
          }),
        )
      flush(client)
    })
  })

  function flush(client: WebSocket): void {
    const state = sockets.get(client)
    if (state === undefined) return
    for (; state.next < events.length; state.next++) {
      if (dropAfter !== null && state.sent++ >= dropAfter) {
        client.terminate()
        return
      }
      const one = events[state.next]
      if (one === undefined) return
      const text =
        typeof one.event === 'string'
          ? one.event
          : JSON.stringify(state.isNewer ? framed(one.seq, one.event) : bare(one.event))
      if (state.query.has('zstdDictionary') && dictionary !== undefined)
        client.send(zstdCompressSync(text, { dictionary }))
      else client.send(text)
    }
  }

  await once(http.listen(0, '127.0.0.1'), 'listening')
  const base = `${certificates === undefined ? 'ws' : 'wss'}://127.0.0.1:${(http.address() as AddressInfo).port}`
  return {
    urls: { v1: `${base}/subscribe`, v2: `${base}/xrpc/network.bsky.jetstream.subscribeEvents` },
    asked,
    give(...given) {
      for (const event of given) events.push({ seq: ++seq, event })
      for (const client of sockets.keys()) flush(client)
    },
    forget(but) {
      const gone = events.splice(0, Math.max(0, events.length - but)).length
      for (const state of sockets.values()) state.next = Math.max(0, state.next - gone)
    },
    drop() {
      for (const client of sockets.keys()) client.terminate()
    },
    dropEvery(frames) {
      dropAfter = frames
    },
    unsent: () => [...sockets.keys()].reduce((sum, { bufferedAmount }) => sum + bufferedAmount, 0),
    connections: () => sockets.size,
    async close() {
      for (const client of sockets.keys()) client.terminate()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

const TYPE = 'network.bsky.jetstream.subscribeEvents#'

function timeOf(event: RelayedEvent | string): number {
  return typeof event === 'string' ? 0 : event.time
}

function isAtOrAfter({ seq, event }: { seq: number; event: RelayedEvent | string }, cursor: number): boolean {
  return cursor < 1e15 ? seq >= cursor : timeOf(event) >= cursor
}

function bare({ did, time, commit, account }: RelayedEvent): unknown {
  const own =
    commit === undefined
      ? { kind: 'account', account: { ...account, did, seq: 1, time: '2026-01-01T00:00:00Z' } }
      : { kind: 'commit', commit }
  return { did, time_us: time, ...own }
}

function framed(seq: number, { did, time, commit, account }: RelayedEvent): unknown {
  const iso = `${new Date(Math.floor(time / 1_000)).toISOString().slice(0, -1)}${String(time % 1_000).padStart(3, '0')}Z`
  const own =
    commit === undefined
      ? { $type: `${TYPE}account`, account: { ...account, did, seq: 1, time: iso } }
      : { $type: `${TYPE}commit`, ...commit }
  return { $type: 'message', payload: { ...own, seq, did, time: iso } }
}

const DIGITS = '234567abcdefghijklmnopqrstuvwxyz'

/** A timestamp identifier of this time, µs since 1970. */
export function tidOf(micros: number): string {
  let text = ''
  for (let left = BigInt(micros) << 10n; text.length < 13; left >>= 5n) text = DIGITS[Number(left & 31n)] + text
  return text
}
