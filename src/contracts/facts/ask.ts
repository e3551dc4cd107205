import { z } from 'zod'
import { found, type SearchResult } from './library.ts'
import type { ChatMessage } from './verdict.ts'

/**
 * One question to a model, or one lookup in the library. Scripts make asks; the engine has them answered. An ask is a
 * pure function of the case and of earlier answers, so that a replay asks the same again.
 */
export interface Ask<Answer = unknown> {
  /** The stage whose queue answers it: `stance`, `retrieve`, `debate`, … */
  readonly stage: string
  /** The speaker, and the key by which the settings choose a model: `scorer`, `debater`, … */
  readonly role: string
  /** Tells asks apart in transcripts if one role speaks more than once in a round: `support`, `batch 2`, … */
  readonly label?: string
  /** Empty for a lookup. */
  readonly messages: readonly ChatMessage[]
  /** The schema of a readable answer. Reasoning comes before the label, so that a model reasons first. */
  readonly answer: z.ZodType<Answer>
  /** Its form is shown with all that strict servers get, as the papers' questions were measured; see `shownForm`. */
  readonly wholeForm?: true
  /** Set if the gateway adds to the answer: the schema of what is kept, which is not shown to the model. */
  readonly kept?: z.ZodType<Answer>
  /**
   * Set if the mean of a number by the probabilities of what the model might have said is wanted: the answer then has `expected`
   * beside it, where the endpoint gives probabilities.
   */
  readonly expected?: { readonly field: string; readonly lowest: number; readonly highest: number } | undefined
  /**
   * Set if the answer is one of several options, and it is wanted how likely each is: the answer then is a `Decided`. `messages` ask
   * the same of a chat model.
   */
  readonly decision?: Decision | undefined
  /**
   * Set if the answer follows from how likely each option is: made of the probabilities by option, of each question in their order. A
   * chat model answers in the form of `answer`.
   */
  readonly fromDecided?: ((likely: readonly OptionProbabilities[]) => Answer) | undefined
  readonly temperature: number
  /** Longest answer, in tokens. */
  readonly maxTokens: number
  /** Which of several draws of one question this is (`draw 2`); left out for the first. Draws share no remembered answer. */
  readonly draw?: string
  /**
   * So many of its messages, from the first on, are likely to be sent again by a later ask of the same conversation: where an
   * endpoint is paid for what it keeps of a prompt, it is worth that. See docs/models.md for how likely.
   */
  readonly repeated?: number
  /** Nothing is missing without its answer: it waits for no model, and its failure is no fault of the verdict. */
  readonly spared?: true
  /** It quotes no subject: one answer serves every case, and is remembered also where nothing else is. */
  readonly shared?: true
  /** Set if the library is asked instead of a model. */
  readonly lookup?: Lookup
  /** Set if this is many small questions, asked together to save calls. */
  readonly batch?: AskBatch<Answer>
  /**
   * Set if it is about comments: the ids of those asked about, in the order of their numbers in the question, and then of
   * other comments whose words stand beside them.
   */
  readonly about?: readonly string[]
}

/** A question with a closed list of answers, as a decision model is asked it. */
export interface Decision {
  /** The key of the answer whose value is that of the chosen option. */
  readonly field: string
  /** What is to be decided of the input, in our words alone. */
  readonly instructions: string
  /** What it is decided of: strangers' words, fenced. They are sent in a field of their own. */
  readonly input: string
  readonly options: readonly DecisionOption[]
  /** Set if the same is asked of several things in the input: what each question says beyond the instructions. Answered by position. */
  readonly each?: readonly string[]
}

/** How likely each option of one question is, by its value. */
export type OptionProbabilities = Readonly<Record<string, number>>

interface DecisionOption {
  readonly value: string
  /** What it means, where its value does not say so. */
  readonly description?: string
}

/** Ways to ask for a decision: as a chat model's answer, or as a decision model's over one of the interfaces for these. */
export const DECISION_WIRES = ['chat', 'openai', 'systemone', 'openrouter'] as const
export type DecisionWire = (typeof DECISION_WIRES)[number]

/** What a gateway adds to the answer: how likely each option is, by value, and who says so. Left out where the endpoint tells no probabilities. */
const decided = z.object({
  probabilities: z.record(z.string(), z.number()).optional(),
  /** The same model's probabilities mean something else on another wire. */
  wire: z.enum(DECISION_WIRES).optional(),
})
type Decided = z.infer<typeof decided>

/** The schema of a kept answer to an ask with a decision. */
export function decidedAnswer<Answer extends object>(
  answer: z.ZodObject & z.ZodType<Answer>,
): z.ZodType<Answer & Decided> {
  return answer.extend(decided.shape) as unknown as z.ZodType<Answer & Decided> // zod loses the type of a generic's fields
}

/**
 * The items of a question that is many small ones, asked together to save calls. Each item is remembered as if it had
 * been asked alone, so that its answer is found whatever it is asked together with; an answer about one item has the
 * same type.
 */
export interface AskBatch<Answer> {
  readonly count: number
  /**
   * The words of each item. Asked alone, two items are the same question if their words and the questions without any
   * item (`subset([])`) are the same.
   */
  readonly texts: readonly string[]
  /** The schema of an answer about one item. */
  readonly single: z.ZodType<Answer>
  /** The same question about these items alone, in this order. */
  subset(items: readonly number[]): Ask<Answer>
  /** The answer's part for the nth item, as if it had been asked alone; undefined if the answer leaves it out. */
  pick(answer: Answer, nth: number): Answer | undefined
  /** The answer to the whole question, merged from answers about single items; items may be missing. */
  merge(answers: ReadonlyMap<number, Answer>): Answer
}

/**
 * Asks for the nearest items of each shelf to one text, which is embedded once. Items from the subject under judgement
 * are never found, nor items with the same text.
 */
export interface Lookup {
  readonly text: string
  /** Set if intake shortened the text: the marks in it are ours, and it is still recognised by the rest. */
  readonly cut?: true
  /** The language according to the author (BCP 47), if given. */
  readonly lang?: string | undefined
  readonly shelves: readonly string[]
  /** How many neighbours from each shelf. */
  readonly k: number
}

/** An ask to the library. Its role is `library` and it costs no model call. */
export function lookup(stage: string, wanted: Lookup): Ask<SearchResult> {
  return { stage, role: 'library', messages: [], answer: found, temperature: 0, maxTokens: 0, lookup: wanted }
}

/** How an ask ended: an answer that fits its schema and the model that gave it, or the code of its failure. */
export type AnswerOrFailure<Answer> =
  | {
      readonly ok: true
      readonly answer: Answer
      readonly model: string
      /** Set if several models answered items of a batch: the model of each item, empty if the item has no answer. */
      readonly models?: readonly string[] | undefined
      /** A filter refused it to another model before. */
      readonly filtered?: true
    }
  | { readonly ok: false; readonly code: string; readonly detail: string }

/** An answer as it is kept: in the journal, in the memo. */
export function keptAnswer<Answer>({ answer, kept = answer }: Pick<Ask<Answer>, 'answer' | 'kept'>): z.ZodType<Answer> {
  return kept
}

/** A failure in words, for `degraded`. */
export function failure({ code, detail }: Extract<AnswerOrFailure<unknown>, { ok: false }>): string {
  return `${code} (${detail})`
}
