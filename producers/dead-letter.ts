import { jsonOf } from '../src/contracts/facts/json-of.ts'
import { type DeadLetter, type DeadLetterReason, deadLetter } from '../src/contracts/facts/messages.ts'
import type { Report } from '../src/contracts/ports/report.ts'
import type { Origin } from '../src/contracts/ports/threads.ts'
import type { IncomingMessage } from '../src/contracts/ports/topic.ts'
import { CORRUPT_BATCH, isUnfolded, KEPT_HEADERS } from '../src/stream/record.ts'

/** Longest part of a message that a dead letter carries, in bytes: as base64 it fits a broker's default limit. */
export const MAX_RAW_BYTES = 256 * 1024
/**
 * That of a message which is refused for want of memory: its letter waits in the same memory. And that of one which was many times
 * smaller as it was sent: letters of a few kilobytes would take gigabytes. A replay reads the message where it was.
 */
const REFUSED_RAW_BYTES = 1024

/**
 * A dead letter for the message; `bytes` is the message's full length if only part of it was kept. The message's bytes
 * are in it as base64, so that no reader takes them for text. It has the broker's timestamp, so that a message that is
 * read again gets the same dead letter, byte for byte.
 */
export function deadLetterOf(
  from: Pick<IncomingMessage, 'topic' | 'partition' | 'offset' | 'key' | 'headers' | 'value' | 'timestamp'>,
  why: { reason: DeadLetterReason; detail: string },
  bytes = from.value?.length ?? 0,
): { key: string; letter: string } {
  const raw = from.value ?? Buffer.alloc(0)
  const mostRaw = why.reason === 'over-share' || isUnfolded(raw) ? REFUSED_RAW_BYTES : MAX_RAW_BYTES
  const letter: DeadLetter = {
    schema: 1,
    topic: from.topic,
    partition: from.partition,
    offset: from.offset,
    key: from.key === null ? null : from.key.slice(0, MAX_KEY_CHARS),
    headers: Object.fromEntries(
      Object.entries(from.headers)
        .filter(([name]) => name !== CORRUPT_BATCH)
        .slice(0, KEPT_HEADERS)
        .map(([name, value]) => [name.slice(0, MAX_HEADER_CHARS), value.slice(0, MAX_HEADER_CHARS)]),
    ),
    reason: why.reason,
    detail: why.detail.slice(0, 1_000),
    raw: raw.subarray(0, mostRaw).toString('base64'),
    rawBytes: bytes,
    truncated: bytes > Math.min(raw.length, mostRaw),
    at: dateOf(from.timestamp),
  }
  return {
    key: (from.key ?? `${from.topic}/${from.partition}/${from.offset}`).slice(0, MAX_KEY_CHARS),
    letter: JSON.stringify(letter),
  }
}

/** Makes and reports the dead letter of a comment whose post never arrived. */
export function orphanLetters(report: Report) {
  return ({ topic, partition, offset, timestamp, raw, bytes, standsFor }: Origin) => {
    const without =
      standsFor === undefined
        ? "; comment was over the thread's cap, content not stored"
        : `; the last of ${standsFor} comments over the thread's cap, nothing of the others stored`
    const detail = `the post never arrived${raw === '' ? without : ''}`
    report('message:dead', { topic, partition, offset, reason: 'orphan-expired', detail })
    const value = Buffer.from(raw, 'base64')
    const from = { topic, partition, offset, timestamp, key: null, headers: {}, value }
    return deadLetterOf(from, { reason: 'orphan-expired', detail }, bytes)
  }
}

/** The last ms of the year 9999. A producer may set any number as a record's time. */
const LATEST_MS = Date.UTC(10_000, 0) - 1

/** A record's time as its dead letter gives it. */
export function dateOf(timestamp: number): string {
  return new Date(Math.min(Math.max(timestamp, 0), LATEST_MS)).toISOString()
}

const MAX_KEY_CHARS = 1_024
const MAX_HEADER_CHARS = 256

/**
 * A dead letter with fewer of the message's bytes, then also without its headers and key. Null if another version wrote
 * it in a form that this one can't read.
 */
export function shortenedLetter(json: string, bytes: number): string | null {
  const read = deadLetter.safeParse(jsonOf({ value: json }))
  if (!read.success) return null
  const bare: DeadLetter = { ...read.data, raw: '', truncated: read.data.rawBytes > 0 }
  const room = bytes - Buffer.byteLength(JSON.stringify(bare))
  if (room < 4) return JSON.stringify({ ...bare, headers: {}, key: null, detail: bare.detail.slice(0, 100) })
  const raw = read.data.raw.slice(0, Math.floor(room / 4) * 4)
  return JSON.stringify({ ...bare, raw, truncated: read.data.truncated || raw.length < read.data.raw.length })
}
