import { IncomingMessage } from 'node:http'

// A request takes more memory than it has bytes: its headers and the pieces of its body are objects.

/** Headers of a request that are read. A proxy's request has some dozen. */
const MOST_HEADERS = 100
/** For the server's `maxHeadersCount`, which leaves out the rest without a word: one more tells that there are more. */
export const HEADERS_READ = MOST_HEADERS + 1

export function hasTooManyHeaders({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.length / 2 > MOST_HEADERS
}

/** What a name or a value takes beside its characters, in bytes. */
const TEXT_BYTES = 32
/** A body of which only its end tells how long it is counts as so many bytes. */
const UNTOLD_BYTES = 16_384

/** About how much memory a request takes while it waits behind another one, in bytes. */
export function bytesOf({ rawHeaders, headers, url = '' }: IncomingMessage): number {
  const body = 'transfer-encoding' in headers ? UNTOLD_BYTES : Number(headers['content-length'] ?? 0)
  return rawHeaders.reduce((sum, text) => sum + text.length + TEXT_BYTES, url.length + body)
}

/** Shorter pieces of a body are put together, in bytes. */
const PIECE_BYTES = 4_096
const NO_BYTES: Buffer = Buffer.alloc(0)

/** A request whose body is handed on in pieces of some kilobytes: of one that is sent byte by byte each byte would be an object of some hundred. */
export class RequestInPieces extends IncomingMessage {
  #piece: Buffer = NO_BYTES
  #length = 0

  override push(chunk: Buffer | null): boolean {
    if (chunk === null) {
      this.#handOn()
      return super.push(null)
    }
    const isFull = this.#length + chunk.length > PIECE_BYTES
    const isWanted = isFull ? this.#handOn() : true
    if (chunk.length >= PIECE_BYTES) return super.push(chunk)
    if (this.#length === 0) this.#piece = chunk
    else {
      if (this.#piece.length < PIECE_BYTES) this.#piece = Buffer.concat([this.#piece], PIECE_BYTES)
      chunk.copy(this.#piece, this.#length)
    }
    this.#length += chunk.length
    return isWanted
  }

  #handOn(): boolean {
    const joined = this.#piece.subarray(0, this.#length)
    this.#length = 0
    return joined.length === 0 || super.push(joined)
  }
}
