import { Option } from 'commander'
import kafkajs, { type Kafka, type KafkaMessage } from 'kafkajs'
import type { Settings } from '../../../../config/schema.ts'
import { topicsOf } from '../../../../config/topics.ts'
import { dateOf } from '../../../../producers/dead-letter.ts'
import { kafkaWriter } from '../../../../producers/kafka-writer.ts'
import type { Command, Invocation } from '../../../cli/command.ts'
import { counted, printable, printableJson, type Terminal } from '../../../cli/terminal.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { DeadLetter } from '../../../contracts/facts/messages.ts'
import type { OutgoingMessage, TopicWriter } from '../../../contracts/ports/topic.ts'
import { readTopic } from '../../../stream/bounded-reader.ts'
import { CORRUPT_BATCH } from '../../../stream/record.ts'
import { readingClient } from '../reading-client.ts'
import { replayHeaders, replays } from '../replayed.ts'
import { deletedAmong, itself, itselfInPost, itsPost } from './deletions.ts'
import {
  among,
  choosing,
  INPUTS,
  isNotWritten,
  type LetterFilter,
  type LettersIo,
  placeOf,
  readLetters,
  stopIfAsked,
} from './letters.ts'
import { mapAgain } from './map-again.ts'

/** What happened to a letter in a replay, or would happen to it. */
const STATES = {
  sent: 'sent',
  'not-chosen': 'not chosen',
  replayed: 'already replayed; use --again to send them again',
  'came-back': 'already replayed; failed again as a newer dead letter',
  expired: 'their original has expired',
  empty: 'their original has no value',
  deleted: 'their post, comment or reply, or its post, has been deleted',
  corrupt: 'their original is in a batch that cannot be decompressed',
  unmapped: 'can’t be mapped by today’s settings either',
  'passed-over': 'no entry of today’s sources means them',
  'no-input': 'not from a topic that Gavel reads',
  'not-written': 'records that Gavel writes, to a sink or to its own topics, of which none is sent again',
  refused: 'refused by Kafka',
  left: 'left when it was stopped',
} as const
type State = keyof typeof STATES

/** How many letters had which outcome, by reason. */
export type Replay = Readonly<Partial<Record<State, Readonly<Record<string, number>>>>>

interface ReplayOptions extends LetterFilter {
  readonly again?: boolean
  readonly dryRun?: boolean
}

/**
 * `gavel dead-letters replay`: reads each letter's original and sends it to its topic again, with its headers, for a
 * service that can now read it. A replayed letter is recognised by its copy on the topic: it is sent again only with
 * `again`. If a message failed again as a newer dead letter, only its newest copy is sent. What has been deleted is not sent. Ends
 * with an `OperatorError` if Kafka refused some of them.
 */
export const command: Command<ReplayOptions, Replay> = {
  options: [
    ...choosing(),
    new Option('--again', 'also letters that were already replayed and did not fail again'),
    new Option('--dry-run', 'only print what would be sent'),
  ],
  json: true,
  help: 'See docs/dead-letters.md.\n\nExamples:\n  $ gavel dead-letters replay --dry-run\n  $ gavel dead-letters replay --reason future --since 2026-05-01',
  run: replay,
  print(done, { options: { dryRun = false }, json, terminal }) {
    tell(done, { dryRun, json }, terminal)
    const refused = sum(done.refused)
    if (refused > 0) throw new OperatorError(`Kafka refused ${counted(refused, 'message')}; see above.`)
  },
}

/** Prints each selected letter with its outcome. */
async function replay({ options, json, settings: read, terminal, signal }: Invocation<ReplayOptions>): Promise<Replay> {
  const settings = read()
  const io = { terminal, signal }
  const { again = false, dryRun = false } = options
  const kafka = await readingClient(settings, terminal)
  const inputs = new Set<string>(INPUTS.map((name) => topicsOf(settings)[name]))
  const letters = await readLetters(kafka, settings, io)
  const isRead = (letter: DeadLetter) => !isNotWritten(letter)
  // In the order in which their topics had them: an older text must not come after a newer one.
  const byPlace = new Map(
    letters
      .filter(isRead)
      .toSorted(inOrder)
      .map((letter) => [placeOf(letter), letter]),
  )
  const isChosen = among(options, settings)
  const chosen = [...byPlace.values()].filter((letter) => isChosen(letter) && inputs.has(letter.topic))
  const originals = await fetchOriginals(kafka, chosen, io)
  const deleted = await deletedOf(kafka, settings, originals, io)
  const sources = new Set(settings.sources.map(({ topic }) => topic))
  const ofSources = [...byPlace.values()].filter((letter) => isChosen(letter) && sources.has(letter.topic))
  const mapped = await mapAgain(kafka, settings, ofSources, io)
  const counts = new Map<State, Map<string, number>>()
  const count = (letter: DeadLetter, state: State) => {
    const reasons = counts.get(state) ?? new Map<string, number>()
    counts.set(state, reasons.set(letter.reason, (reasons.get(letter.reason) ?? 0) + 1))
  }

  const stateOf = (letter: DeadLetter): State => {
    if (!isChosen(letter)) return 'not-chosen'
    if (isNotWritten(letter)) return 'not-written'
    const made = mapped.get(placeOf(letter))
    if (made !== undefined) return made.state === 'replayed' && again ? 'sent' : made.state
    if (!inputs.has(letter.topic)) return 'no-input'
    const original = originals.get(placeOf(letter))
    if (original === undefined) return 'expired'
    if (entryOf(original.message.headers ?? {}, CORRUPT_BATCH) !== undefined) return 'corrupt'
    if (original.message.value === null) return 'empty'
    if (deleted.has(placeOf(letter))) return 'deleted'
    if ([...original.copies].some((place) => byPlace.has(`${letter.topic}/${place}`))) return 'came-back'
    return original.copies.size > 0 && !again ? 'replayed' : 'sent'
  }

  const writer = dryRun ? null : await kafkaWriter(kafka, settings.kafka.compression)
  try {
    // Of what could not be written, nothing tells the letters apart.
    for (const letter of [...byPlace.values(), ...letters.filter(isNotWritten)]) {
      let state = stateOf(letter)
      if (state === 'sent' && signal.aborted) state = 'left'
      const records = mapped.get(placeOf(letter))?.records ?? copyOf(letter, originals.get(placeOf(letter))?.message)
      if (state === 'sent' && writer !== null) state = await sendAgain(writer, letter, records, terminal)
      count(letter, state)
      if (state === 'not-chosen') continue
      const [place, said] = [placeOf(letter), state === 'sent' && dryRun ? 'would be sent' : state]
      if (json) terminal.out(printableJson(JSON.stringify({ place, reason: letter.reason, state: said })))
      else if (state === 'sent' || state === 'refused')
        terminal.out(`${printable(place, 280)}  ${letter.reason}  ${said}`)
    }
  } finally {
    await writer?.close()
  }
  return Object.fromEntries([...counts].map(([state, reasons]) => [state, Object.fromEntries(reasons)])) as Replay
}

function inOrder(one: DeadLetter, other: DeadLetter): number {
  return (
    one.topic.localeCompare(other.topic, 'en') ||
    one.partition - other.partition ||
    one.offset.localeCompare(other.offset, 'en', { numeric: true })
  )
}

/** The copy goes where the original is: same topic, key and headers. */
function copyOf(letter: DeadLetter, message: KafkaMessage | undefined): OutgoingMessage[] {
  if (message === undefined || message.value === null) return []
  const { key, value, headers = {} } = message
  const marked = replayHeaders(`${letter.partition}@${letter.offset}`, headers)
  return [{ topic: letter.topic, key, value, headers: marked }]
}

async function sendAgain(
  writer: TopicWriter,
  letter: DeadLetter,
  records: readonly OutgoingMessage[],
  terminal: Terminal,
): Promise<State> {
  try {
    await writer.send(records)
    return 'sent'
  } catch (error) {
    const said = error instanceof Error ? (error.cause ?? error) : error
    if (said instanceof kafkajs.KafkaJSProtocolError && !said.retriable) {
      terminal.say(`${printable(placeOf(letter), 280)}: ${said.message}`)
      return 'refused'
    }
    throw new OperatorError(
      `Kafka did not accept ${placeOf(letter)}: ${String(error)}. Run it again: nothing is sent twice.`,
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
    terminal.say('There are no dead letters.')
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

interface Original {
  readonly topic: string
  readonly message: KafkaMessage
  /** The positions of its copies, of their copies, and so on: `partition@offset`. */
  readonly copies: ReadonlySet<string>
}

/** The original messages by `topic/partition@offset`, as far as the topics still have them. */
async function fetchOriginals(
  kafka: Kafka,
  letters: readonly DeadLetter[],
  io: LettersIo,
): Promise<Map<string, Original>> {
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
        // After a topic was recreated, another message has the same offset.
        if (wanted.get(place) === dateOf(Number(message.timestamp))) found.set(place, message)
      },
    )
    stopIfAsked(io)
    for (const [place, message] of found)
      originals.set(`${topic}/${place}`, { topic, message, copies: known.of(place) })
  }
  return originals
}

/** Those of the originals, by their places, that are about something that has been deleted, or whose post has been. */
async function deletedOf(
  kafka: Kafka,
  settings: Settings,
  originals: ReadonlyMap<string, Original>,
  io: LettersIo,
): Promise<ReadonlySet<string>> {
  const { posts, comments, counterspeech } = topicsOf(settings)
  const messagesOf = (...topics: readonly string[]) =>
    new Map([...originals].flatMap(([place, { topic, message }]) => (topics.includes(topic) ? [[place, message]] : [])))
  const all = [
    await deletedAmong(kafka, { topic: posts, wanted: itself, deletes: itself }, messagesOf(posts), io),
    await deletedAmong(
      kafka,
      { topic: posts, wanted: itsPost, deletes: itself },
      messagesOf(comments, counterspeech),
      io,
    ),
    await deletedAmong(
      kafka,
      { topic: comments, wanted: itselfInPost, deletes: itselfInPost },
      messagesOf(comments),
      io,
    ),
    await deletedAmong(kafka, { topic: counterspeech, wanted: itself, deletes: itself }, messagesOf(counterspeech), io),
  ]
  return new Set(all.flatMap((places) => [...places]))
}
