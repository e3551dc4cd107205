import { Option } from 'commander'
import type { Settings } from '../../../../config/schema.ts'
import type { Command, Invocation } from '../../../cli/command.ts'
import { positiveWhole } from '../../../cli/options.ts'
import { counted, printable, printableJson } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { jsonOf } from '../../../contracts/facts/json-of.ts'
import type { IncomingMessage } from '../../../contracts/ports/topic.ts'
import { linesOf, mustBeReadable } from '../../../data-files/lines.ts'
import type { RawRecord } from '../../../mapping/source.ts'
import { newestRanges, topicHistory } from '../../../stream/bounded-reader.ts'
import { readingClient } from '../reading-client.ts'
import { type MappingResult, sinkTried, sourceTried } from './tried.ts'

interface TryOptions {
  readonly topic?: string
  readonly sink?: string
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

/** `gavel map try`: what the mappings of `sources` make of records, or those of `sinks` of verdicts, of a file or a topic. It changes nothing. */
export const command: Command<TryOptions, MappingTrial> = {
  options: [
    new Option(
      '--topic <name>',
      'the topic of sources by whose mapping, and where no file is given, whose newest records',
    ),
    new Option(
      '--sink <name>',
      'the topic of sinks by whose mapping; verdicts of the file, or the newest of their topic',
    ).conflicts('topic'),
    new Option('--take <n>', 'so many records').argParser(positiveWhole).default(100),
    new Option('--records', 'each line is a record with its "key", "headers", "time" and "value", not a value alone'),
  ],
  json: true,
  help: 'Ends with exit code 1 if a record could not be mapped. See docs/sources.md.\n\nExamples:\n  $ gavel map try samples.jsonl --config own.yaml\n  $ gavel map try --topic forum.events --take 100\n  $ gavel map try --sink forum.flags --config own.yaml',
  async run(invocation) {
    const { args, options, json, terminal } = invocation
    const settings = invocation.settings()
    const { sink, topic } = options
    const mapping = sink === undefined ? sourceTried(settings, topic) : sinkTried(settings, sink)
    const [tally, isOnTopic] = [{ records: 0, mapped: 0, messages: 0, passedOver: 0 }, args[0] === undefined]
    const unmapped = new Map<string, number>()
    for await (const record of recordsOf(invocation, settings, mapping.topic)) {
      const tried = await mapping.tried(record, isOnTopic)
      const { made, why } = tried
      tally.records++
      tally.messages += made.length
      if (why !== undefined) unmapped.set(why, (unmapped.get(why) ?? 0) + 1)
      else if (made.length === 0) tally.passedOver++
      else tally.mapped++
      if (json) terminal.out(printableJson(JSON.stringify({ place: record.place, ...shown(tried) })))
      else for (const line of inWords(record, tried)) terminal.out(line)
    }
    return { ...tally, unmapped: Object.fromEntries(unmapped) }
  },
  print(done, { json, options: { sink }, terminal }) {
    const { records, mapped, messages, passedOver, unmapped } = done
    const failed = Object.entries(unmapped).sort(([, one], [, other]) => other - one)
    const all = failed.reduce((sum, [, times]) => sum + times, 0)
    const [taken, made] = sink === undefined ? ['record', 'message'] : ['verdict', 'record']
    if (json) terminal.out(JSON.stringify(done))
    else
      terminal.out(
        `${counted(records, taken)}: ${mapped} mapped to ${counted(messages, made)}, ${passedOver} passed over, ${all} not mapped.`,
      )
    if (all === 0) return
    const reasons = failed.map(([why, times]) => `  ${times} ×  ${printable(why, 300)}`)
    throw new OperatorError([`${counted(all, taken)} could not be mapped:`, ...reasons].join('\n'))
  },
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

function shown({ made, why }: MappingResult) {
  return {
    ok: why === undefined,
    ...(why === undefined ? {} : { why }),
    ...(why === undefined || made.length > 0
      ? { messages: made.map((one) => ({ ...one, value: jsonOf({ value: one.value }) })) }
      : {}),
  }
}

function* inWords({ place, value }: TriedRecord, { made, why, decoded }: MappingResult): Generator<string> {
  const text = decoded === undefined ? value?.toString() : JSON.stringify(decoded)
  yield `${place}  ${printable(text ?? '(no value)', SHOWN)}`
  for (const { topic, key, value: record, follows } of made) {
    yield `  → ${topic} ${printable(key ?? '(no key)', 200)}  ${printable(record, SHOWN)}`
    if (follows === true)
      yield '    only if the sink has had one that it takes the place of: its when does not mean this one'
  }
  if (why !== undefined) yield `  NOT MAPPED  ${printable(why, SHOWN)}`
  else if (made.length === 0) yield '  passed over: no entry means it'
}
