import type { BadLine, FileMessage } from './file-message.ts'

/** Messages handled at once. */
const BATCH = 500

/** The in-memory topics that a file's messages are sent to. */
export const FILE_TOPICS = { posts: 'posts', comments: 'comments', counterspeech: 'counterspeech' } as const
const TOPIC_OF = {
  post: FILE_TOPICS.posts,
  comment: FILE_TOPICS.comments,
  counterspeech: FILE_TOPICS.counterspeech,
} as const

/**
 * The messages that are subjects, or belong to one; the others are reported to `skipped`, and what a vision model saw, which is in
 * no message, to `described`, by the post's id.
 */
export async function* subjectsOf(
  messages: AsyncIterable<FileMessage>,
  skipped: BadLine[],
  described: Map<string, readonly string[]>,
) {
  for await (const { type, descriptions, ...message } of messages) {
    if (descriptions !== undefined) described.set(message.key, descriptions)
    if (type === 'feedback') skipped.push({ line: message.line, why: 'is feedback, for "gavel learn"' })
    else yield { ...message, topic: TOPIC_OF[type] }
  }
}

/** A message of a file on its way into a topic. */
type Fed = Omit<FileMessage, 'type'> & { readonly topic: string }

/** Feeds topics from a file, and keeps from which lines their records came. `send` resolves to the offsets of its records. */
export function feeding(
  send: (
    topic: string,
    records: readonly { readonly key: string; readonly value: Buffer }[],
  ) => Promise<readonly number[]>,
) {
  const lines = new Map<string, number>()
  return {
    /** The line of the file, from 1, that a record was made of. */
    lineOf: (topic: string, offset: string) => lines.get(`${topic}/${offset}`),
    /** Posts before comments in each batch, as in most streams. */
    async all(messages: AsyncIterable<Fed>): Promise<void> {
      let pending: Fed[] = []
      const flush = async () => {
        const byTopic = Map.groupBy(pending, ({ topic }) => topic)
        pending = []
        for (const topic of Object.values(FILE_TOPICS)) {
          const batch = byTopic.get(topic) ?? []
          if (batch.length === 0) continue
          const records = batch.map(({ key, value }) => ({ key, value: Buffer.from(JSON.stringify(value)) }))
          const offsets = await send(topic, records)
          for (const [at, { line }] of batch.entries()) lines.set(`${topic}/${offsets[at]}`, line)
        }
      }
      for await (const message of messages) {
        pending.push(message)
        if (pending.length >= BATCH) await flush()
      }
      await flush()
    },
  }
}
