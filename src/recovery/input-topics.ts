import type { InputMessage, IntakeInput, TopicHandler } from '../../consumers/intake.ts'
import { type ParsedMessages, parseMessages } from '../../consumers/read-message.ts'
import type { GroupProgress, Range } from '../contracts/ports/topic.ts'
import type { RecoveryRun } from './run.ts'

/** Offsets by topic and partition. */
export type AcceptedRanges = ReadonlyMap<string, ReadonlyMap<number, Range>>

/** Posts first, so that comments find their posts, and a deletion keeps out what comes after it. */
export function inputsOf({ topics }: Pick<RecoveryRun, 'topics'>): readonly string[] {
  return [topics.posts, topics.comments, topics.counterspeech]
}

/** What the service has accepted since the recovery's start time: the input topics, up to the group's offsets. */
export async function acceptedRanges(run: RecoveryRun, progress: GroupProgress): Promise<AcceptedRanges> {
  const accepted = new Map<string, Map<number, Range>>()
  for (const topic of inputsOf(run)) {
    const whole = await run.history.rangesOf(topic, run.since)
    accepted.set(
      topic,
      new Map([...whole].map(([at, { from, to }]) => [at, { from, to: takenUpTo(progress, topic, at, to) }])),
    )
  }
  return accepted
}

/** The group's next offset in a partition. If it is beyond the end, the topic was recreated and the group starts again. */
export function takenUpTo({ committed }: GroupProgress, topic: string, partition: number, end: bigint): bigint {
  const next = committed.get(topic)?.get(partition) ?? 0n
  return next > end ? 0n : next
}

/** How many offsets these ranges hold. */
export function recordsIn(ranges: ReadonlyMap<number, Range>): number {
  return [...ranges.values()].reduce((sum, { from, to }) => sum + Number(to > from ? to - from : 0n), 0)
}

/** Reads what was accepted, topic by topic, and parses each batch as the service does. */
export async function eachBatch(
  run: Pick<RecoveryRun, 'input' | 'history' | 'signal' | 'told'>,
  accepted: AcceptedRanges,
  what: string,
  take: (batch: ParsedMessages<InputMessage>, handler: TopicHandler, context: IntakeInput['context']) => Promise<void>,
): Promise<void> {
  const { input, history, signal, told } = run
  for (const [topic, ranges] of accepted) {
    const handler = input.handlers.get(topic)
    if (handler === undefined) continue
    const whole = recordsIn(ranges)
    await history.read(topic, ranges, async (messages) => {
      signal.throwIfAborted()
      await take(parseMessages(handler, input.context, messages), handler, input.context)
      told(`${topic}, ${what}`, messages.length, whole)
    })
    signal.throwIfAborted()
  }
}
