import { type AcceptedRanges, eachBatch, inputsOf } from './input-topics.ts'
import type { PublishedState } from './own-topics.ts'
import { subjectKey } from './published.ts'
import type { RecoveryRun } from './run.ts'

/** Verdicts to come, and what they would cost by the mean of those on the topic, in US dollars. */
export interface ExpectedVerdicts {
  readonly verdicts: number
  readonly costUsd: number
}

/** What would be judged after the recovery, by the subjects on the input topics. */
export interface Forecast {
  /** Subjects that have no verdict. */
  readonly first: ExpectedVerdicts
  /** Subjects with a verdict whose messages do not count as accepted: they are read, judged and paid for again. */
  readonly again: ExpectedVerdicts
}

/**
 * Counts what is to be judged: one verdict for each subject and each protocol that it is routed to. Left out is what
 * can't be known without a recovery: what was said after a subject's last verdict. `over`: expired subjects, by key.
 */
export async function forecastOf(
  run: RecoveryRun,
  { subjects, meanCost }: PublishedState,
  accepted: AcceptedRanges,
  over: ReadonlyMap<string, unknown>,
): Promise<Forecast> {
  const counted = new Set<string>()
  const expected = { first: { verdicts: 0, costUsd: 0 }, again: { verdicts: 0, costUsd: 0 } }
  await eachBatch(run, await judgedRanges(run), 'counted', async ({ valid }, handler, context) => {
    for (const { message, from } of valid) {
      const { ref, post } = handler.commentOf?.(context, message) ?? {
        ref: handler.subjectOf(message),
        post: handler.postOf(context, message),
      }
      if (post === null) continue
      const key = subjectKey(ref)
      if (counted.has(key)) continue
      counted.add(key)
      const { topic, partition, offset } = from
      const isAccepted = BigInt(offset) < (accepted.get(topic)?.get(partition)?.to ?? 0n)
      for (const { name, subject } of run.routes.of(ref, post)) {
        const isKnown = subjects.get(key)?.last.has(name) ?? false
        // Of an expired thread the comments are gone: its verdict stands.
        if (isKnown && (isAccepted || (over.has(key) && subject === 'thread'))) continue
        const kind = expected[isKnown ? 'again' : 'first']
        kind.verdicts++
        kind.costUsd += meanCost(name)
      }
    }
  })
  return expected
}

/** The topics of posts and replies as a whole, and that of comments where any have verdicts of their own. */
async function judgedRanges(run: RecoveryRun): Promise<AcceptedRanges> {
  const topics = inputsOf(run).filter((topic) => topic !== run.topics.comments || run.routes.takeComments)
  return new Map(
    await Promise.all(topics.map(async (topic) => [topic, await run.history.rangesOf(topic, run.since)] as const)),
  )
}
