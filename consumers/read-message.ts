import type { z } from 'zod'
import { CORRUPT_BATCH } from '../src/service/adapters/kafka/corrupt-batch.ts'
import { cut, type LeftOut } from '../src/service/domain/cut.ts'
import { entryOf } from '../src/service/domain/entry-of.ts'
import { MAX_DEPTH, parseMessage, withoutDeepFields } from '../src/service/domain/message-json.ts'
import { type DeadLetterReason, MESSAGE_FIELDS } from '../src/service/domain/messages.ts'
import type { Place } from '../src/service/ports/threads.ts'
import type { Incoming } from '../src/service/ports/topic.ts'

export interface ReadLimits {
  /** Longest message value, in bytes. */
  readonly maxMessageBytes: number
  /** A `createdAt` further in the future than this, by the wall clock, is a mistake or an attack, in ms. */
  readonly maxAhead: number
}

/** A message that was read. */
export interface Read<Message> {
  readonly ok: true
  readonly message: Message
  readonly from: Incoming
}

/** One that can't be read, and why. */
export interface Unreadable {
  readonly ok: false
  readonly reason: DeadLetterReason
  readonly detail: string
  readonly from: Incoming
}

/** Messages as they were read: those that say something, and those that can't be read, with why; both in order. */
export interface ReadBatch<Message> {
  readonly good: readonly Read<Message>[]
  readonly bad: readonly Unreadable[]
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** Parses one message against its schema. An error names what is wrong and where, and never quotes the message. */
export function readMessage<Message extends { createdAt: number }>(
  from: Incoming,
  schema: z.ZodType<Message>,
  limits: ReadLimits,
  now: number,
): Read<Message> | Unreadable {
  const corrupt = entryOf(from.headers, CORRUPT_BATCH)
  if (corrupt !== undefined) return dead(from, 'corrupt-batch', corrupt.slice(0, 1_000))
  if (from.value === null)
    return dead(from, 'invalid', 'the message has no value (a tombstone: delete with "deleted": true)')
  if (from.value.length > limits.maxMessageBytes)
    return dead(from, 'too-large', `${from.value.length} bytes exceed the limit of ${limits.maxMessageBytes}`)
  const shallow = withoutDeepFields(from.value, MESSAGE_FIELDS)
  if (shallow === null) return dead(from, 'invalid', `nested deeper than ${MAX_DEPTH} levels`)
  let json: unknown
  try {
    json = parseMessage(strictUtf8.decode(shallow))
  } catch {
    return dead(from, 'not-json', `the value is not JSON in UTF-8${envelopeOf(from.value)}`)
  }
  const parsed = schema.safeParse(json)
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'message'}: ${issue.message}`)
    return dead(from, 'invalid', `${faults.join('; ').slice(0, 800)}${envelopeOf(from.value, json)}`)
  }
  if (parsed.data.createdAt > now + limits.maxAhead) return dead(from, 'future', 'createdAt is in the future')
  return { ok: true, message: parsed.data, from }
}

function dead(from: Incoming, reason: DeadLetterReason, detail: string): Unreadable {
  return { ok: false, reason, detail, from }
}

/** A message's position in its topic, which the thread store remembers. */
export function placeOf({ partition, offset, timestamp }: Incoming): Place {
  return { partition, offset, timestamp }
}

/** A text shortened to this many characters, with the numbers of characters left out and in all if any are left out. */
export function shortened(text: string, characters: number): { text: string; cut?: LeftOut } {
  const { text: kept, left } = cut(text, characters)
  return left === 0 ? { text: kept } : { text: kept, cut: { left, of: text.length } }
}

/** What a message that can't be read was wrapped in, in words for its dead letter; empty if it looks like nothing known. */
function envelopeOf(value: Buffer, json?: unknown): string {
  const known = json === undefined ? wrappedBytes(value) : wrappedJson(json)
  return known === undefined ? '' : ` (${known})`
}

/** Framings and encodings, by the bytes that they begin with. */
const BEGINNINGS: readonly (readonly [bytes: readonly number[], what: string])[] = [
  [[0x00], 'it begins with a zero byte, as what a schema registry frames: send plain JSON'],
  [[0x1f, 0x8b], 'it is gzip: compress the topic, not the value'],
  [[0x28, 0xb5, 0x2f, 0xfd], 'it is Zstandard: compress the topic, not the value'],
  [[0xff, 0xfe], 'it is UTF-16: send UTF-8'],
  [[0xfe, 0xff], 'it is UTF-16: send UTF-8'],
  [[0x7b, 0x00], 'it is UTF-16: send UTF-8'],
]

function wrappedBytes(value: Buffer): string | undefined {
  return BEGINNINGS.find(([bytes]) => bytes.every((byte, at) => value[at] === byte))?.[1]
}

function wrappedJson(json: unknown): string | undefined {
  if (typeof json === 'string') return 'it is JSON within a JSON text: encode it once'
  if (Array.isArray(json)) return 'it is a list: send each message by itself'
  if (typeof json !== 'object' || json === null) return undefined
  if ('specversion' in json) return 'it is a CloudEvent: send what is in its "data"'
  if ('payload' in json && 'schema' in json)
    return 'it is in the envelope of Kafka Connect: set value.converter.schemas.enable to false'
  if ('op' in json && ('after' in json || 'before' in json))
    return 'it is a change event of Debezium: unwrap it (ExtractNewRecordState)'
  return undefined
}
