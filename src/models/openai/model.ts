import { z } from 'zod'
import type { DecisionWire } from '../../contracts/facts/ask.ts'
import type { Dialect } from '../../contracts/facts/dialect.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { PermanentError, RetryLaterError } from '../../contracts/facts/errors.ts'
import type { FilterRefusal } from '../../contracts/facts/filtered.ts'
import { firstOf } from '../../contracts/facts/first-of.ts'
import { printable } from '../../contracts/facts/printable.ts'
import type { Model, ModelReply, ModelRequest } from '../../contracts/ports/model.ts'
import { DECISION_PATHS, decisionBody, decisionReply, wireOf } from './decisions.ts'
import { PLAIN } from './dialects.ts'
import { Endpoint, type ServerSettings } from './endpoint.ts'
import { type DialectLesson, learning, NO_IMAGES } from './learning.ts'
import { beginningProbabilities, logprobs, numberProbabilities } from './number-probabilities.ts'
import { FINISHES } from './refusal-table.ts'
import { categoriesIn, failureOf, ParameterNamed } from './refusals.ts'
import { requestBody } from './request-body.ts'
import type { SentRequest } from './server-words.ts'
import { readUsage } from './usage.ts'

export interface OpenAiSettings extends ServerSettings {
  /** The strongest way in which the endpoint accepts an answer's format; with the weaker ones only the prompt specifies it. */
  readonly answerFormat: 'json_schema' | 'json_object' | 'text'
}

/** The knowledge of models before they are asked, and the listener for what they show. */
export interface DialectParts {
  /** A model's dialect, by its name in the settings. */
  readonly told?: (model: string) => Dialect
  readonly learnt?: (lesson: DialectLesson) => void
  readonly now?: () => number
}

/** Most parts of a message: a text, and thoughts before it. */
const MAX_CONTENT_PARTS = 1_000

const part = z.object({
  type: z.string().catch('text'),
  text: z.string().catch(''),
  /** Mistral's thoughts: a text, or parts of their own. */
  thinking: z
    .union([z.string(), firstOf(MAX_CONTENT_PARTS, z.object({ text: z.string().catch('') }))])
    .nullish()
    .catch(null),
})

/** What the model wrote: a text, or a list of parts whose texts belong together. */
const content = z.union([z.string(), firstOf(MAX_CONTENT_PARTS, part)]).nullish()

const called = z.object({ arguments: z.string() })

const message = z.object({
  content,
  refusal: z.string().nullish().catch(null),
  /** Thoughts, under the names that servers give them. */
  reasoning_content: z.string().nullish().catch(null),
  reasoning: z.string().nullish().catch(null),
  /** Some models call a tool that nobody offered, and answer in its arguments. */
  tool_calls: firstOf(1, z.object({ function: called }))
    .nullish()
    .catch(null),
  function_call: called.nullish().catch(null),
})

/** A model whose server does not name it. */
const UNKNOWN = 'unknown'

/** The responses of compatible servers, parsed leniently: most fields may be missing. */
const completion = z.looseObject({
  choices: firstOf(
    1,
    z.looseObject({
      finish_reason: z.string().nullish().catch(null),
      message: message.nullish(),
      logprobs,
    }),
  ).nullish(),
})

/** Longest response, in bytes: a thousand times a usual answer, with thoughts and repeated fields. */
const MAX_BODY_BYTES = 4 * 2 ** 20
/** Most lists, objects and fields: those of the log probabilities that the longest response has room for. */
const MAX_PARTS = 500_000
/** Longest text of an answer, in characters, since it is journaled and parsed as a whole. The rest is cut off. */
const MAX_TEXT_CHARS = 2 ** 17

/** A server: where it is asked in a chat, and where for decisions. */
type ModelServer = Readonly<Record<DecisionWire, Endpoint>>

/** Where a model is asked: its server, and its name there. */
export interface ModelAddress {
  readonly server: ModelServer
  readonly name: string
}

/** The models of one server with OpenAI's interface. */
export function openAiServer(settings: OpenAiSettings, parts: DialectParts = {}): Model {
  const plain: Dialect = { ...PLAIN, form: settings.answerFormat }
  const { told = () => plain, learnt, now } = parts
  const server = modelServer(settings)
  return openAiModels({ told, placeOf: (name) => ({ server, name }), learnt, now })
}

export function modelServer(settings: OpenAiSettings): ModelServer {
  const at = (path: string, isDecision: boolean) =>
    new Endpoint(settings, { path, isDecision, maxBytes: () => MAX_BODY_BYTES, maxParts: MAX_PARTS })
  const { openai, systemone, openrouter } = DECISION_PATHS
  return {
    chat: at('/chat/completions', false),
    openai: at(openai, true),
    systemone: at(systemone, true),
    openrouter: at(openrouter, true),
  }
}

/**
 * Chat Completions of servers with OpenAI's interface, each model at its own; decisions where these are asked for. One request per call;
 * the queue retries.
 */
export function openAiModels({
  told,
  placeOf,
  learnt = () => {},
  now = Date.now,
}: Required<Pick<DialectParts, 'told'>> & {
  readonly placeOf: (model: string) => ModelAddress
  readonly learnt?: DialectParts['learnt'] | undefined
  readonly now?: DialectParts['now'] | undefined
}): Model {
  const models = learning({ told, learnt, now })
  return {
    async complete(request) {
      const { server, name } = placeOf(request.model)
      const { callId, signal, timeoutMs, temperature } = request
      const { dialect, answered, refused } = models.prepare(request.model, request.trial)
      const images = request.messages.some(({ images: shown = [] }) => shown.length > 0)
      if (!dialect.images && images) throw new PermanentError('rejected', NO_IMAGES, { elsewhere: 'question' })
      const wire = wireOf(request, dialect)
      const { body, remarks, most, read } = written(request, name, dialect, wire)
      const sent = { maxTokens: most, temperature, images, tier: 'service_tier' in body, wire }
      const endpoint = server[wire]
      try {
        const data = await endpoint.post(body, signal, timeoutMs, { 'x-gavel-call': callId })
        const reply = read(data, { body, secrets: endpoint.secrets })
        answered(sent)
        return remarks.length === 0 ? reply : { ...reply, remarks }
      } catch (error) {
        if (!(error instanceof ParameterNamed)) throw error
        const refusal = refused(error.parameter, error.why, sent)
        if (refusal === undefined) throw error.otherwise
        // That it takes no images is said in our own words.
        if (error.parameter.trait !== 'images') refusal.saidByServer = error.saidByServer
        throw refusal
      }
    },
  }
}

/** A request as it is sent on a wire, and how its response is read. */
interface WrittenRequest extends Omit<ReturnType<typeof requestBody>, 'body'> {
  readonly body: object
  readonly read: (data: unknown, sent: SentRequest) => ModelReply
}

function written(request: ModelRequest, name: string, dialect: Dialect, wire: DecisionWire): WrittenRequest {
  const { decision } = request
  if (wire === 'chat' || decision === undefined) return { ...requestBody(request, name, dialect), read: replyOf }
  return {
    body: decisionBody(wire, request, decision, name),
    remarks: [],
    most: 0,
    read: (data) => ({ ...decisionReply(wire, data, decision), model: modelIn(data) }),
  }
}

function replyOf(data: unknown, sent: SentRequest): ModelReply {
  const read = completion.safeParse(data)
  if (!read.success || !('choices' in read.data || 'promptFeedback' in read.data))
    throw new RetryLaterError(
      'unavailable',
      data === null ? 'the response is no readable JSON: a web page, perhaps' : 'the response is not a chat completion',
    )
  // An empty list is what several servers send where a filter stopped the answer; none at all is no answer.
  if (read.data.choices == null && !('promptFeedback' in read.data))
    throw new RetryLaterError('unavailable', 'the response has no choices')
  const [choice] = read.data.choices ?? []
  if (choice?.error) throw failureOf({ status: 200, json: choice.error, text: '' }, sent)
  const { refusal } = choice?.message ?? {}
  const { text, thoughts } = textIn(choice?.message ?? null)
  const found = filteredIn(read.data, choice)
  const finish = isGuarded(read.data) ? 'content-filter' : finishOf(choice?.finish_reason ?? null, refusal)
  const probabilities = numberProbabilities(choice?.logprobs)
  return {
    text: text?.slice(0, MAX_TEXT_CHARS).toWellFormed() ?? null,
    ...(thoughts === '' ? {} : { thoughts: thoughts.slice(0, MAX_TEXT_CHARS).toWellFormed() }),
    ...finished(finish, { hasMessage: choice?.message != null, isCut: (text ?? '').length > MAX_TEXT_CHARS, found }),
    probabilities,
    beginnings: beginningProbabilities(choice?.logprobs),
    model: modelIn(data),
    ...readUsage(read.data),
  }
}

const named = z.looseObject({ model: z.string() })

/** The name under which a server answered. */
function modelIn(data: unknown): string {
  const read = named.safeParse(data)
  if (!read.success) return UNKNOWN
  return printable(read.data.model.slice(0, MAX_NAME_CHARS), MAX_NAME_CHARS) || UNKNOWN
}

/** The text of a message, and the thoughts before it, wherever they stand. */
function textIn(said: z.infer<typeof message> | null): { text: string | null; thoughts: string } {
  const { content: written = null, reasoning_content: beside, reasoning } = said ?? {}
  const parts = typeof written === 'string' || written === null ? [] : written
  const text = parts.length === 0 ? written : parts.map((one) => (isThought(one) ? '' : one.text)).join('')
  const thoughts = [beside ?? reasoning ?? '', ...parts.map((one) => (isThought(one) ? thoughtsOf(one) : ''))].join('')
  const call = said?.tool_calls?.[0]?.function ?? said?.function_call
  const answer = typeof text === 'string' && text.trim() !== '' ? text : (call?.arguments ?? text)
  return { text: typeof answer === 'string' ? answer : null, thoughts }
}

const isThought = ({ type }: z.infer<typeof part>) => /^(?:thinking|reasoning)/.test(type)

function thoughtsOf({ text, thinking }: z.infer<typeof part>): string {
  if (typeof thinking === 'string') return thinking
  return thinking?.map((one) => one.text).join('') ?? text
}

/**
 * How the answer ended. A response without a message is what several servers send where a filter stopped it, unless it
 * tells of filters that found nothing: then the server is not well.
 */
function finished(
  finish: ModelReply['finish'],
  { hasMessage, isCut, found }: { hasMessage: boolean; isCut: boolean; found: FilterRefusal[] | null },
): Pick<ModelReply, 'finish' | 'filtered'> {
  if (finish === 'content-filter') return { finish, filtered: found ?? [] }
  if (finish === 'stop' && !hasMessage) {
    if (found !== null && found.length === 0)
      throw new RetryLaterError('unavailable', 'the response has no answer, and its filters found nothing')
    return { finish: 'content-filter', filtered: found ?? [] }
  }
  return { finish: isCut ? 'length' : finish }
}

/** Bedrock reports only here that its guardrail has put a text of its own in place of the answer. */
function isGuarded(data: Readonly<Record<string, unknown>>): boolean {
  return data['amazon-bedrock-guardrailAction'] === 'INTERVENED'
}

/** Most questions of a request of which a filter tells. */
const MAX_PROMPTS = 20

/** What Azure's and Gemini's filters found; null if the response names no filter. */
function filteredIn(
  data: Readonly<Record<string, unknown>>,
  choice: Readonly<Record<string, unknown>> = {},
): FilterRefusal[] | null {
  const { prompt_filter_results: prompts, promptFeedback: feedback } = data
  const reason = blockReason.safeParse(feedback)
  if (reason.success) return [{ category: reason.data.blockReason.toLowerCase() }]
  const results = [...(Array.isArray(prompts) ? prompts.slice(0, MAX_PROMPTS).map(resultsOf) : []), resultsOf(choice)]
  return results.every((one) => one === null) ? null : categoriesIn(results)
}

const blockReason = z.object({ blockReason: z.string().regex(/^[A-Z_]{1,40}$/) })

function resultsOf(one: unknown): unknown {
  return typeof one === 'object' && one !== null && 'content_filter_results' in one ? one.content_filter_results : null
}

/** Longest model name that verdicts and traces repeat, in characters. It is the server's word: no control character stays in it. */
const MAX_NAME_CHARS = 128

/** Throws what the call has failed with, if the server's reason is that it could not answer. */
function finishOf(reason: string | null, refusal: string | null | undefined): ModelReply['finish'] {
  // LiteLLM and others add words behind a colon.
  const finish = entryOf(FINISHES, (reason ?? 'stop').toLowerCase().split(':', 1)[0]?.trim() ?? '')
  switch (finish) {
    case 'content':
      return 'content-filter'
    case 'load':
      throw new RetryLaterError('rate-limited', 'the server was too busy to end its answer')
    case 'outage':
      throw new RetryLaterError('unavailable', 'the server failed in the middle of its answer')
    case 'too-long':
      throw new PermanentError('rejected', 'the question is too long for this model', { elsewhere: 'question' })
    case 'refusal':
      return 'refusal'
    default:
      if (refusal != null && refusal !== '') return 'refusal'
      return finish === 'length' ? 'length' : 'stop'
  }
}
