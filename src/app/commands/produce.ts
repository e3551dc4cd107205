import { Option } from 'commander'
import type { Settings } from '../../../config/schema.ts'
import { topicsOf } from '../../../config/topics.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import { type Pace, replayFile } from '../../../producers/replay.ts'
import type { Command } from '../../cli/command.ts'
import { formatOption, readingOf, repliesReadingOptions } from '../../cli/file-options.ts'
import { notNegative, positive } from '../../cli/options.ts'
import type { Terminal } from '../../cli/terminal.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { keyOf } from '../../contracts/facts/messages.ts'
import { type BadLine, faultIn } from '../../data-files/file-message.ts'
import { type Format, fileMessages } from '../../data-files/formats.ts'
import type { OwnReading } from '../../data-files/own-rows.ts'
import { makeTopics } from '../../operations/make-topics.ts'
import { checkBrokers, kafkaClient } from '../../stream/client.ts'
import { type KeyOfLine, keyOption, produceLines } from './produce-lines.ts'

interface ProduceOptions extends OwnReading {
  readonly format: Format
  readonly rate?: number
  readonly speed?: number
  /** In seconds. */
  readonly maxPause: number
  readonly topic?: string
  readonly key?: KeyOfLine
}

export interface ProduceResult {
  readonly sent: number
  readonly posts: number
  readonly comments: number
  readonly counterspeech: number
  readonly feedback: number
  readonly skipped: readonly BadLine[]
  readonly seconds: number
}

/** Most bad lines that are shown one by one. */
const NAMED = 20

/** `gavel produce`: sends a file's messages to Kafka, at the requested pace. */
export const command: Command<ProduceOptions, ProduceResult> = {
  options: [
    formatOption(),
    ...repliesReadingOptions(),
    new Option('--rate <n>', 'messages a second').argParser(positive).conflicts('speed'),
    new Option('--speed <x>', 'replay at the recorded pace, this many times faster').argParser(positive),
    new Option('--max-pause <s>', 'with --speed: no pause longer than this many seconds')
      .argParser(notNegative)
      .default(1),
    new Option('--topic <name>', 'a topic of sources: send the lines there as they are').conflicts(['rate', 'speed']),
    new Option('--key <path>', 'with --topic: what of each line is its key, such as $.id (default: none)').argParser(
      keyOption,
    ),
  ],
  json: true,
  help: "Records without a key go to any partition: give one by which all that is said of a post comes in order.\n\nExamples:\n  $ gavel produce threads.jsonl --format rumoureval2017 --speed 20000\n  $ gavel produce samples.jsonl --topic forum.events --key '$.id' --config own.yaml",
  async run({ args: [file = ''], options, settings, terminal, signal, misused }) {
    const { topic, key, format } = options
    if (topic === undefined && key !== undefined) misused('--key goes with --topic.')
    if (topic === undefined)
      return produce(settings(), { file, format, reading: readingOf(options) }, paceOf(options), { terminal, signal })
    const started = performance.now()
    const sent = await produceLines(settings(), { file, topic, key }, { terminal, signal })
    const none = { posts: 0, comments: 0, counterspeech: 0, feedback: 0, skipped: [] }
    return { sent, ...none, seconds: (performance.now() - started) / 1000 }
  },
  print(done, { args: [file = ''], json, options: { topic }, terminal }) {
    const { sent, posts, comments, counterspeech, feedback, skipped, seconds } = done
    if (json) terminal.out(JSON.stringify(done))
    else if (topic !== undefined) terminal.out(`${sent} sent to ${topic} in ${seconds.toFixed(1)} s`)
    else {
      const parts = [
        `${posts} posts`,
        `${comments} comments`,
        ...(counterspeech > 0 ? [`${counterspeech} counterspeech`] : []),
        ...(feedback > 0 ? [`${feedback} feedback`] : []),
      ]
      terminal.out(`${sent} sent (${parts.join(', ')}) in ${seconds.toFixed(1)} s`)
    }
    for (const bad of skipped.slice(0, NAMED)) terminal.say(faultIn(file, bad))
    const leftOut = skipped.filter(({ read }) => read !== true).length
    if (leftOut > 0) throw new OperatorError(`${leftOut} lines of ${file} were left out.`)
  },
}

function paceOf({ rate, speed, maxPause }: ProduceOptions): Pace {
  if (rate !== undefined) return { kind: 'rate', perSecond: rate }
  if (speed !== undefined) return { kind: 'recorded', speed, maxPauseMs: maxPause * 1000 }
  return { kind: 'flat-out' }
}

/** Sends a file's messages to their topics, which are created if missing. */
export async function produce(
  settings: Settings,
  { file, format, reading = {} }: { file: string; format: Format; reading?: OwnReading },
  pace: Pace,
  io: { terminal: Terminal; signal: AbortSignal },
): Promise<ProduceResult> {
  const { clientId, compression } = settings.kafka
  const kafka = kafkaClient(settings.kafka, clientId, (name, event) => {
    if (name === 'error' && 'error' in event) io.terminal.say(String(event.error))
  })
  await checkBrokers(settings.kafka)
  await makeTopics(kafka, settings)
  const topics = topicsOf(settings)
  const writer = await kafkaWriter(kafka, compression)
  const skipped: BadLine[] = []
  const counts = { post: 0, comment: 0, counterspeech: 0, feedback: 0 }
  const started = performance.now()
  async function* counted() {
    for await (const message of fileMessages(file, format, (line) => skipped.push(line), reading)) {
      counts[message.type]++
      yield { ...message, key: keyOf(message.type, message.value) }
    }
  }
  try {
    const { posts: post, comments: comment, counterspeech, feedback } = topics
    const to = { writer, topics: { post, comment, counterspeech, feedback } }
    const sent = await replayFile(counted(), to, pace, {
      signal: io.signal,
      progress: (count) => io.terminal.progress(`${count} sent`),
    })
    const seconds = (performance.now() - started) / 1000
    const { post: posts, comment: comments, ...others } = counts
    return { sent, posts, comments, ...others, skipped, seconds }
  } finally {
    await writer.close()
  }
}
