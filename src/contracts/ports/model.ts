import type { Decision, DecisionWire, OptionProbabilities } from '../facts/ask.ts'
import type { Trial } from '../facts/errors.ts'
import type { FilterRefusal } from '../facts/filtered.ts'
import type { ChatMessage, Remark } from '../facts/verdict.ts'

/** The tiers that a call can ask for. `flex`: at half the price, slower, and turned away while there is no room. */
export const TIERS = ['flex', 'priority'] as const
export type Tier = (typeof TIERS)[number]

export interface ModelRequest {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly temperature: number
  readonly maxTokens: number
  /** Tokens beside `maxTokens` that are set aside for thoughts; none if it is left out. */
  readonly thinkingTokens?: number
  /** The requested amount of thinking, if its dialect has such a parameter: a part of what is asked. */
  readonly effort?: string
  /** Only if a call is made again because a parameter was refused: the data of `ParameterRefused`. */
  readonly trial?: Trial | undefined
  /** Which of several draws of one question this is; no part of what is sent, but an answer is only good for its own draw. */
  readonly draw?: string | undefined
  /** The required format of the answer: the stage's name and a JSON Schema. */
  readonly answer: { readonly name: string; readonly schema: unknown }
  /** Set if probabilities of the numbers and texts in the answer are wanted, where the endpoint gives them. */
  readonly probabilities?: true
  /** Set if the answer is one of several options: a decision model is asked this instead of `messages`. */
  readonly decision?: Decision | undefined
  /** Up to where the question is likely to be sent again; none if it is left out. */
  readonly breakpoints?: readonly Breakpoint[]
  /** No other model of the role's chain can be asked instead. */
  readonly alone?: boolean
  /** One of another endpoint can. */
  readonly apart?: boolean
  /** The tier that is asked for; what the endpoint does unasked if it is left out. */
  readonly tier?: Tier | undefined
  /** Whose question it is; no part of what is sent. */
  readonly of?: QuestionPlace
  /** Unique to this call; an endpoint may log it, so that a bill can be checked. */
  readonly callId: string
  /** Longest wait for the whole answer, in ms. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Where a question stands in the judging of a subject, whatever its words are. */
export interface QuestionPlace {
  readonly protocol: string
  readonly subject: string
  readonly stage: string
  /** The role, and behind a space the ask's label if it has one. */
  readonly role: string
  /** The comments asked about, in the order of their numbers in the question, and then others whose words stand beside them. */
  readonly about: readonly string[]
}

/** A place in a question up to which later calls are likely to send the same again. */
export interface Breakpoint {
  /** The message, from 0 on. */
  readonly message: number
  /** So many of its characters belong to what is sent again. */
  readonly characters: number
}

/** By key the whole numbers that might have been its value, with their probabilities: `{ score: [[4, 0.7], [5, 0.2]] }`. */
export type NumberProbabilities = Readonly<Record<string, readonly (readonly [number: number, probability: number])[]>>

/** By key what the text might have begun with that is its value, with probabilities: `{ label: [["non", 0.7], ["hate", 0.2]] }`. */
export type BeginningProbabilities = Readonly<
  Record<string, readonly (readonly [beginning: string, probability: number])[]>
>

export interface ModelReply {
  /** The model's text, unchanged; null if there is none. */
  readonly text: string | null
  /** Its thoughts, if the endpoint gives them apart from the text. */
  readonly thoughts?: string | undefined
  /** Parameters that could not be used as asked: a temperature, log-probabilities. */
  readonly remarks?: readonly Remark[] | undefined
  readonly finish: 'stop' | 'length' | 'refusal' | 'content-filter'
  /** For a `content-filter`: the filter's findings, if it gives them. */
  readonly filtered?: readonly FilterRefusal[] | undefined
  /** If they were wanted: of each whole number in the answer what it might have been, by its key. */
  readonly probabilities?: NumberProbabilities | undefined
  /** If they were wanted: of each text in the answer what it might have begun with, by its key. */
  readonly beginnings?: BeginningProbabilities | undefined
  /** Set if it is a decision model's: over which interface, and how likely each option is by its value (`each`: of each of several questions), or why that can't be told. */
  readonly decided?:
    | { readonly wire: DecisionWire; readonly probabilities: OptionProbabilities }
    | { readonly wire: DecisionWire; readonly each: readonly OptionProbabilities[] }
    | { readonly wire: DecisionWire; readonly unreadable: string }
    | undefined
  /** The name under which the endpoint answered. */
  readonly model: string
  /** How long the call took when it was made, in ms; a recording keeps it. */
  readonly tookMs?: number
  /** All of the prompt's tokens, and those of them that were read from a cache or written to one. */
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly cacheWriteTokens?: number | undefined
  /** All that was written, and that part of it which was thought. */
  readonly completionTokens: number
  readonly thinkingTokens?: number | undefined
  /** The tier on which the call was served, as the endpoint names it. */
  readonly tier?: string | undefined
  /** The endpoint said nothing of its usage, or nothing that is a number of tokens: the counts are 0. */
  readonly unreported?: true | undefined
}

/**
 * A language model. Makes exactly one call and never retries: throws `RetryLaterError` if trying again may help (busy,
 * unreachable, timed out), `PermanentError` if not (the request itself is refused), `ParameterRefused` if the same question
 * may be answered when it is asked in another way.
 */
export interface Model {
  complete(request: ModelRequest): Promise<ModelReply>
}
