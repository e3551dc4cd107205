import type { Settings } from '../../config/schema.ts'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import { type Pace, replayFile } from '../../producers/replay.ts'
import { checkBrokers, kafkaClient } from '../adapters/kafka/client.ts'
import { makeTopics } from '../composition/kafka.ts'
import { topicsOf } from '../composition/topics.ts'
import { type BadLine, type Format, fileMessages } from '../evaluation/formats.ts'
import type { Terminal } from './terminal.ts'

export interface Produced {
  readonly sent: number
  readonly posts: number
  readonly comments: number
  readonly counterspeech: number
  readonly feedback: number
  readonly skipped: readonly BadLine[]
  readonly seconds: number
}

/** `gavel produce`: a file's messages to Kafka, at their pace. */
export async function produce(
  settings: Settings,
  file: string,
  format: Format,
  pace: Pace,
  io: { terminal: Terminal; signal: AbortSignal },
): Promise<Produced> {
  const { clientId, compression } = settings.kafka
  const kafka = kafkaClient(settings.kafka, clientId, (name, event) => {
    if (name === 'trouble:met' && 'error' in event) io.terminal.say(String(event.error))
  })
  await checkBrokers(settings.kafka)
  await makeTopics(kafka, settings)
  const topics = topicsOf(settings)
  const writer = await kafkaWriter(kafka, compression)
  const skipped: BadLine[] = []
  const counts = { post: 0, comment: 0, counterspeech: 0, feedback: 0 }
  const started = performance.now()
  async function* counted() {
    for await (const message of fileMessages(file, format, (line) => skipped.push(line))) {
      counts[message.type]++
      yield message
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
