import type { Ask } from '../contracts/facts/ask.ts'
import { authorOf } from '../contracts/facts/author.ts'
import type { JournalEntry, ModelCall } from '../contracts/facts/case.ts'
import { RetryLaterError, type Trial } from '../contracts/facts/errors.ts'
import { classOf, type ServiceClass } from '../contracts/facts/service-class.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { ChatMessage } from '../contracts/facts/verdict.ts'
import { accountKeyOf } from './account-key.ts'
import type { CallOwner } from './model-slots.ts'

/** One attempt at an ask, as who asks gives it. */
export interface GivenAsk {
  readonly ask: Ask
  readonly protocol: string
  /** The subject whose content the question quotes. */
  readonly subject: ThreadRef
  readonly caseId: string
  /** Absent: the case's. */
  readonly serviceClass?: ServiceClass
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
  readonly cancelled?: AbortSignal | undefined
  /** ms since 1970; no call begins after it, and a call in flight is cut off. */
  readonly deadline: number
  /** Awaited before anything is sent anywhere for this ask; rejects if it must not be asked any more. */
  readonly mayAsk?: () => Promise<void>
  /** Every call is added here as soon as it has ended, also if it throws. */
  readonly calls: ModelCall[]
}

/**
 * The attempt on its way: made once, and the same for each step between who asks and a model. Where the ask stands is not in it:
 * a step is given what it needs, and returns what it found.
 */
export interface AskContext extends Readonly<Omit<GivenAsk, 'calls'>> {
  /** Whose question it is, as breakers tell those of one account from those of others: the author's, else the case's. */
  readonly accountKey: string
  /** Adds a call that has ended to the ask's. */
  readonly addCall: (call: ModelCall) => void
  /** Aborts `signal`. */
  readonly stop: (why: unknown) => void
}

/** A prompt for a model: the ask or a part of its batch, with the messages as sent. */
export interface ModelPrompt {
  readonly ask: Ask
  readonly messages: readonly ChatMessage[]
  /** Tokens beside those of the answer that are set aside for thoughts. */
  readonly thinkingTokens: number
  /** `larger`: once more, with more room for thoughts. */
  readonly step: 'first' | 'larger' | 'repair'
  /** The room is larger than what the model usually has. */
  readonly isWidened: boolean
  /** What the call tries, if it is made again because a parameter was refused; else null. */
  readonly trial: Trial | null
}

/** The part of an ask's journal entry that its answerer supplies. */
export type AskResult = Pick<
  Readonly<JournalEntry>,
  | 'answer'
  | 'failed'
  | 'raw'
  | 'model'
  | 'models'
  | 'usage'
  | 'ms'
  | 'memo'
  | 'remarks'
  | 'shown'
  | 'sent'
  | 'imageHashes'
>

/** The context of an attempt that begins. */
export function askContext({ calls, ...given }: GivenAsk): AskContext {
  const { caseId, subject, signal, cancelled } = given
  const author = authorOf(given)
  const stopping = new AbortController()
  return {
    ...given,
    author,
    accountKey: accountKeyOf(subject.tenant, author === undefined ? `case ${caseId}` : `by ${author}`),
    addCall: (call) => void calls.push(call),
    signal: cancelled === undefined ? signal : AbortSignal.any([signal, stopping.signal]),
    stop: (why) => stopping.abort(why),
  }
}

/** Whose call it is where calls take turns. */
export function callOwnerOf({ caseId, serviceClass = classOf(caseId), subject }: AskContext): CallOwner {
  return { serviceClass, tenant: subject.tenant }
}

/** The first prompt for this part of an ask. */
export function firstPrompt(ask: Ask, messages: readonly ChatMessage[], thinkingTokens: number): ModelPrompt {
  return { ask, messages, thinkingTokens, step: 'first', isWidened: false, trial: null }
}

/** One of our own rules deferred the call: nothing was sent, nothing is owed, and no attempt is used up. */
export class CallDeferred extends RetryLaterError {
  /** Gives up its place in a limit's line; undefined where it has none. */
  leaveLine: (() => void) | undefined
}

/** To be called with the error of an ask that is not tried again: it waits in no line then. */
export function leaveLine(error: unknown): void {
  if (error instanceof CallDeferred) error.leaveLine?.()
}

/** The breaker blocks calls to this model; another of the chain may be asked. */
export class ModelAvoided extends CallDeferred {}
