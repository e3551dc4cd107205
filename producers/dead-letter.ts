import { CORRUPT_BATCH } from '../src/adapters/kafka/codecs.ts'
import { jsonOf } from '../src/domain/json-of.ts'
import { type DeadLetter, type DeadLetterReason, deadLetter } from '../src/domain/messages.ts'
import type { Incoming } from '../src/ports/topic.ts'

/** Longest part of a message that a dead letter carries, in bytes: base64 of it fits a broker's default limit. */
const MAX_RAW_BYTES = 256 * 1024

/**
 * A dead letter for the message, which was `bytes` long where less of it was kept. The message's bytes stand in it as base64,
 * so that nothing in them is text to whoever reads it. It is dated by the broker: a message that is read again has the same
 * dead letter, byte for byte.
 */
export function deadLetterOf(
  from: Pick<Incoming, 'topic' | 'partition' | 'offset' | 'key' | 'headers' | 'value' | 'timestamp'>,
  why: { reason: DeadLetterReason; detail: string },
  bytes = from.value?.length ?? 0,
): { key: string; letter: string } {
  const raw = from.value ?? Buffer.alloc(0)
  const letter: DeadLetter = {
    schema: 1,
    topic: from.topic,
    partition: from.partition,
    offset: from.offset,
    key: from.key === null ? null : from.key.slice(0, MAX_KEY_CHARS),
    headers: Object.fromEntries(
      Object.entries(from.headers)
        .filter(([name]) => name !== CORRUPT_BATCH)
        .slice(0, MAX_HEADERS)
        .map(([name, value]) => [name.slice(0, MAX_HEADER_CHARS), value.slice(0, MAX_HEADER_CHARS)]),
    ),
    reason: why.reason,
    detail: why.detail.slice(0, 1_000),
    raw: raw.subarray(0, MAX_RAW_BYTES).toString('base64'),
    rawBytes: bytes,
    truncated: bytes > Math.min(raw.length, MAX_RAW_BYTES),
    at: dateOf(from.timestamp),
  }
  return {
    key: (from.key ?? `${from.topic}/${from.partition}/${from.offset}`).slice(0, MAX_KEY_CHARS),
    letter: JSON.stringify(letter),
  }
}

/** The last ms that four digits of a year can write. What a producer sets as its record's time may be any number. */
const LATEST_MS = Date.UTC(10_000, 0) - 1

/** A record's time as its dead letter tells it. */
export function dateOf(timestamp: number): string {
  return new Date(Math.min(Math.max(timestamp, 0), LATEST_MS)).toISOString()
}

const MAX_KEY_CHARS = 1_024
const MAX_HEADERS = 32
const MAX_HEADER_CHARS = 256

/**
 * A dead letter with less of the message's bytes; then without its headers and its key as well. Null where another version
 * wrote it, which this one can't read.
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
