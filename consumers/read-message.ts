import type { z } from 'zod'
import { entryOf } from '../src/contracts/facts/entry-of.ts'
import type { DeadLetterReason } from '../src/contracts/facts/messages.ts'
import { type ReadLimits, readValue } from '../src/contracts/facts/read-value.ts'
import type { Clock } from '../src/contracts/ports/clock.ts'
import type { Place } from '../src/contracts/ports/threads.ts'
import type { Incoming } from '../src/contracts/ports/topic.ts'
import { CORRUPT_BATCH } from '../src/stream/record.ts'

/** A message that was read. */
export interface Read<Message> {
  readonly ok: true
  readonly message: Message
  readonly from: Incoming
}

interface Unreadable {
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

/** Parses messages of one topic against its schema. */
export function readBatch<Message extends { createdAt: number }>(
  { schema }: { readonly schema: z.ZodType<Message> },
  { limits, clock }: { readonly limits: ReadLimits; readonly clock: Clock },
  incoming: readonly Incoming[],
): ReadBatch<Message> {
  const now = clock()
  const all = incoming.map((from) => readMessage(from, schema, limits, now))
  return { good: all.filter((one) => one.ok), bad: all.filter((one) => !one.ok) }
}

/** Parses one message against its schema. An error names what is wrong and where, and never quotes the message. */
export function readMessage<Message extends { createdAt: number }>(
  from: Incoming,
  schema: z.ZodType<Message>,
  limits: ReadLimits,
  now: number,
): Read<Message> | Unreadable {
  const corrupt = entryOf(from.headers, CORRUPT_BATCH)
  if (corrupt !== undefined) return dead(from, 'corrupt-batch', corrupt.slice(0, 1_000))
  if (from.headersCut !== undefined) return dead(from, 'too-large', from.headersCut)
  if (from.value === null)
    return dead(from, 'invalid', 'the message has no value (a tombstone: delete with "deleted": true)')
  const read = readValue(from.value, schema, limits, now)
  return read.ok ? { ok: true, message: read.message, from } : dead(from, read.reason, read.detail)
}

function dead(from: Incoming, reason: DeadLetterReason, detail: string): Unreadable {
  return { ok: false, reason, detail, from }
}

/** A message's position in its topic, which the thread store remembers. */
export function placeOf({ partition, offset, timestamp }: Incoming): Place {
  return { partition, offset, timestamp }
}
