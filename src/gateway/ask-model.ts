import type { Ask } from '../domain/ask.ts'
import { PermanentError } from '../domain/errors.ts'
import type { ChatMessage } from '../domain/verdict.ts'
import { type Breaker, type Pass, withPass } from './breaker.ts'
import type { Answered, Calls } from './call.ts'
import type { AskContext, CallContext } from './context.ts'
import { CallDeferred } from './deferred.ts'
import { repair } from './format.ts'
import type { Guards, ModelSlots } from './model-slots.ts'
import { type Paid, paidFor } from './paid.ts'

/**
 * Has one model answer an ask, in one of its slots: one call, and one repair question if its answer is unreadable.
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
}): AskModel {
  const { calls, slots, breakers } = deps

  /** Asks the repair question; null if it can't be asked now. What was paid for is kept. */
  async function repaired(
    ask: Ask,
    model: string,
    messages: readonly ChatMessage[],
    context: CallContext,
    guards: Guards,
  ): Promise<Answered | null> {
    const question = async (pass: Pass) => {
      try {
        return await calls.call(ask, pass, messages, context, guards)
      } catch (error) {
        if (error instanceof CallDeferred || (error instanceof PermanentError && error.code === 'budget')) return null
        throw error
      }
    }
    return withPass(breakers, model, question, () => null)
  }

  return (ask, model, messages, asking, refused) => {
    const context: CallContext = { ...asking, tenant: asking.subject.tenant }
    const inSlot = async (pass: Pass, guards: Guards) => {
      const first = await calls.call(ask, pass, messages, context, guards)
      // A filter stops the same question again.
      if (first.reading.readable || first.reading.code === 'content-filter') return paidFor([first])
      const again = [...messages, ...repair(ask, first.reply, first.reading.why)]
      const second = await repaired(ask, model, again, context, guards)
      return paidFor(second === null ? [first] : [first, second])
    }
    const work = (pass: Pass) => slots.withSlot(model, asking.signal, (guards) => inSlot(pass, guards))
    return withPass<Paid>(breakers, model, work, refused)
  }
}
