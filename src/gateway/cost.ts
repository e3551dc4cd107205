import type { Ask } from '../domain/ask.ts'
import type { Call } from '../domain/case.ts'
import type { ChatMessage } from '../domain/verdict.ts'
import type { Amount } from '../ports/budgets.ts'
import type { ModelReply } from '../ports/model.ts'
import { schemaLine } from './format.ts'

/** US dollars per million tokens. */
export interface Price {
  readonly prompt: number
  readonly cached: number
  readonly completion: number
}

/**
 * The most that a call can use. A token of a byte-level vocabulary has at least one byte, so the byte count is above any
 * tokenizer's count; the real usage replaces it afterwards.
 */
export function upperBound(
  ask: Ask,
  messages: readonly ChatMessage[],
  price: Price | undefined,
  imageTokens: number,
): Amount {
  const text = messages.reduce((sum, { content }) => sum + Buffer.byteLength(content) + 16, 16)
  const images = messages.reduce((sum, { images: shown = [] }) => sum + shown.length, 0)
  const prompt = text + images * imageTokens + Buffer.byteLength(schemaLine(ask.answer))
  const usd =
    price === undefined ? 0 : (prompt * Math.max(price.prompt, price.cached) + ask.maxTokens * price.completion) / 1e6
  return { tokens: prompt + ask.maxTokens, usd }
}

/** A reply's usage; the upper bound if its endpoint reports none: such an endpoint is not free. */
export function spentOn(reply: ModelReply, atMost: Amount, price: Price | undefined): Amount {
  const tokens = reply.promptTokens + reply.completionTokens
  return tokens === 0 ? atMost : { tokens, usd: costOf(reply, price) }
}

/** The usage and cost of an answer. */
export function chargeOf(reply: ModelReply, price: Price | undefined): NonNullable<Call['spent']> {
  const { promptTokens, cachedTokens, completionTokens } = reply
  return { promptTokens, cachedTokens, completionTokens, costUsd: costOf(reply, price) }
}

/** US dollars; cached prompt tokens are among the prompt tokens. */
function costOf(reply: ModelReply, price: Price | undefined): number {
  if (price === undefined) return 0
  const fresh = Math.max(0, reply.promptTokens - reply.cachedTokens)
  return (fresh * price.prompt + reply.cachedTokens * price.cached + reply.completionTokens * price.completion) / 1e6
}

/** US dollars for so many tokens, none of them cached; a model without a price is free. */
export function usdFor(
  tokens: { readonly prompt: number; readonly completion: number },
  price: Price | undefined,
): number {
  return price === undefined ? 0 : (tokens.prompt * price.prompt + tokens.completion * price.completion) / 1e6
}
