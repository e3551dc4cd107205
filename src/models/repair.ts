import { addUsage } from '../contracts/facts/verdict.ts'
import type { AnsweredCall } from './call.ts'
import type { AskResult, ModelPrompt } from './context.ts'
import { repair } from './format.ts'
import type { GatewayState } from './parts.ts'
import { wasCutInThought } from './thinking.ts'

/**
 * The model's next prompt after this answer: the same in a larger room, if the first answer ended while the model thought; or
 * the one repair question, if the answer is unreadable or a refusal. Null if it is asked nothing further.
 */
export function furtherPrompt(
  { thinkingRooms }: GatewayState,
  model: string,
  before: ModelPrompt,
  { settled: { failed }, reply }: AnsweredCall,
): ModelPrompt | null {
  const { ask, messages, thinkingTokens } = before
  // A filter stops the same question again, and a decision model answers it as before.
  if (failed === undefined || failed.code === 'content-filter' || before.step === 'repair' || reply.decided) return null
  const most = ask.maxTokens + thinkingTokens
  const cut = before.step === 'first' ? wasCutInThought(reply, { readable: false, most }) : 'no'
  const larger = cut === 'no' ? null : thinkingRooms.larger(model, thinkingTokens)
  const room = { thinkingTokens: larger ?? thinkingTokens, isWidened: before.isWidened || larger !== null }
  if (cut === 'yes' && larger !== null) return { ...before, ...room, step: 'larger' }
  return { ...before, ...room, step: 'repair', messages: [...messages, ...repair(ask, reply, failed.detail)] }
}

/** What was answered before, and to this further prompt: the last answer decides, and all are paid for. Notes which room sufficed. */
export function mergeAnswers(
  { thinkingRooms }: GatewayState,
  model: string,
  { isWidened, thinkingTokens }: ModelPrompt,
  before: AskResult,
  last: AskResult,
): AskResult {
  const remarks = [...(before.remarks ?? []), ...(last.remarks ?? [])]
  if (isWidened) {
    remarks.push('thinking-room')
    if (last.failed === undefined) thinkingRooms.sufficed(model, thinkingTokens)
  }
  return {
    ...last,
    usage: addUsage(before.usage, last.usage),
    ms: before.ms + last.ms,
    ...(remarks.length === 0 ? {} : { remarks: [...new Set(remarks)] }),
  }
}
