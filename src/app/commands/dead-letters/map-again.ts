import type { Kafka } from 'kafkajs'
import type { Settings } from '../../../../config/schema.ts'
import { topicsOf } from '../../../../config/topics.ts'
import { MAPPING_HEADER } from '../../../../consumers/source-place.ts'
import { dateOf } from '../../../../producers/dead-letter.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { DeadLetter } from '../../../contracts/facts/messages.ts'
import type { IncomingMessage, OutgoingMessage, Range } from '../../../contracts/ports/topic.ts'
import { topicMappings } from '../../../mapping/mapping.ts'
import type { MappedTopic } from '../../../mapping/messages.ts'
import { readTopic, topicHistory } from '../../../stream/bounded-reader.ts'
import { registryOf } from '../../composition/sources.ts'
import { mappedBy } from '../map/mapped-by.ts'
import { replayHeaders, replays } from '../replayed.ts'
import { deletedAmong, itself, itselfInPost, itsPost, type NameIn } from './deletions.ts'
import { type LettersIo, placeOf, stopIfAsked } from './letters.ts'

/** What the mapping of today makes of a record that once could not be mapped. */
export type MappedAgain =
  | { readonly state: 'sent' | 'replayed'; readonly records: readonly OutgoingMessage[] }
  | { readonly state: 'unmapped' | 'passed-over' | 'expired' | 'deleted'; readonly records: readonly [] }

/** What a deletion on each topic deletes, and what a message on it is about that may be deleted there or with its post. */
const DELETIONS: readonly { of: MappedTopic; on: MappedTopic; wanted: NameIn; deletes: NameIn }[] = [
  { of: 'posts', on: 'posts', wanted: itself, deletes: itself },
  { of: 'comments', on: 'posts', wanted: itsPost, deletes: itself },
  { of: 'comments', on: 'comments', wanted: itselfInPost, deletes: itselfInPost },
  { of: 'counterspeech', on: 'posts', wanted: itsPost, deletes: itself },
  { of: 'counterspeech', on: 'counterspeech', wanted: itself, deletes: itself },
]

/**
 * The messages of records that could not be mapped, by the places of their letters. They go to the input topics, and nothing is written to
 * the source, which others read too. The messages themselves mark their record as replayed, once there are as many as it makes. What was
 * deleted since is not sent.
 */
export async function mapAgain(
  kafka: Kafka,
  settings: Settings,
  letters: readonly DeadLetter[],
  io: LettersIo,
): Promise<ReadonlyMap<string, MappedAgain>> {
  const found = new Map<string, MappedAgain>()
  if (letters.length === 0) return found
  const [mappings, topics] = [topicMappings(settings.sources), topicsOf(settings)]
  const decode = registryOf(settings)
  const mapped = new Map<string, readonly (OutgoingMessage & { of: MappedTopic })[]>()
  const originals = await originalsOf(kafka, letters, io)
  for (const letter of letters) {
    const place = placeOf(letter)
    const record = originals.get(place)
    const made = record === undefined ? null : await mappedBy(mappings.get(letter.topic), record, decode)
    if (made === null) found.set(place, { state: 'expired', records: [] })
    else if (!made.ok) found.set(place, { state: 'unmapped', records: [] })
    else if (made.messages.length === 0) found.set(place, { state: 'passed-over', records: [] })
    else {
      const headers = { ...replayHeaders(place, {}), [MAPPING_HEADER]: mappings.get(letter.topic)?.hash ?? '' }
      mapped.set(
        place,
        made.messages.map(({ topic, ...message }) => ({ ...message, of: topic, topic: topics[topic], headers })),
      )
    }
  }
  const copies = replays()
  for (const topic of mapped.size === 0 ? [] : (['posts', 'comments', 'counterspeech', 'reach'] as const))
    await readTopic(
      kafka,
      topics[topic],
      { follow: false, signal: io.signal, say: io.terminal.say },
      ({ partition, message }) => copies.note(`${topics[topic]}/${partition}@${message.offset}`, message),
    )
  stopIfAsked(io)
  const deleted = new Set<string>()
  for (const { of, on, wanted, deletes } of DELETIONS) {
    const own = [...mapped].flatMap(([place, records]) =>
      records.flatMap((one, nth) =>
        one.of === of ? [[`${place} ${nth}`, { value: String(one.value) }] as const] : [],
      ),
    )
    for (const one of await deletedAmong(kafka, { topic: topics[on], wanted, deletes }, new Map(own), io))
      deleted.add(one)
  }
  for (const [place, records] of mapped) {
    const left = records.filter((_, nth) => !deleted.has(`${place} ${nth}`))
    if (left.length === 0) found.set(place, { state: 'deleted', records: [] })
    else
      found.set(place, {
        state: copies.of(place).size >= left.length ? 'replayed' : 'sent',
        records: left.map(({ of: _, ...one }) => one),
      })
  }
  return found
}

/** The records of these letters as their topics have them: whoever can forge a letter must not be able to forge what is sent. */
async function originalsOf(
  kafka: Kafka,
  letters: readonly DeadLetter[],
  io: LettersIo,
): Promise<ReadonlyMap<string, IncomingMessage>> {
  const history = topicHistory(kafka, { signal: io.signal, say: io.terminal.say })
  const wanted = new Map(letters.map((letter) => [placeOf(letter), letter.at]))
  const found = new Map<string, IncomingMessage>()
  for (const [topic, own] of Map.groupBy(letters, (letter) => letter.topic)) {
    const offsets = Map.groupBy(own, ({ partition }) => partition)
    const whole = await history.rangesOf(topic, null).catch((error: unknown) => {
      if (!(error instanceof OperatorError)) throw error
      io.terminal.say(error.message)
      return new Map<number, Range>()
    })
    const ranges = [...whole].flatMap(([partition, { from: first, to: end }]) => {
      const at = (offsets.get(partition) ?? []).flatMap(({ offset }) => (/^\d+$/.test(offset) ? [BigInt(offset)] : []))
      const within = at.filter((offset) => offset >= first && offset < end)
      const [from, to] = [within.reduce(least, end), within.reduce(most, -1n) + 1n]
      return from < to ? [[partition, { from, to }] as const] : []
    })
    await history.read(topic, new Map(ranges), (messages) => {
      for (const message of messages) {
        const place = placeOf(message)
        // After a topic was recreated, another message has the same offset.
        if (wanted.get(place) === dateOf(message.timestamp)) found.set(place, message)
      }
    })
    stopIfAsked(io)
  }
  return found
}

const least = (one: bigint, other: bigint) => (one < other ? one : other)
const most = (one: bigint, other: bigint) => (one > other ? one : other)
