import kafkajs, { type Kafka, type KafkaMessage } from 'kafkajs'
import type { Settings } from '../../config/schema.ts'
import { dateOf } from '../../producers/dead-letter.ts'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import { readTopic } from '../adapters/kafka/bounded-reader.ts'
import { CORRUPT_BATCH } from '../adapters/kafka/codecs.ts'
import { topicsOf } from '../composition/topics.ts'
import { entryOf } from '../domain/entry-of.ts'
import { OperatorError } from '../domain/errors.ts'
import { jsonOf } from '../domain/json-of.ts'
import { type DeadLetter, type DeadLetterReason, deadLetter } from '../domain/messages.ts'
import type { TopicWriter } from '../ports/topic.ts'
import { REPLAYS, replayHeaders, replays } from './replayed.ts'
import { counted, printable, printableJson, type Terminal } from './terminal.ts'
import { readingClient } from './verdicts.ts'

interface Io {
  readonly terminal: Terminal
  readonly signal: AbortSignal
}

/** Topics whose letters can be replayed, by the names that they have without a prefix. */
export const INPUTS = ['posts', 'comments', 'counterspeech', 'feedback'] as const
export type Input = (typeof INPUTS)[number]

/** Which letters are meant; what is left out is no condition. */
export interface Chosen {
  readonly reason?: readonly DeadLetterReason[]
  readonly topic?: readonly Input[]
  /** When their message came, ms since 1970. */
  readonly since?: number
  readonly until?: number
  /** Places as `list` prints them, or keys. */
  readonly id?: readonly string[]
}

/** `gavel dead-letters list`: what could not be read or judged, and why. */
export async function listDeadLetters(
  settings: Settings,
  options: { chosen: Chosen; json: boolean },
  io: Io,
): Promise<void> {
  const all = await read(await readingClient(settings, io.terminal), settings, io)
  const letters = all.filter(among(options.chosen, settings))
  for (const letter of letters)
    io.terminal.out(
      options.json
        ? printableJson(JSON.stringify(letter))
        : `${printable(letter.at, 30)}  ${printable(placeOf(letter), 280)}  ${letter.reason}  ${printable(letter.detail, 120)}  (${letter.rawBytes} bytes${replayedSo(letter)})`,
    )
  if (all.length === 0) io.terminal.say('No dead letters stand on the topic.')
  else if (letters.length === 0) io.terminal.say(`None of ${counted(all.length, 'dead letter')} is meant.`)
}

/** What became of a letter in a replay, or would become of it. */
const STATES = {
  sent: 'sent',
  'not-chosen': 'not chosen',
  replayed: 'replayed before; --again sends them all the same',
  'came-back': 'replayed before, and a newer letter stands for them',
  expired: 'their original has expired',
  empty: 'their original has no value',
  corrupt: 'their original is in a batch that nobody can unpack',
  'no-input': 'not from a topic that Gavel reads',
  refused: 'refused by Kafka',
  left: 'left when it was stopped',
} as const
type State = keyof typeof STATES

/** How many letters came to what, by reason. */
export type Replay = Readonly<Partial<Record<State, Readonly<Record<string, number>>>>>

/**
 * `gavel dead-letters replay`: reads the original of each letter and sends it to its topic again, with its headers, for a
 * service that can now read it. What was replayed is known by the copy that stands on the topic: it is sent again only if
 * `again` says so, and of a message that came back as a dead letter only the newest copy. Throws an `OperatorError` if Kafka
 * refused some of them.
 */
export async function replayDeadLetters(
  settings: Settings,
  options: { chosen: Chosen; again: boolean; dryRun: boolean; json: boolean },
  io: Io,
): Promise<Replay> {
  const { terminal, signal } = io
  const kafka = await readingClient(settings, terminal)
  const inputs = new Set<string>(INPUTS.map((name) => topicsOf(settings)[name]))
  const letters = await read(kafka, settings, io)
  const byPlace = new Map(letters.map((letter) => [placeOf(letter), letter]))
  const isChosen = among(options.chosen, settings)
  const chosen = [...byPlace.values()].filter((letter) => isChosen(letter) && inputs.has(letter.topic))
  const originals = await fetchOriginals(kafka, chosen, io)
  const counts = new Map<State, Map<string, number>>()
  const count = (letter: DeadLetter, state: State) => {
    const reasons = counts.get(state) ?? new Map<string, number>()
    counts.set(state, reasons.set(letter.reason, (reasons.get(letter.reason) ?? 0) + 1))
  }

  const stateOf = (letter: DeadLetter): State => {
    if (!isChosen(letter)) return 'not-chosen'
    if (!inputs.has(letter.topic)) return 'no-input'
    const original = originals.get(placeOf(letter))
    if (original === undefined) return 'expired'
    if (entryOf(original.message.headers ?? {}, CORRUPT_BATCH) !== undefined) return 'corrupt'
    if (original.message.value === null) return 'empty'
    if ([...original.copies].some((place) => byPlace.has(`${letter.topic}/${place}`))) return 'came-back'
    return original.copies.size > 0 && !options.again ? 'replayed' : 'sent'
  }

  const writer = options.dryRun ? null : await kafkaWriter(kafka, settings.kafka.compression)
  try {
    for (const letter of byPlace.values()) {
      let state = stateOf(letter)
      if (state === 'sent' && signal.aborted) state = 'left'
      const message = originals.get(placeOf(letter))?.message
      if (state === 'sent' && writer !== null && message !== undefined)
        state = await sendAgain(writer, letter, message, terminal)
      count(letter, state)
      if (state === 'not-chosen') continue
      const [place, said] = [placeOf(letter), state === 'sent' && options.dryRun ? 'would be sent' : state]
      if (options.json) terminal.out(printableJson(JSON.stringify({ place, reason: letter.reason, state: said })))
      else if (state === 'sent' || state === 'refused')
        terminal.out(`${printable(place, 280)}  ${letter.reason}  ${said}`)
    }
  } finally {
    await writer?.close()
  }
  const done = Object.fromEntries([...counts].map(([state, reasons]) => [state, Object.fromEntries(reasons)])) as Replay
  tell(done, options, terminal)
  const refused = sum(done.refused)
  if (refused > 0) throw new OperatorError(`Kafka refused ${counted(refused, 'message')}; see above.`)
  return done
}

/** The copy goes where the original is: same topic, key and headers. */
async function sendAgain(
  writer: TopicWriter,
  letter: DeadLetter,
  message: KafkaMessage,
  terminal: Terminal,
): Promise<State> {
  const { key, value, headers = {} } = message
  if (value === null) return 'empty'
  const marked = replayHeaders(`${letter.partition}@${letter.offset}`, headers)
  try {
    await writer.send([{ topic: letter.topic, key, value, headers: marked }])
    return 'sent'
  } catch (error) {
    const said = error instanceof Error ? (error.cause ?? error) : error
    if (said instanceof kafkajs.KafkaJSProtocolError && !said.retriable) {
      terminal.say(`${printable(placeOf(letter), 280)}: ${said.message}`)
      return 'refused'
    }
    throw new OperatorError(
      `Kafka did not take ${placeOf(letter)}: ${String(error)}. Run it again: what was sent is not sent twice.`,
      { cause: error },
    )
  }
}

/** The counts in words. */
function tell(done: Replay, options: { dryRun: boolean; json: boolean }, terminal: Terminal): void {
  if (options.json) {
    terminal.out(JSON.stringify({ dryRun: options.dryRun, summary: done }))
    return
  }
  if (Object.keys(done).length === 0) {
    terminal.say('No dead letters stand on the topic.')
    return
  }
  const reasons = (of: Readonly<Record<string, number>>) =>
    Object.entries(of)
      .map(([reason, count]) => `${reason} ${count}`)
      .join(', ')
  const { sent = {}, ...skipped } = done
  terminal.say(
    `${counted(sum(sent), 'message')} ${options.dryRun ? 'would be sent' : 'sent'}${sum(sent) === 0 ? '' : `: ${reasons(sent)}`}.`,
  )
  for (const [state, of] of Object.entries(skipped))
    terminal.say(`${sum(of)} skipped, ${STATES[state as State]}: ${reasons(of)}.`)
}

function sum(of: Readonly<Record<string, number>> = {}): number {
  return Object.values(of).reduce((total, count) => total + count, 0)
}

function placeOf({ topic, partition, offset }: Pick<DeadLetter, 'topic' | 'partition' | 'offset'>): string {
  return `${topic}/${partition}@${offset}`
}

function replayedSo({ headers }: DeadLetter): string {
  const times = Number(headers[REPLAYS])
  return times > 0 ? `, replayed ${times} ×` : ''
}

/** Whether a letter is one of those that are meant. */
function among({ reason, topic, since, until, id }: Chosen, settings: Settings): (letter: DeadLetter) => boolean {
  const topics = topic?.map((name) => topicsOf(settings)[name])
  return (letter) =>
    (reason?.includes(letter.reason) ?? true) &&
    (topics?.includes(letter.topic) ?? true) &&
    (since === undefined || Date.parse(letter.at) >= since) &&
    (until === undefined || Date.parse(letter.at) < until) &&
    (id === undefined || id.includes(placeOf(letter)) || (letter.key !== null && id.includes(letter.key)))
}

async function read(kafka: Kafka, settings: Settings, io: Io): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = []
  const reading = { follow: false, signal: io.signal, say: io.terminal.say }
  await readTopic(kafka, topicsOf(settings).deadLetters, reading, ({ message }) => {
    const letter = deadLetter.safeParse(jsonOf(message))
    if (letter.success) letters.push(letter.data)
    else io.terminal.say(`offset ${message.offset} is no dead letter of schema 1`)
  })
  stopIfAsked(io)
  return letters
}

/** Half of what stands there is no ground to send anything by. */
function stopIfAsked({ signal }: Io): void {
  if (signal.aborted) throw new OperatorError('Stopped before everything was read.')
}

interface Original {
  readonly message: KafkaMessage
  /** Where copies of it stand, and copies of these: `partition@offset`. */
  readonly copies: ReadonlySet<string>
}

/** The original messages by `topic/partition@offset`, where they still stand. */
async function fetchOriginals(kafka: Kafka, letters: readonly DeadLetter[], io: Io): Promise<Map<string, Original>> {
  const originals = new Map<string, Original>()
  for (const [topic, own] of Map.groupBy(letters, (letter) => letter.topic)) {
    const wanted = new Map(own.map(({ partition, offset, at }) => [`${partition}@${offset}`, at]))
    const found = new Map<string, KafkaMessage>()
    const known = replays()
    await readTopic(
      kafka,
      topic,
      { follow: false, signal: io.signal, say: io.terminal.say },
      ({ partition, message }) => {
        const place = `${partition}@${message.offset}`
        known.note(place, message)
        // Since a topic was made anew, another message stands at the same offset.
        if (wanted.get(place) === dateOf(Number(message.timestamp))) found.set(place, message)
      },
    )
    stopIfAsked(io)
    for (const [place, message] of found) originals.set(`${topic}/${place}`, { message, copies: known.of(place) })
  }
  return originals
}
