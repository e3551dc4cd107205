import type { Ask, Decision } from '../contracts/facts/ask.ts'
import type { ModelCall } from '../contracts/facts/case.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { estimateTokens } from '../contracts/facts/token-estimate.ts'
import type { ChatMessage } from '../contracts/facts/verdict.ts'
import type { Amount } from '../contracts/ports/budgets.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { ModelReply, Tier } from '../contracts/ports/model.ts'
import type { Report, UnmeteredReason } from '../contracts/ports/report.ts'
import { schemaLine } from './format.ts'

/** US dollars per million tokens, and by what they are multiplied. */
export interface Price {
  readonly prompt: number
  readonly cached: number
  readonly completion: number
  /** Of what is written to a cache; left out: as the rest of the prompt. */
  readonly cacheWrite?: number | undefined
  /** Of what is thought; left out: as the rest of what is written. */
  readonly thinking?: number | undefined
  /** By the tier that an answer names: what all prices are multiplied by. Others cost what is usual. */
  readonly tiers?: Readonly<Record<string, number>> | undefined
  /** Of each token of a decision model's question, whose answer is free then; left out: as any other call's. */
  readonly decisions?: number | undefined
  /** Of a call whose prompt has more tokens than `above`: what its prices are multiplied by, all of them. */
  readonly longContext?: { readonly above: number; readonly prompt: number; readonly completion: number } | undefined
}

/** What a call is given and allowed, as far as its usage follows from it. */
export interface CallBounds {
  readonly messages: readonly ChatMessage[]
  /** The most that may be written. */
  readonly mostWritten: number
  /** The most that it can use, in tokens. */
  readonly mostTokens: number
}

/** The usage of an answered call, and its cost. */
export type Charge = NonNullable<ModelCall['spent']>

/** Each of several questions has the instructions and the options of its own. */
function decisionBytes(decision: Decision): number {
  const { instructions, options, each = [] } = decision
  const again = Math.max(0, each.length - 1) * Buffer.byteLength(JSON.stringify([instructions, options]))
  return Buffer.byteLength(JSON.stringify(decision)) + again
}

/**
 * The most that a call can use. A token of a byte-level vocabulary has at least one byte, so the byte count is above any
 * tokenizer's count; the real usage replaces it afterwards. A tier that costs less may be refused, and one that costs more served.
 */
export function upperBound(
  ask: Ask,
  messages: readonly ChatMessage[],
  price: Price | undefined,
  of: { readonly imageTokens: number; readonly tier?: Tier | undefined; readonly thinkingTokens?: number },
): Amount {
  const { imageTokens, tier, thinkingTokens = 0 } = of
  const decision = ask.decision === undefined ? 0 : decisionBytes(ask.decision)
  const prompt = mostSent(messages, imageTokens) + Buffer.byteLength(schemaLine(ask.answer)) + decision
  const written = ask.maxTokens + thinkingTokens
  if (price === undefined) return { tokens: prompt + written, usd: 0 }
  const { prompt: sent, completion, cached, cacheWrite = sent, thinking = completion } = price
  const long = longFactors(price, prompt)
  const usd =
    (Math.max(1, tierFactor(price, tier)) *
      (prompt * Math.max(sent, cached, cacheWrite) * long.prompt +
        written * Math.max(completion, thinking) * long.completion)) /
    1e6
  return { tokens: prompt + written, usd }
}

/** More tokens than any tokenizer finds in these messages. */
export function mostSent(messages: readonly ChatMessage[], imageTokens: number): number {
  const text = messages.reduce((sum, { content }) => sum + Buffer.byteLength(content) + 16, 16)
  return text + imagesIn(messages) * imageTokens
}

/** A reported usage above the bound by this factor is a mistake, not a call. */
const BEYOND = 10

/**
 * The usage and cost of an answer, by what its endpoint reports; by an estimate where that is missing or can't be, and why.
 */
export function chargeOf(
  reply: ModelReply,
  price: Price | undefined,
  given: CallBounds,
): { readonly charge: Charge; readonly unmetered: UnmeteredReason | null } {
  const { promptTokens, cachedTokens, completionTokens, cacheWriteTokens = 0, thinkingTokens = 0 } = reply
  const tokens = promptTokens + completionTokens
  const isBeyond = tokens > BEYOND * given.mostTokens
  if (reply.unreported !== true && tokens > 0 && !isBeyond) {
    const charge = {
      promptTokens,
      cachedTokens,
      completionTokens,
      costUsd: costOf(reply, price),
      ...(cacheWriteTokens === 0 ? {} : { cacheWriteTokens }),
      ...(thinkingTokens === 0 ? {} : { thinkingTokens }),
    }
    return { charge, unmetered: null }
  }
  const estimate = estimateOf(reply, given)
  const costUsd = costOf({ ...estimate, tier: reply.tier, decided: reply.decided }, price)
  return { charge: { ...estimate, costUsd, estimated: 1 }, unmetered: isBeyond ? 'beyond' : 'missing' }
}

/** What budgets and limits book for a call: its bound, where its usage is not known. Such an endpoint is not free. */
export function spentOn({ promptTokens, completionTokens, costUsd, estimated }: Charge, atMost: Amount): Amount {
  return estimated === undefined ? { tokens: promptTokens + completionTokens, usd: costUsd } : atMost
}

/** About what an image of a usual size counts as. */
const IMAGE_TOKENS = 1_000

function estimateOf({ text, thoughts = '', finish }: ModelReply, { messages, mostWritten }: CallBounds) {
  const sent = messages.reduce((sum, { content }) => sum + estimateTokens(content), 0)
  // An answer that ended for length has used all that it was allowed, thoughts that nobody sees among it.
  const wrote = finish === 'length' ? mostWritten : estimateTokens(text ?? '') + estimateTokens(thoughts)
  return {
    promptTokens: sent + imagesIn(messages) * IMAGE_TOKENS,
    cachedTokens: 0,
    completionTokens: wrote,
  }
}

function imagesIn(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, { images: shown = [] }) => sum + shown.length, 0)
}

type Counts = Pick<
  ModelReply,
  'promptTokens' | 'cachedTokens' | 'completionTokens' | 'cacheWriteTokens' | 'thinkingTokens' | 'tier' | 'decided'
>

/**
 * US dollars, exact in the last digit: a sum of whole billionths of a thousandth. Cached and written tokens are among the
 * prompt's, thoughts among those that were written.
 */
function costOf(counts: Counts, price: Price | undefined): number {
  if (price === undefined) return 0
  if (counts.decided !== undefined && price.decisions !== undefined)
    return (counts.promptTokens * picoUsd(price.decisions)) / 1e12
  const { promptTokens, cachedTokens, completionTokens, cacheWriteTokens = 0, thinkingTokens = 0, tier } = counts
  const { prompt, cached, completion, cacheWrite = prompt, thinking = completion } = price
  const long = longFactors(price, promptTokens)
  const factor = tierFactor(price, tier)
  const sent = (tokens: number, usd: number) => tokens * picoUsd(usd * long.prompt * factor)
  const wrote = (tokens: number, usd: number) => tokens * picoUsd(usd * long.completion * factor)
  const pico =
    sent(Math.max(0, promptTokens - cachedTokens - cacheWriteTokens), prompt) +
    sent(cachedTokens, cached) +
    sent(cacheWriteTokens, cacheWrite) +
    wrote(Math.max(0, completionTokens - thinkingTokens), completion) +
    wrote(thinkingTokens, thinking)
  return pico / 1e12
}

function tierFactor({ tiers = {} }: Price, tier: string | undefined): number {
  return (tier === undefined ? undefined : entryOf(tiers, tier)) ?? 1
}

function longFactors({ longContext }: Price, promptTokens: number): { prompt: number; completion: number } {
  return longContext !== undefined && promptTokens > longContext.above ? longContext : { prompt: 1, completion: 1 }
}

/** Of a token, at so many US dollars for a million: millionths of a millionth of a dollar, a whole number. */
function picoUsd(usdPerMillion: number): number {
  return Math.round(usdPerMillion * 1e6)
}

/** US dollars for so many tokens, by default none of them cached; a model without a price is free. */
export function usdFor(
  {
    prompt,
    cached = 0,
    completion,
  }: { readonly prompt: number; readonly cached?: number; readonly completion: number },
  price: Price | undefined,
): number {
  return costOf({ promptTokens: prompt, cachedTokens: cached, completionTokens: completion }, price)
}

/** A model whose usage is not known is named once in this time. */
const NAMED_AGAIN_MS = 3_600_000

/** Reports that a model's usage is not known, and why: once in an hour for each reason. */
export function unmeteredCalls(report: Report, clock: Clock) {
  const named = new Map<string, number>()
  return (model: string, why: UnmeteredReason): void => {
    const last = named.get(`${why} ${model}`)
    if (last !== undefined && clock() - last < NAMED_AGAIN_MS) return
    named.set(`${why} ${model}`, clock())
    report('model:unmetered', { model, why })
  }
}
export type UnmeteredCalls = ReturnType<typeof unmeteredCalls>
