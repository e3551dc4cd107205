import { createHash } from 'node:crypto'
import type { Tap } from './proxy.ts'

/** One question on its way to the model, as a proxy saw it pass. */
export interface Asked {
  readonly call: string
  /** The process that asked. */
  readonly by: string
  /** The same for the same question: a hash of its body. */
  readonly question: string
  /** The subject whose words stand in it; null where no text of the stream does. */
  readonly subject: string | null
}

/** How a text of the stream says whose it is, in letters that every prompt keeps as they are. */
export const markOf = (subject: string) => `zq${subject.replace('-', 'x')}qz`
const MARK = /zq([a-z]+)x(\d+)qz/

const HEAD_END = '\r\n\r\n'

/** Reads HTTP/1.1 requests with a length along a connection; tells each one that names its call. */
export function tapRequests(by: string, tell: (asked: Asked) => void): Tap {
  let text = ''
  return (chunk) => {
    // One character a byte, so that lengths are lengths.
    text += chunk.toString('latin1')
    for (;;) {
      const end = text.indexOf(HEAD_END)
      if (end < 0) return
      const head = text.slice(0, end)
      const length = Number(/^content-length: *(\d+)$/im.exec(head)?.[1] ?? 0)
      const from = end + HEAD_END.length
      if (text.length < from + length) return
      const body = text.slice(from, from + length)
      text = text.slice(from + length)
      const call = /^x-gavel-call: *(\S+)$/im.exec(head)?.[1]
      const mark = MARK.exec(body)
      if (call !== undefined)
        tell({
          call,
          by,
          question: createHash('sha256').update(body).digest('base64url').slice(0, 16),
          subject: mark === null ? null : `${mark[1]}-${mark[2]}`,
        })
    }
  }
}
