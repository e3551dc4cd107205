import { setTimeout as sleep } from 'node:timers/promises'
import { deadLetterOf } from '../producers/dead-letter.ts'
import { decisionMessage } from '../src/contracts/facts/decision-messages.ts'
import { type DeadLetterReason, type Outcome, subjectKeyOf } from '../src/contracts/facts/messages.ts'
import type { ReadLimits } from '../src/contracts/facts/read-value.ts'
import { slots } from '../src/contracts/facts/slots.ts'
import type { Outbox } from '../src/contracts/ports/cases.ts'
import type { Clock } from '../src/contracts/ports/clock.ts'
import {
  type DecisionHandler,
  type DecisionResult,
  type DecisionStore,
  decisionName,
} from '../src/contracts/ports/decisions.ts'
import type { Report } from '../src/contracts/ports/report.ts'
import type { Heartbeat, IncomingMessage, MessageBatch, TopicReader } from '../src/contracts/ports/topic.ts'
import { readMessage } from './read-message.ts'
import type { RedisGuard } from './redis-guard.ts'

/** What decisions are handled with. */
interface DecisionContext {
  readonly decide: DecisionHandler
  readonly decisions: Pick<DecisionStore, 'tell'>
  readonly outbox: Pick<Outbox, 'putDeadLetters'>
  readonly limits: ReadLimits
  readonly clock: Clock
  readonly report: Report
}

/** A verdict that is on its way out is waited for, and looked at so often, in ms. */
const LOOK_MS = 100
/** Subjects of one batch whose decisions are carried out at a time: none waits for a verdict of another. */
const SIDE_BY_SIDE = 64

/**
 * Carries out what people decide, of each subject in the order of its partition, as a group of its own: no backlog of posts or models holds it up.
 * An offset is committed when what the decision means is durable.
 */
export function decisionsConsumer(
  context: DecisionContext & {
    readonly reader: TopicReader
    readonly store: Pick<RedisGuard, 'whenRecovered' | 'untilStored'>
  },
) {
  const { reader, store } = context
  const stopping = new AbortController()
  return {
    start: () =>
      store.whenRecovered(() =>
        reader.start((batch, heartbeat) => handleDecisions(context, store, batch, heartbeat, stopping.signal)),
      ),
    close() {
      stopping.abort()
      return reader.close()
    },
  }
}

async function handleDecisions(
  context: DecisionContext,
  store: Pick<RedisGuard, 'untilStored'>,
  { topic, messages }: MessageBatch,
  heartbeat: Heartbeat,
  signal: AbortSignal,
): Promise<void> {
  const waits = new Map<IncomingMessage, number>()
  const turns = slots(() => SIDE_BY_SIDE)
  const subjects = [...Map.groupBy(messages, ({ key }) => key).values()]
  const ends = await Promise.allSettled(subjects.map(inOrder))
  for (const end of ends) if (end.status === 'rejected') throw end.reason

  async function inOrder(ofSubject: readonly IncomingMessage[]): Promise<void> {
    await turns.acquire(signal)
    try {
      for (const from of ofSubject) {
        const decided = await attempt(from)
        const ended = decided === 'waiting' ? await untilDecided(from) : decided
        await heartbeat()
        context.report('messages:settled', { topic, outcome: OUTCOME_OF[ended], count: 1 })
      }
    } finally {
      turns.release()
    }
  }

  async function untilDecided(from: IncomingMessage): Promise<Exclude<DecisionResult['outcome'], 'waiting'>> {
    try {
      for (;;) {
        waits.set(from, Math.max(0, context.clock() - from.timestamp) / 1000)
        reportLongest(from)
        await sleep(LOOK_MS, undefined, { signal })
        await heartbeat()
        const decided = await attempt(from)
        if (decided !== 'waiting') return decided
      }
    } finally {
      // Also where the partition has moved to another process, which now reports how long it waits.
      waits.delete(from)
      reportLongest(from)
    }
  }

  function reportLongest({ partition }: IncomingMessage): void {
    context.report('decision:waits', { partition, seconds: Math.max(0, ...waits.values()) })
  }

  /** Until the store has what it means. */
  async function attempt(from: IncomingMessage): Promise<DecisionResult['outcome']> {
    let decided: DecisionResult['outcome'] = 'waiting'
    await store.untilStored(async () => {
      decided = await handleDecision(context, from)
    }, heartbeat)
    return decided
  }
}

const OUTCOME_OF: Readonly<Record<Exclude<DecisionResult['outcome'], 'waiting'>, Outcome>> = {
  stands: 'judged',
  withdrawn: 'judged',
  noted: 'updated',
  duplicate: 'duplicate',
  late: 'late',
  deleted: 'deleted',
  unknown: 'dead-letter',
  refused: 'dead-letter',
}

/** Carries out one decision; what can't be one becomes a dead letter, and its writer gets the reason. */
async function handleDecision(context: DecisionContext, from: IncomingMessage): Promise<DecisionResult['outcome']> {
  const { decide, limits, clock } = context
  const { partition, offset, timestamp } = from
  const read = readMessage(from, decisionMessage, limits, clock())
  if (!read.ok) return refuse(context, from, read.reason, read.detail)
  if (from.key !== subjectKeyOf(read.message)) return refuse(context, from, 'invalid', WRONG_KEY)
  const decided = await decide(read.message, { partition, offset, timestamp })
  if (decided.outcome === 'refused') return refuse(context, from, decided.reason ?? 'invalid', decided.why)
  if (decided.outcome === 'unknown') return refuse(context, from, 'unjudgeable', UNKNOWN, decided)
  return decided.outcome
}

const WRONG_KEY = 'the key is not the subjectId, or of a comment not its postId'
const UNKNOWN = 'nothing is known of the subject; "force": true decides all the same'

async function refuse(
  { outbox, decisions, report }: DecisionContext,
  from: IncomingMessage,
  reason: DeadLetterReason,
  detail: string,
  /** What the store has told already. */
  told?: DecisionResult,
): Promise<DecisionResult['outcome']> {
  const { topic, partition, offset } = from
  await outbox.putDeadLetters([deadLetterOf(from, { reason, detail })])
  if (told === undefined) await decisions.tell(decisionName({ partition, offset }), { outcome: 'refused', why: detail })
  report('message:dead', { topic, partition, offset, reason, detail })
  return told?.outcome ?? 'refused'
}
