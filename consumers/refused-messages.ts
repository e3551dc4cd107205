import { deadLetterOf } from '../producers/dead-letter.ts'
import type { DeadLetterReason } from '../src/contracts/facts/messages.ts'
import type { IncomingMessage } from '../src/contracts/ports/topic.ts'
import type { IntakeContext } from './intake.ts'

/** Why a message that can be read is not kept. */
interface Refusal {
  readonly reason: DeadLetterReason
  readonly detail: string
}

export const OVER_SHARE: Refusal = {
  reason: 'over-share',
  detail: 'its tenant holds its share of the store (shares.tenant), and other tenants have messages to read',
}

/** What could not be erased with its post is not kept. */
export function fullOf(most: number, what: 'replies' | 'comments'): Refusal {
  return { reason: 'unjudgeable', detail: `its post has ${most} ${what} already (threads.maxReplies)` }
}

/** Puts a dead letter for each of these messages, in one step. */
export async function refuseMessages(
  { outbox, report }: Pick<IntakeContext, 'outbox' | 'report'>,
  refused: readonly IncomingMessage[],
  { reason, detail }: Refusal,
): Promise<'dead-letter'> {
  if (refused.length > 0) await outbox.putDeadLetters(refused.map((from) => deadLetterOf(from, { reason, detail })))
  for (const { topic, partition, offset } of refused)
    report('message:dead', { topic, partition, offset, reason, detail })
  return 'dead-letter'
}
