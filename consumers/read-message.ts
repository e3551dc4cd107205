import type { z } from 'zod'
import { CORRUPT_BATCH } from '../src/adapters/kafka/codecs.ts'
import { cut, type LeftOut } from '../src/domain/cut.ts'
import { entryOf } from '../src/domain/entry-of.ts'
import type { DeadLetter, DeadLetterReason } from '../src/domain/messages.ts'
import type { Place } from '../src/ports/threads.ts'
import type { Incoming } from '../src/ports/topic.ts'

export interface ReadLimits {
  /** Longest message value, in bytes. */
  readonly maxBytes: number
  /** A `createdAt` further ahead of the wall clock than this is a mistake or an attack, in ms. */
  readonly maxAheadMs: number
}

export type Read<Message> =
  | { readonly ok: true; readonly message: Message; readonly from: Incoming }
  | { readonly ok: false; readonly reason: DeadLetterReason; readonly detail: string; readonly from: Incoming }

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** Reads one message against its schema. A fault is named by what is wrong and where, never by the text that is there. */
export function readMessage<Message extends { createdAt: number }>(
  from: Incoming,
  schema: z.ZodType<Message>,
  limits: ReadLimits,
  now: number,
): Read<Message> {
  const dead = (reason: DeadLetterReason, detail: string): Read<Message> => ({ ok: false, reason, detail, from })
  const corrupt = entryOf(from.headers, CORRUPT_BATCH)
  if (corrupt !== undefined) return dead('corrupt-batch', corrupt.slice(0, 1_000))
  if (from.value === null) return dead('invalid', 'the message has no value')
  if (from.value.length > limits.maxBytes)
    return dead('too-large', `${from.value.length} bytes, at most ${limits.maxBytes} are taken`)
  if (from.value.length > 2 * MAX_DEPTH && depthOf(from.value) > MAX_DEPTH)
    return dead('invalid', `nested deeper than ${MAX_DEPTH} levels`)
  let json: unknown
  try {
    json = JSON.parse(strictUtf8.decode(from.value))
  } catch {
    return dead('not-json', 'the value is not JSON in UTF-8')
  }
  const parsed = schema.safeParse(json)
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'message'}: ${issue.message}`)
    return dead('invalid', faults.join('; ').slice(0, 1_000))
  }
  if (parsed.data.createdAt > now + limits.maxAheadMs) return dead('future', 'createdAt lies in the future')
  return { ok: true, message: parsed.data, from }
}

/** Far more than any message needs. V8 takes a tenth of a second for a megabyte of brackets, a hundred times its usual. */
const MAX_DEPTH = 1_000
const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [...Buffer.from('"\\[]{}')]

/** How deep the lists and objects of this JSON are nested; of what is no JSON, any number. */
function depthOf(json: Buffer): number {
  let [depth, deepest, quoted] = [0, 0, false]
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (quoted) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) quoted = false
    } else if (byte === QUOTE) quoted = true
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) deepest = Math.max(deepest, ++depth)
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
  }
  return deepest
}

/** Where a message stands in its topic, for the thread that takes it. */
export function placeOf({ partition, offset, timestamp }: Incoming): Place {
  return { partition, offset, timestamp }
}

/** Longest part of a message that a dead letter carries, in bytes: base64 of it fits a broker's default limit. */
const MAX_RAW_BYTES = 256 * 1024

/**
 * A dead letter for the message, `bytes` long where less of it was kept; its bytes are base64, so that nothing in them is text to whoever reads it. It is dated by the
 * broker: a message that is read again has the same dead letter, byte for byte.
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

/** A text in at most so many characters, and, where any are left out, how many of how many. */
export function shortened(text: string, characters: number): { text: string; cut?: LeftOut } {
  const { text: kept, left } = cut(text, characters)
  return left === 0 ? { text: kept } : { text: kept, cut: { left, of: text.length } }
}
