import type { Kafka } from 'kafkajs'
import type { Settings } from '../../config/schema.ts'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import { topicsOf } from '../assembly.ts'
import { type DeadLetter, deadLetter } from '../domain/messages.ts'
import { jsonOf, readTopic } from './read-topic.ts'
import { printable, printableJson, type Terminal } from './terminal.ts'
import { readingClient } from './verdicts.ts'

interface Io {
  readonly terminal: Terminal
  readonly signal: AbortSignal
}

/** `gavel dead-letters list`: what could not be read or judged, and why. */
export async function listDeadLetters(settings: Settings, options: { json: boolean }, io: Io): Promise<void> {
  const letters = await read(await readingClient(settings, io.terminal), settings, io)
  for (const letter of letters)
    io.terminal.out(
      options.json
        ? printableJson(JSON.stringify(letter))
        : `${printable(letter.at, 30)}  ${printable(letter.topic, 250)}/${letter.partition}@${printable(letter.offset, 20)}  ${letter.reason}  ${printable(letter.detail, 120)}  (${letter.rawBytes} bytes)`,
    )
  if (letters.length === 0) io.terminal.say('No dead letters stand on the topic.')
}

/**
 * `gavel dead-letters replay`: reads the original offset of each letter and sends the message to its topic again, for a
 * service that can now read it. A letter whose original has expired is told and left.
 */
export async function replayDeadLetters(
  settings: Settings,
  options: { dryRun: boolean; json: boolean },
  io: Io,
): Promise<void> {
  const kafka = await readingClient(settings, io.terminal)
  const { posts, comments, counterspeech, feedback } = topicsOf(settings)
  const inputs = new Set([posts, comments, counterspeech, feedback])
  const letters = (await read(kafka, settings, io)).filter(({ topic }) => inputs.has(topic))
  const once = new Map(letters.map((letter) => [`${letter.topic}/${letter.partition}@${letter.offset}`, letter]))
  const originals = await fetchOriginals(kafka, [...once.values()], io)
  const writer = options.dryRun ? null : await kafkaWriter(kafka, settings.kafka.compression)
  try {
    for (const [place, letter] of once) {
      const original = originals.get(place)
      const state = original === undefined ? 'expired' : options.dryRun ? 'would be sent' : 'sent'
      if (writer !== null && original !== undefined)
        await writer.send([{ topic: letter.topic, key: original.key, value: original.value }])
      io.terminal.out(
        options.json
          ? printableJson(JSON.stringify({ place, reason: letter.reason, state }))
          : `${printable(place, 280)}  ${letter.reason}  ${state}`,
      )
    }
  } finally {
    await writer?.close()
  }
  if (once.size === 0) io.terminal.say('No dead letters stand on the topic.')
}

async function read(kafka: Kafka, settings: Settings, io: Io): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = []
  await readTopic(
    kafka,
    topicsOf(settings).deadLetters,
    { follow: false, signal: io.signal, say: io.terminal.say },
    ({ message }) => {
      const letter = deadLetter.safeParse(jsonOf(message))
      if (letter.success) letters.push(letter.data)
      else io.terminal.say(`offset ${message.offset} is no dead letter of schema 1`)
    },
  )
  return letters
}

/** The original messages by `topic/partition@offset`, where they still stand. */
async function fetchOriginals(kafka: Kafka, letters: readonly DeadLetter[], io: Io) {
  const originals = new Map<string, { key: string; value: Buffer }>()
  for (const topic of new Set(letters.map((letter) => letter.topic))) {
    const wanted = new Set(
      letters.filter((letter) => letter.topic === topic).map(({ partition, offset }) => `${partition}@${offset}`),
    )
    await readTopic(
      kafka,
      topic,
      { follow: false, signal: io.signal, say: io.terminal.say },
      ({ partition, message }) => {
        const place = `${partition}@${message.offset}`
        if (!wanted.has(place) || message.value === null) return
        originals.set(`${topic}/${place}`, { key: message.key?.toString('utf8') ?? '', value: message.value })
      },
    )
  }
  return originals
}
