import { entryOf } from '../src/contracts/facts/entry-of.ts'
import type { MessagePlace } from '../src/contracts/ports/threads.ts'
import type { IncomingMessage } from '../src/contracts/ports/topic.ts'

/** On a message that was mapped: the record that it was made of, as `TOPIC/PARTITION@OFFSET#NTH TIME`… */
export const SOURCE_HEADER = 'gavel-source'
/** …and the hash of the mapping. */
export const MAPPING_HEADER = 'gavel-mapping'

/** The hash of the mapping that a message came through; undefined where it came through none. */
export function mappingOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const hash = entryOf(headers, MAPPING_HEADER)
  // Whoever writes to an input topic may write any header.
  return hash !== undefined && /^[0-9a-f]{16}$/.test(hash) ? hash : undefined
}

/** On a message that was sent again because it was a dead letter: how often. */
export const REPLAYS_HEADER = 'gavel-replays'

/** One record may give a thousand messages: the places of the next record's come behind all of these. */
const DIGITS_OF_NTH = 3
const SOURCE = /^([\w.-]{1,249})\/(\d{1,9})@(0|[1-9]\d{0,14})#(0|[1-9]\d{0,2}) (-?\d{1,16})$/

/** Names the record that the nth of its messages was made of. */
export function sourceOf({ topic, partition, offset, timestamp }: IncomingMessage, nth: number): string {
  return `${topic}/${partition}@${offset}#${nth} ${timestamp}`
}

/**
 * Where the record stands of which a message was mapped: sent again after a crash, the message stands elsewhere in its topic, and the
 * record where it was. Undefined where it was not mapped, and of a replayed dead letter, which comes behind what was taken meanwhile.
 */
export function mappedPlace({ headers }: Pick<IncomingMessage, 'headers'>): MessagePlace | undefined {
  const text = entryOf(headers, SOURCE_HEADER)
  if (text === undefined || Object.hasOwn(headers, REPLAYS_HEADER)) return undefined
  const [, topic, partition, offset, nth, timestamp] = SOURCE.exec(text) ?? []
  if (topic === undefined || offset === undefined || nth === undefined) return undefined
  // The digits of offset * 1,000 + nth.
  const place = offset === '0' ? nth : offset + nth.padStart(DIGITS_OF_NTH, '0')
  return { topic, partition: Number(partition), offset: place, timestamp: Number(timestamp) }
}
