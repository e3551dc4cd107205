import type { KafkaMessage } from 'kafkajs'
import { REPLAYS_HEADER } from '../../../consumers/source-place.ts'
import type { HeaderTable } from '../../stream/record.ts'

/**
 * The headers of a replayed message say which record it is a copy of, which one was the first, and how often it has
 * been replayed. The copy itself marks the record as replayed: it exists once the replay is done, for as long as the
 * original. Places are `partition@offset` of the copy's own
 * topic; of a record of `sources`, whose messages are no copies, `topic/partition@offset`.
 */
const REPLAY_OF = 'gavel-replay-of'
const REPLAY_FIRST = 'gavel-replay-first'

type Headers = NonNullable<KafkaMessage['headers']>

/** Headers of a record's copy: the marks, then its own; a dead letter that shortens the headers must keep the marks. */
export function replayHeaders(place: string, headers: Headers): HeaderTable<string | Buffer | (string | Buffer)[]> {
  const table: ReturnType<typeof replayHeaders> = Object.create(null)
  table[REPLAY_OF] = place
  table[REPLAY_FIRST] = textOf(headers[REPLAY_FIRST]) ?? place
  table[REPLAYS_HEADER] = String((Number(textOf(headers[REPLAYS_HEADER])) || 0) + 1)
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !MARKS.has(name)) table[name] = writable(value)
  return table
}
/** A header without a value has an empty one in the copy: kafkajs, against its types, reads null and can't write it. */
function writable(value: HeaderValue | HeaderValue[]): string | Buffer | (string | Buffer)[] {
  return Array.isArray(value) ? value.map((one) => one ?? '') : (value ?? '')
}
type HeaderValue = string | Buffer | null
const MARKS: ReadonlySet<string> = new Set([REPLAY_OF, REPLAY_FIRST, REPLAYS_HEADER])

/** Which records of one topic are copies of which. */
export function replays() {
  const copies = new Map<string, string[]>()
  return {
    /** Notes this record if it is a copy. */
    note(place: string, { headers = {} }: KafkaMessage): void {
      const of = textOf(headers[REPLAY_OF])
      if (of === undefined) return
      const known = copies.get(of)
      if (known === undefined) copies.set(of, [place])
      // Any number of records may say that they are copies of one.
      else known.push(place)
    },
    /** Its copies, the copies of these, and so on. */
    of(place: string): ReadonlySet<string> {
      const found = new Set<string>()
      // Items added while the set is iterated are visited too; senders may have marked records in a circle.
      for (const copy of copies.get(place) ?? []) found.add(copy)
      for (const each of found) for (const copy of copies.get(each) ?? []) found.add(copy)
      return found
    },
  }
}

function textOf(header: Headers[string]): string | undefined {
  const [value] = [header].flat()
  return value === undefined ? undefined : value.toString('utf8').slice(0, MAX_MARK_CHARS)
}
const MAX_MARK_CHARS = 300
