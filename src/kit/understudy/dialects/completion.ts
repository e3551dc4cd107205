import { contentOf, MODEL } from '../answer.ts'
import { choiceOf, type UnderstudyFault } from '../faults.ts'
import { isSchema } from '../json-schema.ts'
import { type ChatRequest, type ReceivedQuestion, readQuestion, tokens } from '../question.ts'
import type { ServerDialect } from './dialect.ts'
import { logProbabilities, messageIn } from './message.ts'
import type { PromptCache } from './prompt-cache.ts'
import { seenOf } from './request.ts'
import { type TokenCounts, USAGE_FORMS } from './usage-forms.ts'

/** How much is thought at each effort, as a multiple of what is thought at `medium`. */
const EFFORTS: Readonly<Record<string, number>> = { none: 0, minimal: 0.1, low: 0.3, high: 2, xhigh: 4, max: 8 }

/** What an image counts as, in tokens. */
const IMAGE_TOKENS = 1000

/** A server of a dialect. */
export type DialectServer = {
  readonly dialect: ServerDialect
  /** Tokens of thought for each token of an answer, at the effort `medium`. */
  readonly thoughts: number
  readonly cache: PromptCache
}

/** A request as the model behind a server of the dialect reads it. */
export function questionIn({ dialect }: DialectServer, request: ChatRequest): ReceivedQuestion {
  const question = readQuestion(seenOf(dialect, request))
  return { ...question, promptTokens: question.promptTokens + question.images.length * IMAGE_TOKENS }
}

/** The response to a request that the dialect takes, but for its id. */
export function completionIn(
  { dialect, thoughts, cache }: DialectServer,
  request: ChatRequest,
  question: ReceivedQuestion,
  fault: UnderstudyFault | null,
): { readonly counted: TokenCounts; readonly value: Readonly<Record<string, unknown>> } {
  const seen = seenOf(dialect, request)
  const { loose } = dialect.form
  const look = seen.response_format || loose === 'bare' ? null : loose
  const choice = choiceOf(contentOf(question), fault ?? look, question.schema)
  const whole = choice.message.content ?? choice.message.refusal ?? ''

  const wanted = Math.round(tokens(whole.length) * thoughts * effortOf(dialect, seen))
  const most = Math.min(...dialect.longest.map((name) => limitOf(seen, name)))
  const thought = Math.min(wanted, most)
  const isCut = thought + tokens(whole.length) > most
  const text = isCut ? whole.slice(0, 4 * (most - thought)) : whole

  const counted = {
    prompt: question.promptTokens,
    ...cache.read(seen),
    completion: thought + tokens(text.length),
    thoughts: thought,
  }
  const message =
    choice.message.content === null ? choice.message : messageIn(dialect, { text, question, thought, wanted })
  const usual = choice.finish_reason === 'stop' && dialect.answer === 'tool-call' ? 'tool_calls' : choice.finish_reason
  const logprobs = dialect.logprobs && fieldOf(seen, 'logprobs') === true ? logProbabilities(text) : null
  const value = {
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: MODEL,
    choices: [{ index: 0, message, finish_reason: isCut ? 'length' : usual, logprobs }],
    usage: USAGE_FORMS[dialect.usage](counted),
    ...tierOf(dialect, seen),
  }
  return { counted, value: without(value, dialect.strips ?? []) }
}

function effortOf({ thinking }: ServerDialect, seen: ChatRequest): number {
  if (thinking === null) return 0
  const asked = thinking.efforts.length === 0 ? undefined : fieldOf(seen, 'reasoning_effort')
  return EFFORTS[typeof asked === 'string' ? asked : thinking.usual] ?? 1
}

function limitOf(seen: ChatRequest, parameter: string): number {
  const value = fieldOf(seen, parameter)
  return typeof value === 'number' ? value : Infinity
}

/** The tier that was asked for, where there is such a one. */
function tierOf({ tiers }: ServerDialect, seen: ChatRequest): { readonly service_tier?: string | undefined } {
  if (tiers === null) return {}
  const asked = fieldOf(seen, 'service_tier')
  const named = Object.entries(tiers).find(([name]) => name === asked)?.[1]
  return { service_tier: named ?? tiers.default }
}

function fieldOf(request: ChatRequest, name: string): unknown {
  return (request as Readonly<Record<string, unknown>>)[name]
}

/** Without the fields of these names, wherever they stand. */
function without<Value>(value: Value, names: readonly string[]): Value
function without(value: unknown, names: readonly string[]): unknown {
  if (names.length === 0) return value
  if (Array.isArray(value)) return value.map((one) => without(one, names))
  if (!isSchema(value)) return value
  const kept = Object.entries(value).filter(([name]) => !names.includes(name))
  return Object.fromEntries(kept.map(([name, inner]) => [name, without(inner, names)]))
}
