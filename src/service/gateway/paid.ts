import { addUsage, noUsage, type Remark, type Usage } from '../domain/verdict.ts'
import type { ModelReply } from '../ports/model.ts'
import type { CallAnswer, CallSettings } from './call.ts'

/** The result of an ask that was sent to a model. */
export interface Paid {
  readonly answer: unknown
  readonly failed?: { readonly code: string; readonly detail: string }
  readonly raw: string | null
  /** The model's own name for itself. */
  readonly model: string
  readonly usage: Usage
  readonly ms: number
  /** What could not be had as it was asked for; absent where all could. */
  readonly remarks?: readonly Remark[]
}

/** The result of one attempt's calls; the last one decides. */
export function paidFor(answered: readonly CallAnswer[], { keepThoughts }: Pick<CallSettings, 'keepThoughts'>): Paid {
  const last = answered.at(-1)
  if (last === undefined) throw new Error('an ask ended without a call')
  const { reading, reply } = last
  const remarks = [...new Set(answered.flatMap((each) => each.reply.remarks ?? []))]
  return {
    answer: reading.readable ? reading.answer : null,
    ...(reading.readable ? {} : { failed: { code: reading.code, detail: reading.why } }),
    raw: keepThoughts ? withThoughts(reply) : reply.text,
    model: reply.model,
    usage: answered.map(({ charge }) => ({ ...noUsage(), calls: 1, ...charge })).reduce(addUsage, noUsage()),
    ms: answered.reduce((sum, { ms }) => sum + ms, 0),
    ...(remarks.length === 0 ? {} : { remarks }),
  }
}

function withThoughts({ text, thoughts }: ModelReply): string | null {
  return thoughts === undefined ? text : `<think>${thoughts}</think>\n${text ?? ''}`
}
