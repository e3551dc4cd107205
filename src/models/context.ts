import type { z } from 'zod'
import type { Ask } from '../contracts/facts/ask.ts'
import type { Call, JournalEntry } from '../contracts/facts/case.ts'
import { RetryLaterError, type Trial } from '../contracts/facts/errors.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { ChatMessage } from '../contracts/facts/verdict.ts'
import type { MemoEntry } from '../contracts/ports/memo.ts'
import type { ModelReply } from '../contracts/ports/model.ts'
import type { Pass } from './breaker.ts'
import type { AskerLease } from './lease.ts'
import type { Slot } from './model-slots.ts'
import type { Waiter } from './single-flight.ts'

/** One attempt at an ask, as who asks gives it. */
export interface GivenAsk {
  readonly ask: Ask
  readonly protocol: string
  /** The subject whose content the question quotes. */
  readonly subject: ThreadRef
  readonly caseId: string
  /** Who posted what the question quotes, if that is said. */
  readonly author?: string | undefined
  /** Identifies the ask, the same at each try. */
  readonly askId: string
  /** 1 for the first attempt; the nth prefers the nth model of the role's chain. */
  readonly attempt: number
  /** If this attempt fails, the ask has failed. */
  readonly last: boolean
  /** False if every question must reach a model, as in the papers. */
  readonly remember: boolean
  readonly signal: AbortSignal
  /** Aborts when nobody wants this ask's answer for itself any more: it is stopped then, unless others wait for the answer too. */
  readonly unwanted?: AbortSignal | undefined
  /** ms since 1970; no call begins after it, and a call in flight is cut off. */
  deadline: number
  /** Awaited before anything is sent anywhere for this ask; rejects if it must not be asked any more. */
  readonly mayAsk?: () => Promise<void>
  /** Every call is added here as soon as it has ended, also if it throws. */
  readonly calls: Call[]
}

/**
 * The attempt on its way: made once, and passed by reference to everything between who asks and a model. Beside what is given it
 * says where the ask stands.
 */
export interface AskContext extends GivenAsk {
  /** Whose question it is, as breakers tell those of one account from those of others: the author's, else the case's. */
  readonly asker: string
  /** The models of the ask's role, in order of preference; those that may still be asked; and the one whose turn it is. */
  chain: readonly string[]
  left: readonly string[]
  model: string
  /** The messages as sent, with images as data URLs; of a batch that is remembered, those without its items. */
  messages: readonly ChatMessage[]
  /** Its questions, under the keys of the model that is to answer them. */
  questions: readonly Question[]
  /** Answers by question. */
  readonly known: Map<string, MemoEntry>
  /** Questions for which a call has been made, whether or not it answered them. */
  readonly asked: Set<string>
  /** Its share in what others ask at the same time; null if nothing is remembered. */
  sharing: Sharing | null
  /** What the model is asked now. */
  now: Asking
  /** What models answered, each for the items that it was sent. */
  readonly paid: Settled[]
  /** Aborts `signal`. */
  readonly stop: (why: unknown) => void
}

/** One question of an ask: the ask itself, or a single item of its batch. Items with the same words are one question. */
export interface Question {
  readonly key: string
  /** The schema of a kept answer. */
  readonly kept: z.ZodType
  /** The items of the batch that ask this question; [0] for an ask without a batch. */
  readonly items: readonly number[]
}

/** What an ask has to do with others that ask the same at the same time. */
export interface Sharing {
  readonly waiter: Waiter<ThreadRef, MemoEntry>
  readonly lease: AskerLease
  /** How long it has waited for others' answers, in ms. */
  waitedMs: number
  /** Keys of questions that it asks at the moment. */
  mine: readonly string[]
  /** It joins no calls of others any more: what they answer may quote deleted words. */
  alone: boolean
}

/** What a model is asked: the ask, or a part of its batch. */
interface Asking {
  ask: Ask
  /** Had of the model before it is asked; null before that. */
  pass: Pass | null
  slot: Slot | null
  messages: readonly ChatMessage[]
  /** Tokens beside those of the answer that are set aside for thoughts. */
  thinkingTokens: number
  /** `larger`: once more, with more room for thoughts. */
  step: 'first' | 'larger' | 'repair'
  /** The room is larger than what the model usually has. */
  isWidened: boolean
  /** What the call tries, if it is made again because a parameter was refused; else null. */
  trial: Trial | null
  /** What the model said to it. */
  reply: ModelReply | null
}

/** How an ask ended, as far as the journal is told by who answered it. */
export type Settled = Pick<
  Readonly<JournalEntry>,
  'answer' | 'failed' | 'raw' | 'model' | 'models' | 'usage' | 'ms' | 'memo' | 'remarks' | 'shown' | 'sent'
>

/** The context of an attempt that begins. */
export function askContext(given: GivenAsk): AskContext {
  const { ask, caseId, author, subject, signal, unwanted } = given
  const stopping = new AbortController()
  return {
    ...given,
    asker: author === undefined ? `case ${caseId}` : `by ${subject.tenant}/${author}`,
    ...{ chain: [], left: [], model: '', messages: [], questions: [], known: new Map(), asked: new Set() },
    ...{ sharing: null, paid: [] },
    signal: unwanted === undefined ? signal : AbortSignal.any([signal, stopping.signal]),
    stop: (why) => stopping.abort(why),
    now: asking(ask, []),
  }
}

/** What a model is asked first. */
export function asking(ask: Ask, messages: readonly ChatMessage[]): Asking {
  const begins = { thinkingTokens: 0, step: 'first', isWidened: false } as const
  return { ask, messages, pass: null, slot: null, ...begins, trial: null, reply: null }
}

/** One of our own rules deferred the call: nothing was sent, nothing is owed, and no attempt is used up. */
export class CallDeferred extends RetryLaterError {}

/** The breaker blocks calls to this model; another of the chain may be asked. */
export class ModelAvoided extends CallDeferred {}
