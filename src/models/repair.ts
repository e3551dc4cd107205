import { addUsage } from '../contracts/facts/verdict.ts'
import type { AskContext, Settled } from './context.ts'
import { repair } from './format.ts'
import type { GatewayState } from './parts.ts'
import { wasCutInThought } from './thinking.ts'

/**
 * Whether the model is asked further after this answer, and then what: the same in a larger room, if the first answer
 * ended while the model thought; or the one repair question, if the answer is unreadable.
 */
export function asksFurther({ thinkingRooms }: GatewayState, context: AskContext, { failed }: Settled): boolean {
  const { now, model } = context
  const { reply, thinkingTokens } = now
  // A filter stops the same question again.
  if (failed === undefined || failed.code === 'content-filter' || now.step === 'repair' || reply === null) return false
  const most = now.ask.maxTokens + thinkingTokens
  const cut = now.step === 'first' ? wasCutInThought(reply, { readable: false, most }) : 'no'
  const larger = cut === 'no' ? null : thinkingRooms.larger(model, thinkingTokens)
  now.isWidened ||= larger !== null
  now.thinkingTokens = larger ?? thinkingTokens
  now.step = cut === 'yes' && larger !== null ? 'larger' : 'repair'
  now.trial = null
  if (now.step === 'repair') now.messages = [...now.messages, ...repair(now.ask, reply, failed.detail)]
  return true
}

/** What was answered before, and further: the last answer decides, and all are paid for. */
export function together(
  { thinkingRooms }: GatewayState,
  { now, model }: AskContext,
  before: Settled,
  last: Settled,
): Settled {
  const remarks = [...(before.remarks ?? []), ...(last.remarks ?? [])]
  if (now.isWidened) {
    remarks.push('thinking-room')
    if (last.failed === undefined) thinkingRooms.sufficed(model, now.thinkingTokens)
  }
  return {
    ...last,
    usage: addUsage(before.usage, last.usage),
    ms: before.ms + last.ms,
    ...(remarks.length === 0 ? {} : { remarks: [...new Set(remarks)] }),
  }
}
