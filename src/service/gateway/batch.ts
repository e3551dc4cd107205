import type { z } from 'zod'
import { type Ask, keptAnswer } from '../domain/ask.ts'
import { addUsage, type ChatMessage, noUsage } from '../domain/verdict.ts'
import type { MemoEntry } from '../ports/memo.ts'
import type { Paid } from './paid.ts'

/** One question of an ask: the ask itself, or a single item of its batch. Items with the same words are one question. */
export interface Question {
  readonly key: string
  /** The schema of a kept answer. */
  readonly kept: z.ZodType
  /** The items of the batch that ask this question; [0] for an ask without a batch. */
  readonly items: readonly number[]
}

/** An ask's questions, each once, in the order of their first items; and how they are sent. */
export interface Questions {
  readonly all: readonly Question[]
  /** The same questions under the keys of another model. */
  under(model: string): readonly Question[]
  /** The messages of the whole ask, if they are known already. */
  readonly messages: readonly ChatMessage[] | null
}

/** A call that was made for an ask, or for a subset of its batch. */
export interface BatchCall {
  readonly paid: Paid
  /** The items that were sent. */
  readonly items: readonly number[]
}

/** How an ask ended, with remembered or paid answers. */
export interface Remembered extends Paid {
  /** No call was made for it. */
  readonly memo: boolean
  /** Set if several models answered items of a batch: the model of each item, empty if the item has no answer. */
  readonly models?: readonly string[]
  /** Set if a batch was not sent whole: the items sent, call by call. */
  readonly sent?: readonly (readonly number[])[]
  /** Tokens that were paid for the remembered answers at the time. */
  readonly saved: { readonly promptTokens: number; readonly completionTokens: number }
}

/** `keysOf` returns the keys of a question, or of a batch's items, for a model. */
export async function questionsOf(
  ask: Ask,
  model: string,
  messagesOf: (ask: Ask) => Promise<readonly ChatMessage[]>,
  keysOf: (model: string, asked: Ask, messages: readonly ChatMessage[], items?: readonly string[]) => readonly string[],
): Promise<Questions> {
  const { batch } = ask
  const asked = batch === undefined ? ask : batch.subset([])
  const messages = await messagesOf(asked)
  const kept = batch === undefined ? keptAnswer(ask) : batch.single
  const under = (name: string): readonly Question[] => {
    const questions = new Map<string, Question & { readonly items: number[] }>()
    for (const [item, key] of keysOf(name, asked, messages, batch?.texts).entries()) {
      const known = questions.get(key)
      if (known === undefined) questions.set(key, { key, kept, items: [item] })
      else known.items.push(item)
    }
    return [...questions.values()]
  }
  return { all: under(model), under, messages: batch === undefined ? messages : null }
}

/** These questions as one ask, and the items that it sends. */
export function askOf(ask: Ask, questions: readonly Question[]): { asked: Ask; items: readonly number[] } {
  const items = questions.map(({ items: [first = 0] }) => first)
  const whole = ask.batch === undefined || items.length === ask.batch.count
  return { asked: whole || ask.batch === undefined ? ask : ask.batch.subset(items), items }
}

/** A call's answers, question by question, as if each had been asked alone; null for a question that was left out. */
export function entriesOf({ batch }: Ask, paid: Paid, count: number): (MemoEntry | null)[] {
  const { model, usage } = paid
  const share = (tokens: number) => Math.round(tokens / count)
  return Array.from({ length: count }, (_, nth) => {
    if (paid.failed !== undefined) return null
    const answer = batch === undefined ? paid.answer : batch.pick(paid.answer, nth)
    if (answer === undefined) return null
    return {
      answer,
      raw: count === 1 ? paid.raw : null,
      model,
      promptTokens: share(usage.promptTokens),
      completionTokens: share(usage.completionTokens),
    }
  })
}

/** A stored answer, if it is still valid for the question's current schema. */
export function readEntry({ kept }: Pick<Question, 'kept'>, entry: MemoEntry): MemoEntry | null {
  const read = kept.safeParse(entry.answer)
  return read.success ? { ...entry, answer: read.data } : null
}

/**
 * Builds the answer to the whole ask from the answers by question and the calls that were made. An answered item that
 * was in no call is a memo hit.
 */
export function settledOf(
  ask: Ask,
  questions: readonly Question[],
  known: ReadonlyMap<string, MemoEntry>,
  calls: readonly BatchCall[],
  waitedMs: number,
): Remembered {
  const last = calls.at(-1)?.paid
  const sent = new Set(calls.flatMap(({ items }) => items))
  const answers = new Map<number, MemoEntry>()
  for (const { key, items } of questions) {
    const entry = known.get(key)
    if (entry !== undefined) for (const item of items) answers.set(item, entry)
  }
  const remembered = [...answers].flatMap(([item, entry]) => (sent.has(item) ? [] : [entry]))
  const sum = (of: (entry: MemoEntry) => number) => remembered.reduce((total, entry) => total + of(entry), 0)
  const usage = calls.map(({ paid }) => paid.usage).reduce(addUsage, noUsage())
  const remarks = [...new Set(calls.flatMap(({ paid }) => paid.remarks ?? []))]
  const around = {
    usage: { ...usage, memoHits: usage.memoHits + remembered.length },
    ms: calls.reduce((total, { paid }) => total + paid.ms, waitedMs),
    memo: calls.length === 0,
    ...(remarks.length === 0 ? {} : { remarks }),
    saved: {
      promptTokens: sum(({ promptTokens }) => promptTokens),
      completionTokens: sum(({ completionTokens }) => completionTokens),
    },
    ...(ask.batch === undefined || (calls.length === 1 && sent.size === ask.batch.count)
      ? {}
      : { sent: calls.map(({ items }) => items) }),
  }
  const [one] = answers.values()
  if (one === undefined) {
    if (last === undefined) throw new Error('an ask ended without an answer or a call')
    return { ...last, ...around }
  }
  const { model } = last ?? one
  if (ask.batch === undefined)
    return { answer: one.answer, raw: last === undefined ? one.raw : last.raw, model, ...around }
  // The answer to a call of the whole batch is the merged one already.
  const [whole, ...others] = calls
  if (whole !== undefined && others.length === 0 && answers.size === ask.batch.count && sent.size === ask.batch.count)
    return { answer: whole.paid.answer, raw: whole.paid.raw, model, ...around }
  const answer = ask.batch.merge(new Map([...answers].map(([item, entry]) => [item, entry.answer])))
  const models = Array.from({ length: ask.batch.count }, (_, item) => answers.get(item)?.model ?? '')
  const several = models.some((name) => name !== '' && name !== model)
  return { answer, raw: last?.raw ?? null, model, ...(several ? { models } : {}), ...around }
}
