import type { IncomingMessage } from 'node:http'
import { zstdDecompressSync } from 'node:zlib'
import { WebSocket } from 'ws'
import { z } from 'zod'

/** Longest frame that is read, in bytes: a post has a tenth of it. Relays are asked to leave out longer ones. */
export const MOST_FRAME_BYTES = 262_144
/** A relay that sends longer ones all the same is left, before they are in memory. */
const MOST_PAYLOAD_BYTES = 8 * 2 ** 20
/** The socket is read no further while so many frames, or bytes of them, wait; and again below half of that. */
const [MOST_WAITING, MOST_WAITING_BYTES] = [2_000, 4 * 2 ** 20]
const HANDSHAKE_MS = 10_000
/** How often a relay is asked for a sign of life, and after how long without one it is left, in ms. */
const [PING_MS, SILENT_MS] = [15_000, 45_000]
/** Longest part of a refusal that is read, in bytes, and shown, in characters. */
const [MOST_REFUSAL_BYTES, MOST_SAID] = [4_096, 300]

/** A relay that ended its stream, or began none; `reason` is its own name for why, if it gave one. */
export class RelayEnded extends Error {
  override readonly name = 'RelayEnded'
  readonly reason: string
  constructor(message: string, reason = '') {
    super(message)
    this.reason = reason
  }
}

/** The stream of a relay. */
export interface RelayStream {
  /**
   * The next frames, at most so many, null for one that is too long; none if none came in time. Rejects with a `RelayEnded` once all that
   * came before its end has been taken.
   */
  take(most: number, withinMs: number): Promise<(string | null)[]>
  close(): void
}

type OpenRelay = (
  url: string,
  ask: { readonly ca?: Buffer | undefined; readonly dictionary?: Buffer | undefined },
) => Promise<RelayStream>

/** Connects; frames are read only as fast as they are taken. Rejects with a `RelayEnded` if the relay gives no stream. */
export const openRelay: OpenRelay = (url, { ca, dictionary }) => {
  const socket = new WebSocket(url, {
    maxPayload: MOST_PAYLOAD_BYTES,
    handshakeTimeout: HANDSHAKE_MS,
    // What it would save costs the relay most of its processor time, and a short frame may become a very long one.
    perMessageDeflate: false,
    ...(ca === undefined ? {} : { ca }),
  })
  const waiting: (string | null)[] = []
  let bytes = 0
  let isPaused = false
  let ended: RelayEnded | null = null
  let heard = performance.now()
  let wake = () => {}

  function end(error: RelayEnded): void {
    ended ??= error
    clearInterval(pinging)
    wake()
  }

  const pinging = setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN || isPaused) return
    if (performance.now() - heard > SILENT_MS) {
      end(new RelayEnded(`nothing was heard of it for ${SILENT_MS / 1_000} s`))
      socket.terminate()
    } else socket.ping()
  }, PING_MS)

  const sign = () => {
    heard = performance.now()
  }
  socket.on('pong', sign)
  socket.on('ping', sign)
  socket.on('message', (data: Buffer, isBinary) => {
    sign()
    const frame = isBinary ? unpacked(data, dictionary) : data.length > MOST_FRAME_BYTES ? null : data.toString()
    if (frame instanceof RelayEnded) {
      end(frame)
      socket.terminate()
      return
    }
    waiting.push(frame)
    bytes += frame?.length ?? 0
    if (!isPaused && (waiting.length >= MOST_WAITING || bytes >= MOST_WAITING_BYTES)) {
      isPaused = true
      socket.pause()
    }
    wake()
  })
  socket.on('close', (code, said) => end(new RelayEnded(`it closed the connection (${code}${reasonIn(said)})`)))
  const opened = new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('unexpected-response', (_, response) => {
      void refusalOf(response).then((refusal) => {
        reject(refusal)
        end(refusal)
        socket.terminate()
      })
    })
    socket.on('error', (error) => {
      const failed = new RelayEnded(error.message === '' && 'code' in error ? String(error.code) : error.message)
      reject(failed)
      end(failed)
    })
  })

  return opened.then(() => ({
    async take(most, withinMs) {
      if (waiting.length === 0 && ended === null)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, withinMs)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      wake = () => {}
      if (waiting.length === 0 && ended !== null) throw ended
      const frames = waiting.splice(0, most)
      for (const frame of frames) bytes -= frame?.length ?? 0
      if (isPaused && waiting.length < MOST_WAITING / 2 && bytes < MOST_WAITING_BYTES / 2) {
        isPaused = false
        sign()
        socket.resume()
      }
      return frames
    },
    close() {
      end(new RelayEnded('it was left'))
      socket.terminate()
    },
  }))
}

/** A compressed frame as text; null if it is too long. */
function unpacked(data: Buffer, dictionary: Buffer | undefined): string | null | RelayEnded {
  try {
    const options = { maxOutputLength: MOST_FRAME_BYTES, ...(dictionary === undefined ? {} : { dictionary }) }
    return zstdDecompressSync(data, options).toString()
  } catch (error) {
    if (error instanceof RangeError) return null
    return new RelayEnded('its compressed frames can’t be read here: set jetstream.compress to false')
  }
}

const refusal = z.object({ error: z.string(), message: z.string().optional() })

async function refusalOf(response: IncomingMessage): Promise<RelayEnded> {
  let body = ''
  try {
    response.setTimeout(HANDSHAKE_MS, () => response.destroy())
    for await (const part of response) {
      body += part
      if (body.length > MOST_REFUSAL_BYTES) break
    }
  } catch {
    // What came of it will do.
  }
  const said = `it answered ${response.statusCode}`
  try {
    const { error, message = '' } = refusal.parse(JSON.parse(body))
    return new RelayEnded(`${said}, ${error}: ${message}`.slice(0, MOST_SAID), error)
  } catch {
    return new RelayEnded(`${said}: ${body}`.slice(0, MOST_SAID))
  }
}

function reasonIn(said: Buffer): string {
  return said.length === 0 ? '' : `, ${said.toString().slice(0, MOST_SAID)}`
}
