import { deadLetterOf } from '../producers/dead-letter.ts'
import { actionMessage } from '../src/contracts/facts/action-messages.ts'
import { subjectKeyOf } from '../src/contracts/facts/messages.ts'
import type { ReadLimits } from '../src/contracts/facts/read-value.ts'
import type { Outbox } from '../src/contracts/ports/cases.ts'
import type { Clock } from '../src/contracts/ports/clock.ts'
import type { Report } from '../src/contracts/ports/report.ts'
import type { Heartbeat, IncomingMessage, MessageBatch, TopicReader } from '../src/contracts/ports/topic.ts'
import { readMessage } from './read-message.ts'
import type { RedisGuard } from './redis-guard.ts'

/** What messages about actions are checked with. */
interface ActionContext {
  readonly outbox: Pick<Outbox, 'putDeadLetters'>
  readonly limits: ReadLimits
  readonly clock: Clock
  readonly report: Report
  readonly reader: TopicReader
  readonly store: Pick<RedisGuard, 'whenRecovered' | 'untilStored'>
}

/** Messages whose effects are made durable together. */
const HANDLED_AT_ONCE = 250

/** `at` is what `createdAt` is elsewhere. */
const message = actionMessage.transform((given) => ({ ...given, createdAt: given.at }))

/**
 * Tells whoever sends it what is no action: the record takes the others, and passes over these. An offset is committed when the dead
 * letters of what came before are durable.
 */
export function actionsConsumer({ reader, store, ...context }: ActionContext) {
  return {
    start: () =>
      store.whenRecovered(() => reader.start((batch, heartbeat) => handleActions(context, store, batch, heartbeat))),
    close: () => reader.close(),
  }
}

async function handleActions(
  { outbox, limits, clock, report }: Omit<ActionContext, 'reader' | 'store'>,
  store: ActionContext['store'],
  { topic, messages }: MessageBatch,
  heartbeat: Heartbeat,
): Promise<void> {
  for (let at = 0; at < messages.length; at += HANDLED_AT_ONCE) {
    const some = messages.slice(at, at + HANDLED_AT_ONCE)
    const refused = some.flatMap((from) => refusalOf(from, limits, clock()) ?? [])
    if (refused.length > 0)
      await store.untilStored(
        () => outbox.putDeadLetters(refused.map(({ from, ...why }) => deadLetterOf(from, why))),
        heartbeat,
      )
    for (const { from, reason, detail } of refused) {
      const { partition, offset } = from
      report('message:dead', { topic, partition, offset, reason, detail })
    }
    const kept = some.length - refused.length
    if (kept > 0) report('messages:settled', { topic, outcome: 'updated', count: kept })
    if (refused.length > 0) report('messages:settled', { topic, outcome: 'dead-letter', count: refused.length })
    await heartbeat()
  }
}

/** Why a message is no action; null if it is one. */
function refusalOf(from: IncomingMessage, limits: ReadLimits, now: number) {
  const read = readMessage(from, message, limits, now)
  if (!read.ok) return { from, reason: read.reason, detail: read.detail }
  const { message: action } = read
  const isKeyed = action.withdraw === true ? from.key !== null : from.key === subjectKeyOf(action)
  return isKeyed ? null : { from, reason: 'invalid' as const, detail: WRONG_KEY }
}

const WRONG_KEY = 'the key is not the subjectId, or of a comment not its postId; of a withdrawal that of its action'
