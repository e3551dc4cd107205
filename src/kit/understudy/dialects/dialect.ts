import type { ErrorForm } from './error-forms.ts'
import type { UsageForm } from './usage-forms.ts'

/**
 * How servers of one kind speak Chat Completions: what they take, what they refuse and how, what they pass over in silence,
 * and the form of their answers. Plain data, so that a test can write a row of its own. Where each fact is from stands in
 * docs/servers.md.
 */
export type ServerDialect = {
  /** Whose it is. */
  readonly what: string
  /** The path of the base URL. */
  readonly base: string
  /** How the key is sent; null where none is asked for. */
  readonly key: 'authorization' | 'api-key' | null
  /** Parameters that the query must have. */
  readonly query?: readonly string[]
  /** What it refuses. The first that fits is named; the others are met at the next call. */
  readonly refuses: readonly ParameterRefusal[]
  readonly errors: ErrorForm
  /** Parameters that change nothing: the model does not see them. */
  readonly ignores: readonly string[]
  /** The parameters that end an answer: after so many tokens, thoughts included. */
  readonly longest: readonly string[]
  /** What becomes of messages with these roles. Roles that are not named are read. */
  readonly roles?: Readonly<Record<string, { readonly lost: true } | { readonly says: string }>>
  readonly form: Form
  /** Its error for an image; null: it is seen. One that is lost is left out without an error. */
  readonly images: string | null | { readonly lost: true }
  /** Gives log probabilities where they are asked for. */
  readonly logprobs: boolean
  readonly thinking: Thinking | null
  /** Where the answer stands. */
  readonly answer: 'content' | 'parts' | 'tool-call'
  /** Sends events of a stream though none were asked for. */
  readonly streams?: boolean
  readonly usage: UsageForm
  /** How it keeps the beginnings of prompts. */
  readonly cache: 'automatic' | 'breakpoints' | null
  /** By the tier that is asked for what it names that as in its answer, `default` where none is; null: nothing. */
  readonly tiers: Readonly<Record<string, string>> | null
  /** Fields of its response that it leaves out. */
  readonly strips?: readonly string[]
  readonly embeddings: boolean
  /** Its interface for decision models; left out: it has none. */
  readonly decisions?: 'openai' | 'systemone'
  readonly models: readonly ListedModel[]
  /** By path its answers at an interface of its own. */
  readonly own?: Readonly<Record<string, unknown>>
}

/** A parameter that is refused. */
export type ParameterRefusal = {
  /** As in the body; `response_format.type` and the like name what is inside. */
  readonly parameter: string
  /** Only these values are refused. */
  readonly values?: readonly unknown[]
  /** These values are taken. */
  readonly except?: readonly unknown[]
  /** It is taken where another parameter has one of these values. */
  readonly unless?: Readonly<Record<string, readonly unknown[]>>
  /** In its own words; `{value}` stands for what was sent. */
  readonly says: string
  readonly code?: string
  /** 400 if left out. */
  readonly status?: number
  /** false: its error does not name the parameter beside its words. */
  readonly named?: false
}

type Form = {
  /** What becomes of each kind of `response_format`. */
  readonly json_schema: 'kept' | 'ignored'
  readonly json_object: 'kept' | 'ignored'
  /** Its error for `json_object` where no message has the word; null: none. */
  readonly jsonWord: string | null
  /** Keywords that a schema may not hold, with its error; `{value}` stands for the keyword. */
  readonly keywords?: { readonly refused: readonly string[]; readonly says: string }
  /** How an answer looks that no form holds. */
  readonly loose: 'bare' | 'fenced' | 'chatty'
}

type Thinking = {
  /** What `reasoning_effort` may be, and what it is if it is not sent. Empty: there is no such parameter. */
  readonly efforts: readonly string[]
  readonly usual: string
  /** Where the thoughts stand. */
  readonly where:
    | 'hidden'
    | 'reasoning'
    | 'reasoning_content'
    | 'parts'
    | '<think>'
    | '[THINK]'
    | '◁think▷'
    | '</think>'
}

type ListedModel = {
  readonly id: string
  /** When it is switched off, as OpenAI's list gives it: a date, or null; left out where a list has no such field. */
  readonly shutdown_date?: string | null
  /** The room for a question and its answer, in tokens: in vLLM's form, and in llama.cpp's. */
  readonly max_model_len?: number
  readonly meta?: { readonly n_ctx: number; readonly n_ctx_train: number }
}
