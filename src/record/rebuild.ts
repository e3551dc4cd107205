import type { RecordBatch, RecordedTopic, RecordStore } from '../contracts/ports/record.ts'
import type { TopicHistory } from '../contracts/ports/topic.ts'
import { stepsOf } from './follow.ts'
import type { ProjectContext } from './project.ts'

/** Deletions before what they delete, so that nothing of it is ever written; verdicts before what was said of them. */
const ORDER: readonly RecordedTopic[] = [
  'posts',
  'comments',
  'counterspeech',
  'decisionOutcomes',
  'verdicts',
  'transcripts',
  'proposals',
  'decisions',
  'reviews',
  'casework',
  'feedback',
  'appealOutcomes',
  'actions',
  'appeals',
]

/**
 * Fills an empty record with all that the topics have, up to their ends now. `progress` is called after each range of records, with
 * the topic and their number.
 */
export async function rebuild(
  store: Pick<RecordStore, 'apply'>,
  parts: {
    readonly history: TopicHistory
    readonly topics: ReadonlyMap<string, RecordedTopic>
    readonly project: ProjectContext
    readonly progress: (topic: string, records: number) => void
  },
): Promise<void> {
  const { history, topics, project, progress } = parts
  for (const topic of ORDER) {
    const name = [...topics].find(([, one]) => one === topic)?.[0]
    if (name === undefined) continue
    const ranges = await history.rangesOf(name, null)
    await history.read(name, ranges, async (messages) => {
      const [first] = messages
      const last = messages.at(-1)
      if (first === undefined || last === undefined) return
      const { partition } = first
      const batch = { topic: name, partition, messages, next: String(BigInt(last.offset) + 1n), atEnd: false }
      for (const step of stepsOf(topic, batch, project))
        await store.apply({ ...step, entries: step.entries.map(asAnew) })
      progress(name, messages.length)
    })
    // Also where its last offsets hold no record.
    for (const [partition, { to }] of ranges)
      await store.apply({ topic, partition, from: null, next: Number(to), entries: [] })
  }
}

/** An appeal that has no outcome waits, also where its verdict is gone from its topic. */
function asAnew(placed: RecordBatch['entries'][number]): RecordBatch['entries'][number] {
  const { entry } = placed
  return entry.what === 'appeal' ? { ...placed, entry: { ...entry, number: 0 } } : placed
}
