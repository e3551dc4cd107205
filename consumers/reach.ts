import { deadLetterOf } from '../producers/dead-letter.ts'
import { reachMessage } from '../src/contracts/facts/action-messages.ts'
import type { Outcome } from '../src/contracts/facts/messages.ts'
import type { ReadLimits } from '../src/contracts/facts/read-value.ts'
import type { Outbox } from '../src/contracts/ports/cases.ts'
import type { Clock } from '../src/contracts/ports/clock.ts'
import type { Report } from '../src/contracts/ports/report.ts'
import type { ThreadStore } from '../src/contracts/ports/threads.ts'
import type { Heartbeat, MessageBatch, TopicReader } from '../src/contracts/ports/topic.ts'
import { aheadByReach } from '../src/judging/threads/head-start.ts'
import { parseMessages } from './read-message.ts'
import type { RedisGuard } from './redis-guard.ts'

/** What messages about the reach of posts are handled with. */
interface ReachContext {
  readonly threads: Pick<ThreadStore, 'raiseReach'>
  readonly outbox: Pick<Outbox, 'putDeadLetters'>
  readonly limits: ReadLimits
  /** How long a reach is remembered for a post that has not come yet, in ms. */
  readonly keepMs: number
  /** Bytes that a tenant may hold with that; null: no limit. */
  readonly mostHeld: () => number | null
  readonly clock: Clock
  readonly report: Report
}

/** Messages whose effects are made durable together. */
const HANDLED_AT_ONCE = 250

/** `at` is what `createdAt` is elsewhere: one from the future is a mistake. */
const message = reachMessage.transform((given) => ({ ...given, createdAt: given.at }))

/**
 * Raises the reach of posts, as a group of its own: what spreads is known of while intake is paused, or reads a backlog. An offset
 * is committed when its effect is durable.
 */
export function reachConsumer(
  context: ReachContext & {
    readonly reader: TopicReader
    readonly store: Pick<RedisGuard, 'whenRecovered' | 'untilStored'>
  },
) {
  const { reader, store } = context
  return {
    start: () =>
      store.whenRecovered(() => reader.start((batch, heartbeat) => handleReach(context, store, batch, heartbeat))),
    close: () => reader.close(),
  }
}

async function handleReach(
  context: ReachContext,
  store: Pick<RedisGuard, 'untilStored'>,
  { topic, messages }: MessageBatch,
  heartbeat: Heartbeat,
): Promise<void> {
  const { threads, outbox, keepMs, mostHeld, clock, report } = context
  for (let at = 0; at < messages.length; at += HANDLED_AT_ONCE) {
    const { valid, invalid } = parseMessages({ schema: message }, context, messages.slice(at, at + HANDLED_AT_ONCE))
    let outcomes: readonly Outcome[] = []
    await store.untilStored(async () => {
      const within = { keepMs, now: clock(), most: mostHeld() }
      outcomes = await Promise.all(
        valid.map(({ message: { tenant, postId, reach } }) =>
          threads.raiseReach({ tenant, postId, kind: 'post' }, aheadByReach(reach), within),
        ),
      )
      if (invalid.length > 0)
        await outbox.putDeadLetters(invalid.map(({ from, reason, detail }) => deadLetterOf(from, { reason, detail })))
    }, heartbeat)
    for (const { from, reason, detail } of invalid) {
      const { partition, offset } = from
      report('message:dead', { topic, partition, offset, reason, detail })
    }
    const counts = Map.groupBy([...outcomes, ...invalid.map(() => 'dead-letter' as const)], (outcome) => outcome)
    for (const [outcome, all] of counts) report('messages:settled', { topic, outcome, count: all.length })
    await heartbeat()
  }
}
