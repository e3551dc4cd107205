import type { RecordBatch, RecordedTopic, RecordStore } from '../contracts/ports/record.ts'
import type { HandleBatch, MessageBatch } from '../contracts/ports/topic.ts'
import { entriesOf, type ProjectContext } from './project.ts'

/** The first offset that a partition still has, and the one behind its last. */
export interface PartitionBounds {
  readonly low: number
  readonly high: number
}

export interface FollowContext {
  readonly store: Pick<RecordStore, 'apply' | 'positions' | 'restart' | 'rename'>
  /** The recorded topics by their names in Kafka. */
  readonly topics: ReadonlyMap<string, RecordedTopic>
  readonly bounds: (topic: string, partition: number) => Promise<PartitionBounds>
  readonly project: ProjectContext
  /** The record has taken another name: it is read on in another group, from the beginning of what the topics have. */
  readonly renamed: () => void
}

/** Entries that are written in one step: the next batch of another partition waits for no more. A long text of a dense script takes 0.1 s. */
const AT_ONCE = 50
/** How often is told that a step goes on, in ms: its reader would count as gone, and the step be begun anew for ever. */
const BEAT_MS = 1_000

/** Takes batches into the record. A batch that it has is skipped; what it lacks is read again, or noted as lost. */
export function recording(context: FollowContext): HandleBatch {
  return async (batch, heartbeat) => {
    const topic = context.topics.get(batch.topic)
    if (topic === undefined) return
    for (const step of stepsOf(topic, batch, context.project)) {
      const beating = setInterval(() => void heartbeat().catch(() => undefined), BEAT_MS)
      try {
        await applied(context, batch.topic, step)
      } finally {
        clearInterval(beating)
      }
      await heartbeat()
    }
  }
}

/** The entries of a batch in steps; the last one ends where the batch does. */
export function* stepsOf(topic: RecordedTopic, batch: MessageBatch, project: ProjectContext): Generator<RecordBatch> {
  const entries = batch.messages.flatMap((message) =>
    entriesOf(topic, message, project).map((entry) => ({ offset: Number(message.offset), entry })),
  )
  const { partition } = batch
  let from = batch.from === undefined ? null : Number(batch.from)
  let at = 0
  for (; at + AT_ONCE < entries.length; at += AT_ONCE) {
    const some = entries.slice(at, at + AT_ONCE)
    const next = Number(some.at(-1)?.offset) + 1
    yield { topic, partition, from, next, entries: some }
    from = next
  }
  yield { topic, partition, from, next: Number(batch.next), entries: entries.slice(at) }
}

async function applied(context: FollowContext, name: string, step: RecordBatch): Promise<void> {
  const { store, bounds } = context
  const { topic, partition } = step
  const outcome = await store.apply(step)
  if (outcome === 'applied') return
  const at = (await store.positions()).get(`${topic}/${partition}`) ?? 0
  if (outcome === 'behind' && step.next === at) return
  const { low, high } = await bounds(name, partition)
  if (outcome === 'behind') {
    // Its end lies before what was read of it: the topic was made anew.
    if (high >= at) return
    await store.restart(topic, partition)
    return applied(context, name, { ...step, from: null })
  }
  if (low > at && low >= (step.from ?? 0)) {
    await store.apply({ ...step, pastHole: true })
    return
  }
  // The group has committed what the record lacks: its file is older than the group's offsets.
  await store.rename()
  context.renamed()
  throw new Error(`the record has ${name}/${partition} up to ${at}, and its group was further: it is read again`)
}
