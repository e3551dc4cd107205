import { entryOf } from '../domain/entry-of.ts'
import { addUsage, noUsage, type Usage } from '../domain/verdict.ts'
import type { Answered } from './call.ts'
import { chargeOf, type Price } from './cost.ts'

/** An ask as calls to a model ended it. */
export interface Paid {
  readonly answer: unknown
  readonly failed?: { readonly code: string; readonly detail: string }
  readonly raw: string | null
  /** The model as it names itself. */
  readonly model: string
  readonly usage: Usage
  readonly ms: number
}

/** What the calls of one attempt came to, the last of them deciding. `name`: the model as the settings name it. */
export function paidFor(name: string, answered: readonly Answered[], prices: Readonly<Record<string, Price>>): Paid {
  const last = answered.at(-1)
  if (last === undefined) throw new Error('an ask settled without a call')
  const { reading, reply } = last
  return {
    answer: reading.readable ? reading.answer : null,
    ...(reading.readable ? {} : { failed: { code: reading.code, detail: reading.why } }),
    raw: reply.text,
    model: reply.model,
    usage: answered
      .map((each) => ({ ...noUsage(), calls: 1, ...chargeOf(each.reply, entryOf(prices, name)) }))
      .reduce(addUsage, noUsage()),
    ms: answered.reduce((sum, { ms }) => sum + ms, 0),
  }
}
