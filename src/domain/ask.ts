import type { z } from 'zod'
import { type Found, found } from './library.ts'
import type { ChatMessage } from './verdict.ts'

/**
 * One question to a model, or one look into the library. Scripts make asks; the engine has them answered. An ask is a pure
 * function of the case and of the answers before it, so that a replay asks the same again.
 */
export interface Ask<Answer = unknown> {
  /** The stage whose queue answers it: `stance`, `retrieve`, `debate`, … */
  readonly stage: string
  /** Who speaks, which is also the key under which the settings choose a model: `scorer`, `debater`, … */
  readonly role: string
  /** Tells asks apart in transcripts where one role speaks more than once in a round: `support`, `batch 2`, … */
  readonly label?: string
  /** Empty where the library is asked. */
  readonly messages: readonly ChatMessage[]
  /** The schema of a readable answer. Reasoning comes before the label, so that a model reasons first. */
  readonly answer: z.ZodType<Answer>
  readonly temperature: number
  /** Longest answer, in tokens. */
  readonly maxTokens: number
  /** Set where the library is asked and no model. */
  readonly lookup?: Lookup
  /** Set where this is many small questions, asked together to save calls. */
  readonly batch?: Batch<Answer>
  /** Ids of what is asked about, in the order of its numbers in the question, where it is one comment or several. */
  readonly about?: readonly string[]
}

/**
 * The items of a question that is many small ones, asked together to save calls. Each item is remembered as the question
 * about it alone, so that its answer is known whatever it is asked together with; an answer about one item has the same type.
 */
export interface Batch<Answer> {
  readonly count: number
  /** The same question about these items alone, in this order. */
  subset(items: readonly number[]): Ask<Answer>
  /** What an answer says about the nth item asked about, as the answer about it alone; undefined if it left it out. */
  pick(answer: Answer, nth: number): Answer | undefined
  /** The answer to the whole question, from those about single items; items may be missing. */
  merge(answers: ReadonlyMap<number, Answer>): Answer
}

/**
 * The nearest items of each shelf to one text, which is embedded once. Items that came from the subject under judgement are
 * never found, nor items with the same text.
 */
export interface Lookup {
  readonly text: string
  /** Set where intake shortened the text: the marks in it are ours, and it is still recognised by what is left. */
  readonly cut?: true
  /** The language that the author says it is in (BCP 47), if any. */
  readonly lang?: string
  readonly shelves: readonly string[]
  /** Neighbours from each shelf. */
  readonly k: number
}

/** An ask to the library. Its role is `library` and it costs no model call. */
export function lookup(stage: string, wanted: Lookup): Ask<Found> {
  return { stage, role: 'library', messages: [], answer: found, temperature: 0, maxTokens: 0, lookup: wanted }
}

/** How an ask ended: an answer that fits its schema and the model that gave it, or the name of its failure. */
export type Answered<Answer> =
  | {
      readonly ok: true
      readonly answer: Answer
      readonly model: string
      /** Set where several models answered items of a batch: the model of each item, empty where one has no answer. */
      readonly models?: readonly string[]
    }
  | { readonly ok: false; readonly code: string; readonly detail: string }

/** A failure in words, for `degraded`. */
export function failure({ code, detail }: Extract<Answered<unknown>, { ok: false }>): string {
  return `${code} (${detail})`
}
