import { Option } from 'commander'
import type { Kafka } from 'kafkajs'
import type { Settings } from '../../../../config/schema.ts'
import { topicsOf } from '../../../../config/topics.ts'
import type { Invocation } from '../../../cli/command.ts'
import { listOf, time } from '../../../cli/options.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { jsonOf } from '../../../contracts/facts/json-of.ts'
import {
  DEAD_LETTER_REASONS,
  type DeadLetter,
  type DeadLetterReason,
  deadLetter,
} from '../../../contracts/facts/messages.ts'
import { readTopic } from '../../../stream/bounded-reader.ts'

export type LettersIo = Pick<Invocation, 'terminal' | 'signal'>

/** Topics whose letters can be replayed, by their names without the prefix. */
export const INPUTS = ['posts', 'comments', 'counterspeech', 'feedback'] as const
export type LetterInput = (typeof INPUTS)[number]

/** Which letters are selected; a condition that is left out does not restrict them. */
export interface LetterFilter {
  readonly reason?: readonly DeadLetterReason[]
  readonly topic?: readonly LetterInput[]
  /** When their message arrived, ms since 1970. */
  readonly since?: number
  readonly until?: number
  /** Places as `list` prints them, or keys. */
  readonly id?: readonly string[]
}

/** The options by which letters are chosen. */
export const choosing = (): readonly Option[] => [
  new Option('--reason <reasons>', `only these, comma-separated: ${DEAD_LETTER_REASONS.join(', ')}`).argParser(
    listOf(DEAD_LETTER_REASONS, 'reasons'),
  ),
  new Option('--topic <names>', `only from these, comma-separated: ${INPUTS.join(', ')}`).argParser(
    listOf(INPUTS, 'topics'),
  ),
  new Option('--since <time>', 'only messages that arrived at or after this time (ISO 8601)').argParser(time),
  new Option('--until <time>', 'only messages that arrived before this time (ISO 8601)').argParser(time),
  new Option('--id <ids...>', 'only these: positions as "list" prints them (TOPIC/PARTITION@OFFSET), or keys'),
]

/** Whether a letter is selected. */
export function among(
  { reason, topic, since, until, id }: LetterFilter,
  settings: Settings,
): (letter: DeadLetter) => boolean {
  const topics = topic?.map((name) => topicsOf(settings)[name])
  return (letter) =>
    (reason?.some((one) => one === letter.reason) ?? true) &&
    (topics?.includes(letter.topic) ?? true) &&
    (since === undefined || Date.parse(letter.at) >= since) &&
    (until === undefined || Date.parse(letter.at) < until) &&
    (id === undefined || id.includes(placeOf(letter)) || (letter.key !== null && id.includes(letter.key)))
}

export async function readLetters(kafka: Kafka, settings: Settings, io: LettersIo): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = []
  const reading = { follow: false, signal: io.signal, say: io.terminal.say }
  await readTopic(kafka, topicsOf(settings).deadLetters, reading, ({ message }) => {
    const letter = deadLetter.safeParse(jsonOf(message))
    if (letter.success) letters.push(letter.data)
    else io.terminal.say(`offset ${message.offset}: not a schema-1 dead letter; skipped`)
  })
  stopIfAsked(io)
  return letters
}

/** Throws if a stop was requested: nothing is sent if the topic was read only in part. */
export function stopIfAsked({ signal }: LettersIo): void {
  if (signal.aborted) throw new OperatorError('Stopped before everything was read.')
}

/** Of a record that Gavel could not make, or a topic did not take: it has no place. */
export function isNotWritten({ partition }: Pick<DeadLetter, 'partition'>): boolean {
  return partition === -1
}

/** `TOPIC/PARTITION@OFFSET`, as people name a letter. */
export function placeOf({ topic, partition, offset }: Pick<DeadLetter, 'topic' | 'partition' | 'offset'>): string {
  return `${topic}/${partition}@${offset}`
}
