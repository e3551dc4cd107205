import type { z } from 'zod'
import { entryOf } from '../src/contracts/facts/entry-of.ts'
import type { DeadLetterReason } from '../src/contracts/facts/messages.ts'
import { type ReadLimits, readValue } from '../src/contracts/facts/read-value.ts'
import type { Clock } from '../src/contracts/ports/clock.ts'
import type { MessagePlace } from '../src/contracts/ports/threads.ts'
import type { IncomingMessage } from '../src/contracts/ports/topic.ts'
import { CORRUPT_BATCH } from '../src/stream/record.ts'
import { mappedPlace } from './source-place.ts'

/** A message that was read. */
export interface ValidMessage<Message> {
  readonly ok: true
  readonly message: Message
  readonly from: IncomingMessage
}

export interface InvalidMessage {
  readonly ok: false
  readonly reason: DeadLetterReason
  readonly detail: string
  readonly from: IncomingMessage
  /** What it says, if it is JSON. */
  readonly json?: unknown
}

/** Messages as they were read: those that say something, and those that can't be read, with why; both in order. */
export interface ParsedMessages<Message> {
  readonly valid: readonly ValidMessage<Message>[]
  readonly invalid: readonly InvalidMessage[]
}

/** Parses messages of one topic against its schema. */
export function parseMessages<Message extends { createdAt: number }>(
  { schema }: { readonly schema: z.ZodType<Message> },
  { limits, clock }: { readonly limits: ReadLimits; readonly clock: Clock },
  incoming: readonly IncomingMessage[],
): ParsedMessages<Message> {
  const now = clock()
  const all = incoming.map((from) => readMessage(from, schema, limits, now))
  return { valid: all.filter((one) => one.ok), invalid: all.filter((one) => !one.ok) }
}

/** Parses one message against its schema. An error names what is wrong and where, and never quotes the message. */
export function readMessage<Message extends { createdAt: number }>(
  from: IncomingMessage,
  schema: z.ZodType<Message>,
  limits: ReadLimits,
  now: number,
): ValidMessage<Message> | InvalidMessage {
  const corrupt = entryOf(from.headers, CORRUPT_BATCH)
  if (corrupt !== undefined) return dead(from, 'corrupt-batch', corrupt.slice(0, 1_000))
  if (from.headersCut !== undefined) return dead(from, 'too-large', from.headersCut)
  if (from.value === null)
    return dead(from, 'invalid', 'the message has no value (a tombstone: delete with "deleted": true)')
  const read = readValue(from.value, schema, limits, now)
  return read.ok
    ? { ok: true, message: read.message, from }
    : { ...dead(from, read.reason, read.detail), json: read.json }
}

function dead(from: IncomingMessage, reason: DeadLetterReason, detail: string): InvalidMessage {
  return { ok: false, reason, detail, from }
}

/** A message's position, which the thread store remembers: of one that was mapped, that of what it was made of. */
export function placeOf(from: IncomingMessage): MessagePlace {
  const { topic, partition, offset, timestamp } = from
  return mappedPlace(from) ?? { topic, partition, offset, timestamp }
}
