import { InvalidArgumentError } from 'commander'
import type { Settings } from '../../../config/schema.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import type { Terminal } from '../../cli/terminal.ts'
import { didYouMean } from '../../contracts/facts/did-you-mean.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { OutgoingMessage } from '../../contracts/ports/topic.ts'
import { linesOf, mustBeReadable } from '../../data-files/lines.ts'
import { keyOf } from '../../mapping/expressions.ts'
import { MappingSettingFault, UnmappedRecord } from '../../mapping/faults.ts'
import { exactJsonValue } from '../../mapping/json-value.ts'
import { ensureTopics } from '../../stream/client.ts'
import { readingClient } from './reading-client.ts'

/** Lines in one request. */
const TOGETHER = 500

/** The option `--key`: a path, or a text with paths in braces, as in mappings. */
export function keyOption(text: string): KeyOfLine {
  const read = keyBy(text)
  return (line) => {
    try {
      const record = { value: exactJsonValue(Buffer.from(line)), key: null, headers: {}, timestamp: 0 }
      return read({ record, item: undefined, made: { chars: 0 } })
    } catch (error) {
      // What is no JSON is sent as it is: so is tried what becomes of it.
      if (error instanceof UnmappedRecord) return null
      throw error
    }
  }
}

function keyBy(text: string) {
  if (!/[${]/.test(text)) throw new InvalidArgumentError('must be a path, such as $.id')
  try {
    return keyOf(text, [])
  } catch (error) {
    if (error instanceof MappingSettingFault) throw new InvalidArgumentError(error.message)
    throw error
  }
}

/** The key of a line's record; null: it has none, and goes to any partition. */
export type KeyOfLine = (value: string) => string | null

/**
 * Sends the lines of a file as they are to a topic of the setting `sources`, which is made where it is not there: to try a mapping.
 * Resolves to how many it were.
 */
export async function produceLines(
  settings: Settings,
  { file, topic, key }: { readonly file: string; readonly topic: string; readonly key?: KeyOfLine | undefined },
  { terminal, signal }: { readonly terminal: Terminal; readonly signal: AbortSignal },
): Promise<number> {
  const known = settings.sources.map((one) => one.topic)
  if (!known.includes(topic))
    throw new OperatorError(
      `No entry of sources has the topic ${topic}.${didYouMean(topic, known)} Give the file that has it with --config.`,
    )
  await mustBeReadable(file)
  const kafka = await readingClient(settings, terminal)
  const { partitions, retention, replication, compression } = settings.kafka
  const admin = kafka.admin({ retry: { retries: 3 } })
  await admin.connect()
  try {
    await ensureTopics(kafka, admin, [{ name: topic, partitions, retentionMs: retention }], replication)
  } finally {
    await admin.disconnect()
  }
  const writer = await kafkaWriter(kafka, compression)
  try {
    let [sent, some]: [number, OutgoingMessage[]] = [0, []]
    const send = async () => {
      await writer.send(some)
      sent += some.length
      some = []
    }
    for await (const value of linesOf(file)) {
      signal.throwIfAborted()
      if (value.trim() !== '') some.push({ topic, key: key?.(value) ?? null, value })
      if (some.length === TOGETHER) await send()
    }
    if (some.length > 0) await send()
    return sent
  } finally {
    await writer.close()
  }
}
