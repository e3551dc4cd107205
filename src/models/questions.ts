import { hash } from 'node:crypto'
import type { z } from 'zod'
import { type Ask, keptAnswer } from '../contracts/facts/ask.ts'
import { hmac } from '../contracts/facts/hmac.ts'
import { addUsage, type ChatMessage, noUsage } from '../contracts/facts/verdict.ts'
import type { MemoEntry } from '../contracts/ports/memo.ts'
import type { AskResult } from './context.ts'
import type { ThinkingSettings } from './thinking.ts'

/** One question of an ask: the ask itself, or a single item of its batch. Items with the same words are one question. */
export interface Question {
  readonly key: string
  /** The schema of a kept answer. */
  readonly kept: z.ZodType
  /** The items of the batch that ask this question; [0] for an ask without a batch. */
  readonly items: readonly number[]
}

/** Answers by the keys of their questions. */
export type KnownAnswers = ReadonlyMap<string, MemoEntry>

/** The questions of an ask, with the answers to them, and what these took. */
export interface AskAnswers {
  readonly questions: readonly Question[]
  readonly known: KnownAnswers
  /** Models' answers, each for the items that it was sent. */
  readonly paid: readonly AskResult[]
  /** How long it has waited for others' answers, in ms. */
  readonly waitedMs: number
}

/** Returns the keys under which the memo stores the answers to a question: of a batch, to each of its items. */
export type QuestionKeys = (
  model: string,
  tenant: string,
  /** A question, or a batch without its items. */
  ask: Pick<Ask, 'stage' | 'temperature' | 'maxTokens' | 'draw' | 'expected' | 'decision'>,
  messages: readonly ChatMessage[],
  /** The words of a batch's items. */
  items?: readonly string[],
) => string[]

/** Raised when the stored form of an answer changes, or what a key is made of. */
const FORM = 4
/** Length of an item's hash, 132 bits: no two of one prompt have the same. */
const ITEM_CHARS = 22

/**
 * A question's key: a keyed hash of the model, the tenant whose content it quotes, the messages as sent (which end with
 * the schema) and the parameters, effort and thinking room of the model's dialect among them, so that it does not reveal what was asked. Images count by their data. The keys of a
 * batch's items are that of the prompt that they have in common, a dot, and a keyed hash of the item's words.
 */
export function questionKeys(secret: string, thinkingOf: ThinkingSettings['thinkingOf'] = NOT): QuestionKeys {
  const keyed = hmac(secret)
  return (model, tenant, { stage, temperature, maxTokens, draw, expected, decision }, messages, items) => {
    const sent = messages.map(({ role, content, images = [] }) => [role, content, ...images.map(digest)])
    const { tokens, effort } = thinkingOf(model)
    const thinking = tokens === 0 && effort === null ? undefined : `thinking ${effort ?? ''} ${tokens}`
    const wanted = [
      expected === undefined ? undefined : 'expected',
      decision === undefined ? undefined : `decision ${JSON.stringify(decision)}`,
    ]
    const added = [draw, ...wanted, thinking].filter((one) => one !== undefined)
    const question = [FORM, model, tenant, stage, temperature, maxTokens, ...added, sent]
    const frame = keyed(JSON.stringify(question), 'base64url')
    if (items === undefined) return [frame]
    return items.map((text) => `${frame}.${keyed(`${frame} ${text}`, 'base64url').slice(0, ITEM_CHARS)}`)
  }
}

const NOT = () => ({ tokens: 0, effort: null })

function digest(data: string): string {
  return hash('sha256', data, 'base64url')
}

/** An ask's questions, each once, in the order of their first items, by the keys of its items. */
export function questionsOf(ask: Ask, keys: readonly string[]): readonly Question[] {
  const kept = ask.batch === undefined ? keptAnswer(ask) : ask.batch.single
  const questions = new Map<string, Question & { readonly items: number[] }>()
  for (const [item, key] of keys.entries()) {
    const known = questions.get(key)
    if (known === undefined) questions.set(key, { key, kept, items: [item] })
    else known.items.push(item)
  }
  return [...questions.values()]
}

/** The part that all questions of an ask have in common: its batch without the items. */
export function frameOf(ask: Ask): Ask {
  return ask.batch === undefined ? ask : ask.batch.subset([])
}

/** These questions as one ask. */
export function askOf(ask: Ask, questions: readonly Question[]): Ask {
  if (ask.batch === undefined || questions.length === ask.batch.count) return ask
  return ask.batch.subset(itemsOf(questions))
}

/** The items that are sent of these questions. */
export function itemsOf(questions: readonly Question[]): number[] {
  return questions.map(({ items: [first = 0] }) => first)
}

/** A call's answers, question by question, as if each had been asked alone; null for a question that was left out. */
export function entriesOf({ batch }: Ask, paid: AskResult, count: number): (MemoEntry | null)[] {
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
 * Builds the answer to the whole ask from the answers by question and what models were paid for. An answered item that
 * was sent to none is a memo hit; `saved` are the tokens that were paid for those answers at the time.
 */
export function settledOf(
  ask: Ask,
  { questions, known, paid, waitedMs }: AskAnswers,
): AskResult & { readonly saved: { readonly promptTokens: number; readonly completionTokens: number } } {
  const last = paid.at(-1)
  const calls = paid.map(({ sent = [] }) => sent.flat())
  const sent = new Set(calls.flat())
  const answers = new Map<number, MemoEntry>()
  for (const { key, items } of questions) {
    const entry = known.get(key)
    if (entry !== undefined) for (const item of items) answers.set(item, entry)
  }
  const remembered = [...answers].flatMap(([item, entry]) => (sent.has(item) ? [] : [entry]))
  const sum = (of: (entry: MemoEntry) => number) => remembered.reduce((total, entry) => total + of(entry), 0)
  const usage = paid.map((each) => each.usage).reduce(addUsage, noUsage())
  const remarks = [...new Set(paid.flatMap((each) => each.remarks ?? []))]
  const isWhole = ask.batch === undefined || (paid.length === 1 && sent.size === ask.batch.count)
  const around = {
    usage: { ...usage, memoHits: usage.memoHits + remembered.length },
    ms: paid.reduce((total, { ms }) => total + ms, waitedMs),
    memo: paid.length === 0,
    ...(remarks.length === 0 ? {} : { remarks }),
    saved: {
      promptTokens: sum(({ promptTokens }) => promptTokens),
      completionTokens: sum(({ completionTokens }) => completionTokens),
    },
    ...(isWhole ? {} : { sent: calls }),
  }
  const [one] = answers.values()
  if (one === undefined) {
    if (last === undefined) throw new Error('an ask ended without an answer or a call')
    const { sent: _, ...failed } = last
    return { ...failed, ...around }
  }
  const { model } = last ?? one
  if (ask.batch === undefined)
    return { answer: one.answer, raw: last === undefined ? one.raw : last.raw, model, ...around }
  // The answer to a call of the whole batch is the merged one already.
  if (last !== undefined && isWhole && answers.size === ask.batch.count)
    return { answer: last.answer, raw: last.raw, model, ...around }
  const answer = ask.batch.merge(new Map([...answers].map(([item, entry]) => [item, entry.answer])))
  const models = Array.from({ length: ask.batch.count }, (_, item) => answers.get(item)?.model ?? '')
  const several = models.some((name) => name !== '' && name !== model)
  return { answer, raw: last?.raw ?? null, model, ...(several ? { models } : {}), ...around }
}
