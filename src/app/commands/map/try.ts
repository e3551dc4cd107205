import { Option } from 'commander'
import type { Settings } from '../../../../config/schema.ts'
import { topicsOf } from '../../../../config/topics.ts'
import type { Command, Invocation } from '../../../cli/command.ts'
import { positiveWhole } from '../../../cli/options.ts'
import { counted, printable, printableJson } from '../../../cli/terminal.ts'
import { didYouMean } from '../../../contracts/facts/did-you-mean.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { jsonOf } from '../../../contracts/facts/json-of.ts'
import type { IncomingMessage } from '../../../contracts/ports/topic.ts'
import { linesOf, mustBeReadable } from '../../../data-files/lines.ts'
import { type TopicMapping, topicMappings } from '../../../mapping/mapping.ts'
import type { RawRecord, RecordMapping } from '../../../mapping/source.ts'
import { newestRanges, topicHistory } from '../../../stream/bounded-reader.ts'
import { registryOf } from '../../composition/sources.ts'
import { readingClient } from '../reading-client.ts'
import { mappedBy } from './mapped-by.ts'

interface TryOptions {
  readonly topic?: string
  readonly take: number
  readonly records?: boolean
}

/** How many records had which outcome, and why some could not be mapped. */
interface MappingTrial {
  readonly records: number
  readonly mapped: number
  readonly messages: number
  readonly passedOver: number
  readonly unmapped: Readonly<Record<string, number>>
}

/** A record to be tried, and how a person finds it. */
interface TriedRecord extends RawRecord {
  readonly place: string
}

/** Longest record or message that is shown, in characters. */
const SHOWN = 500

/** `gavel map try`: what the mappings of `sources` make of the records of a file or a topic. It changes nothing. */
export const command: Command<TryOptions, MappingTrial> = {
  options: [
    new Option(
      '--topic <name>',
      'the topic of sources by whose mapping, and where no file is given, whose newest records',
    ),
    new Option('--take <n>', 'so many records').argParser(positiveWhole).default(100),
    new Option('--records', 'each line is a record with its "key", "headers", "time" and "value", not a value alone'),
  ],
  json: true,
  help: 'Ends with exit code 1 if a record could not be mapped. See docs/sources.md.\n\nExamples:\n  $ gavel map try samples.jsonl --config own.yaml\n  $ gavel map try --topic forum.events --take 100',
  async run(invocation) {
    const { options, json, terminal } = invocation
    const settings = invocation.settings()
    const [topic, mapping] = chosenMapping(settings, options.topic)
    const topics = topicsOf(settings)
    const [decode, isOnTopic] = [registryOf(settings), invocation.args[0] === undefined]
    const tally = { records: 0, mapped: 0, messages: 0, passedOver: 0 }
    const unmapped = new Map<string, number>()
    for await (const record of recordsOf(invocation, settings, topic)) {
      const made = await (isOnTopic
        ? mappedBy(mapping, record, decode)
        : mapping.map(record, decodedIn(mapping, record)))
      if (made === null) continue
      tally.records++
      if (!made.ok) unmapped.set(made.why, (unmapped.get(made.why) ?? 0) + 1)
      else if (made.messages.length === 0) tally.passedOver++
      else {
        tally.mapped++
        tally.messages += made.messages.length
      }
      if (json) terminal.out(printableJson(JSON.stringify({ place: record.place, ...shown(made, topics) })))
      else for (const line of inWords(record, made, topics)) terminal.out(line)
    }
    return { ...tally, unmapped: Object.fromEntries(unmapped) }
  },
  print(done, { json, terminal }) {
    const { records, mapped, messages, passedOver, unmapped } = done
    const failed = Object.entries(unmapped).sort(([, one], [, other]) => other - one)
    const all = failed.reduce((sum, [, times]) => sum + times, 0)
    if (json) terminal.out(JSON.stringify(done))
    else
      terminal.out(
        `${counted(records, 'record')}: ${mapped} mapped to ${counted(messages, 'message')}, ${passedOver} passed over, ${all} not mapped.`,
      )
    if (all === 0) return
    const reasons = failed.map(([why, times]) => `  ${times} ×  ${printable(why, 300)}`)
    throw new OperatorError([`${counted(all, 'record')} could not be mapped:`, ...reasons].join('\n'))
  },
}

function chosenMapping(settings: Settings, wanted: string | undefined): [string, TopicMapping] {
  const mappings = topicMappings(settings.sources)
  const names = [...mappings.keys()]
  const topic = wanted ?? (names.length === 1 ? names[0] : undefined)
  const mapping = topic === undefined ? undefined : mappings.get(topic)
  if (topic !== undefined && mapping !== undefined) return [topic, mapping]
  if (names.length === 0)
    throw new OperatorError('The settings have no sources: give the file that has them with --config.')
  throw new OperatorError(
    wanted === undefined
      ? `sources has several topics: choose one with --topic: ${names.join(', ')}`
      : `No entry of sources has the topic ${wanted}.${didYouMean(wanted, names)}`,
  )
}

async function* recordsOf(
  { args: [file], options: { take, records = false }, terminal, signal }: Invocation<TryOptions>,
  settings: Settings,
  topic: string,
): AsyncGenerator<TriedRecord> {
  if (file !== undefined) {
    await mustBeReadable(file)
    let [line, taken] = [0, 0]
    for await (const text of linesOf(file)) {
      line++
      if (text.trim() === '') continue
      if (taken++ === take) return
      yield { place: `line ${line}`, ...(records ? recordIn(text, line) : { ...BARE, value: Buffer.from(text) }) }
    }
    return
  }
  const history = topicHistory(await readingClient(settings, terminal), { signal, say: terminal.say })
  const { ranges } = newestRanges(await history.rangesOf(topic, null), take)
  const found: IncomingMessage[] = []
  await history.read(topic, ranges, (messages) => void found.push(...messages))
  for (const message of found.slice(-take))
    yield { ...message, place: `${topic}/${message.partition}@${message.offset}` }
}

const BARE = { key: null, headers: {}, timestamp: Date.now() }

/** A record of a file, with what stands beside its value. */
function recordIn(text: string, line: number): RawRecord {
  const record = jsonOf({ value: text })
  if (typeof record !== 'object' || record === null || !('value' in record))
    throw new OperatorError(`Line ${line} is no record with a "value".`)
  const { value, key = null, headers = {}, time = BARE.timestamp } = record as Readonly<Record<string, unknown>> // an object, as above
  const timestamp = typeof time === 'number' ? time : Date.parse(String(time))
  const texts = Object.entries(headers as object).map(([name, one]) => [name, String(one)] as const)
  return {
    value: value === null ? null : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
    key: key === null ? null : String(key),
    headers: Object.fromEntries(texts),
    timestamp: Number.isNaN(timestamp) ? BARE.timestamp : timestamp,
  }
}

/** A file holds what is decoded elsewhere as JSON. */
function decodedIn({ format }: TopicMapping, { value }: RawRecord): { readonly value: unknown } | undefined {
  return format === 'json' || value === null ? undefined : { value: jsonOf({ value }) }
}

function shown(made: RecordMapping, topics: ReturnType<typeof topicsOf>) {
  if (!made.ok) return { ok: false, why: made.why }
  return {
    ok: true,
    messages: made.messages.map(({ topic, key, value }) => ({ topic: topics[topic], key, value: jsonOf({ value }) })),
  }
}

function* inWords(record: TriedRecord, made: RecordMapping, topics: ReturnType<typeof topicsOf>): Generator<string> {
  yield `${record.place}  ${printable(record.value?.toString() ?? '(no value)', SHOWN)}`
  if (!made.ok) yield `  NOT MAPPED  ${printable(made.why, SHOWN)}`
  else if (made.messages.length === 0) yield '  passed over: no entry means it'
  else
    for (const { topic, key, value } of made.messages)
      yield `  → ${topics[topic]} ${printable(key, 200)}  ${printable(value, SHOWN)}`
}
