import type { Ask } from '../domain/ask.ts'
import { PermanentError } from '../domain/errors.ts'
import type { ChatMessage } from '../domain/verdict.ts'
import { type Breaker, type Pass, withPass } from './breaker.ts'
import type { CallAnswer, CallSettings, Calls } from './call.ts'
import { type AskContext, askerOf, type CallContext } from './context.ts'
import { CallDeferred } from './deferred.ts'
import { repair } from './format.ts'
import type { Guards, ModelSlots } from './model-slots.ts'
import { type Paid, paidFor } from './paid.ts'
import { type ThinkingRooms, wasCutInThought } from './thinking.ts'

/**
 * Has one model answer an ask, in one of its slots: one call, one more if its answer ended while the model thought, and one
 * repair question if the answer is unreadable.
 * `others` says whether another model can be asked instead; `refused` throws if the breaker blocks calls, for this many
 * ms.
 */
export type AskModel = (
  ask: Ask,
  model: string,
  messages: readonly ChatMessage[],
  context: AskContext & { readonly others: boolean; readonly apart?: boolean },
  refused: (retryInMs: number) => never,
) => Promise<Paid>

export function askModel(deps: {
  calls: Calls
  slots: ModelSlots
  breakers: Pick<Breaker, 'allow' | 'note'>
  rooms: ThinkingRooms
  settings: Pick<CallSettings, 'keepThoughts'>
}): AskModel {
  const { calls, slots, breakers, rooms, settings } = deps

  /** Asks once more; null if it can't be asked now. What was paid for is kept. */
  async function again(
    ask: Ask,
    model: string,
    messages: readonly ChatMessage[],
    context: CallContext,
    guards: Guards,
    thinkingTokens: number,
  ): Promise<CallAnswer | null> {
    const question = async (pass: Pass) => {
      try {
        return await calls.call(ask, pass, messages, context, guards, thinkingTokens)
      } catch (error) {
        if (error instanceof CallDeferred || (error instanceof PermanentError && error.code === 'budget')) return null
        throw error
      }
    }
    return withPass(breakers, model, question, () => null, askerOf(context))
  }

  return (ask, model, messages, asking, refused) => {
    const context: CallContext = { ...asking, tenant: asking.subject.tenant }
    const inSlot = async (pass: Pass, guards: Guards) => {
      const room = rooms.of(model)
      const first = await calls.call(ask, pass, messages, context, guards, room)
      const { readable } = first.reading
      const cut = wasCutInThought(first.reply, { readable, most: ask.maxTokens + room })
      const larger = cut === 'no' ? null : rooms.larger(model, room)
      /** Asks in the larger room, if there is one. */
      const further = async (asked: readonly ChatMessage[]): Promise<CallAnswer | null> => {
        const next = await again(ask, model, asked, context, guards, larger ?? room)
        if (next === null || larger === null) return next
        if (next.reading.readable) rooms.sufficed(model, larger)
        const remarks = [...(next.reply.remarks ?? []), 'thinking-room' as const]
        return { ...next, reply: { ...next.reply, remarks } }
      }
      const answers = [first]
      if (cut === 'yes' && larger !== null) {
        const next = await further(messages)
        if (next === null) return paidFor(answers, settings)
        answers.push(next)
      }
      const { reading, reply } = answers.at(-1) ?? first
      // A filter stops the same question again.
      if (reading.readable || reading.code === 'content-filter') return paidFor(answers, settings)
      const repaired = await further([...messages, ...repair(ask, reply, reading.why)])
      return paidFor(repaired === null ? answers : [...answers, repaired], settings)
    }
    const work = (pass: Pass) => slots.withSlot(model, asking.signal, (guards) => inSlot(pass, guards))
    return withPass<Paid>(breakers, model, work, refused, askerOf(context))
  }
}
