import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { PermanentError } from '../../../contracts/facts/errors.ts'
import type { Clock } from '../../../contracts/ports/clock.ts'
import type { Model } from '../../../contracts/ports/model.ts'
import { chargeOf, mostSent, type Price } from '../../../models/cost.ts'

/** A model, and what its answers have cost by the settings' prices. */
export interface MeteredModel {
  readonly model: Model
  /** Answers, their tokens, US dollars, and how long they took in all so far, in ms. */
  readonly spent: { readonly calls: number; readonly tokens: number; readonly usd: number; readonly ms: number }
  /** Calls that wait for their answers. */
  inFlight(): number
  /** The first model that was not asked since it has no price, and money is limited. */
  unpriced(): string | null
}

/**
 * Counts what a model's answers cost. From `most` US dollars on no call is made: it fails with `budget`, and `exhausted` is
 * called. Calls that are in flight at that moment end, and may exceed it. With `most` finite, a model without a price is not
 * asked either: nobody could say when the money is spent.
 */
export function metered(
  model: Model,
  { prices, imageTokens }: { readonly prices: Readonly<Record<string, Price>>; readonly imageTokens: number },
  most: number,
  exhausted: () => void,
  clock: Clock = Date.now,
): MeteredModel {
  const spent = { calls: 0, tokens: 0, usd: 0, ms: 0 }
  let inFlight = 0
  let unpriced: string | null = null
  return {
    spent,
    inFlight: () => inFlight,
    unpriced: () => unpriced,
    model: {
      async complete(request) {
        const price = entryOf(prices, request.model)
        if (Number.isFinite(most) && price === undefined) {
          unpriced ??= request.model
          exhausted()
          throw new PermanentError('budget', `${request.model} has no price, and the run may cost $${most}`)
        }
        if (spent.usd >= most) {
          exhausted()
          throw new PermanentError('budget', `the run has reached --max-cost, $${most}`)
        }
        const begun = clock()
        inFlight++
        const reply = await model.complete(request).finally(() => inFlight--)
        spent.calls++
        spent.ms += clock() - begun
        const { messages, maxTokens, thinkingTokens = 0 } = request
        const mostWritten = maxTokens + thinkingTokens
        const mostTokens = mostSent(messages, imageTokens) + mostWritten
        const { charge } = chargeOf(reply, price, { messages, mostWritten, mostTokens })
        spent.tokens += charge.promptTokens + charge.completionTokens
        spent.usd += charge.costUsd
        return reply
      },
    },
  }
}
