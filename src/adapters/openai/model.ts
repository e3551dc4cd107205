import type OpenAI from 'openai'
import { z } from 'zod'
import { RetryLaterError } from '../../domain/errors.ts'
import type { ChatMessage } from '../../domain/verdict.ts'
import type { Model, ModelReply, ModelRequest } from '../../ports/model.ts'
import { endpoint } from './endpoint.ts'
import { logprobs, numberProbabilities, TOP_LOGPROBS } from './number-probabilities.ts'

export interface OpenAiSettings {
  readonly baseUrl: string
  readonly apiKey: string
  /** How the endpoint accepts an answer's format; with the weaker ones only the prompt specifies it. */
  readonly answerFormat: 'json_schema' | 'json_object' | 'text'
}

const usage = z
  .object({
    prompt_tokens: z.number().catch(0),
    completion_tokens: z.number().catch(0),
    prompt_tokens_details: z
      .object({ cached_tokens: z.number().catch(0) })
      .nullish()
      .catch(null),
  })
  .nullish()
  .catch(null)

/** The responses of compatible servers, parsed leniently: most fields may be missing. */
const completion = z.object({
  model: z.string().catch('unknown'),
  choices: z
    .array(
      z.object({
        finish_reason: z.string().nullish(),
        message: z.object({ content: z.string().nullish(), refusal: z.string().nullish() }),
        logprobs,
      }),
    )
    .min(1),
  usage,
})

/** Longest response, in bytes: a thousand times a usual answer, with thoughts and repeated fields. */
const MAX_BODY_BYTES = 4 * 2 ** 20
/** Longest text of an answer, in characters, since it is journaled and parsed as a whole. The rest is cut off. */
const MAX_TEXT_CHARS = 2 ** 17

/** Chat Completions of any server with OpenAI's interface. One request per call; the queue retries. */
export function openAiModel(settings: OpenAiSettings): Model {
  const { baseUrl, apiKey } = settings
  const post = endpoint({ baseUrl, apiKey, path: '/chat/completions', maxBytes: MAX_BODY_BYTES })
  return {
    async complete(request) {
      const { callId, signal, timeoutMs } = request
      const body: OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming = {
        model: request.model,
        messages: request.messages.map(messageOf),
        temperature: request.temperature,
        max_tokens: request.maxTokens,
        ...responseFormat(settings, request),
        ...(request.probabilities === true ? { logprobs: true, top_logprobs: TOP_LOGPROBS } : {}),
      }
      return replyOf(await post(body, { signal, timeoutMs, headers: { 'x-gavel-call': callId } }))
    },
  }
}

/** Plain text stays a string, which every compatible server accepts; with images it becomes a list of content parts. */
function messageOf({ role, content, images }: ChatMessage): OpenAI.Chat.Completions.ChatCompletionMessageParam {
  if (images === undefined || images.length === 0 || role !== 'user') return { role, content }
  const shown = images.map((url) => ({ type: 'image_url' as const, image_url: { url } }))
  return { role, content: [{ type: 'text', text: content }, ...shown] }
}

function responseFormat(settings: OpenAiSettings, { answer }: ModelRequest) {
  switch (settings.answerFormat) {
    case 'json_schema': {
      const schema = answer.schema as Record<string, unknown>
      return {
        response_format: { type: 'json_schema' as const, json_schema: { name: answer.name, schema, strict: true } },
      }
    }
    case 'json_object':
      return { response_format: { type: 'json_object' as const } }
    case 'text':
      return {}
  }
}

function replyOf(data: unknown): ModelReply {
  const read = completion.safeParse(data)
  const choice = read.success ? read.data.choices[0] : undefined
  if (!read.success || choice === undefined)
    throw new RetryLaterError('unavailable', 'the response is not a chat completion')
  const { content, refusal } = choice.message
  const probabilities = numberProbabilities(choice.logprobs)
  const tooLong = (content ?? '').length > MAX_TEXT_CHARS
  return {
    text: content?.slice(0, MAX_TEXT_CHARS).toWellFormed() ?? null,
    finish: finishOf(tooLong ? 'length' : (choice.finish_reason ?? 'stop'), refusal ?? null),
    ...(probabilities === undefined ? {} : { probabilities }),
    model: read.data.model.slice(0, MAX_NAME_CHARS),
    promptTokens: read.data.usage?.prompt_tokens ?? 0,
    cachedTokens: read.data.usage?.prompt_tokens_details?.cached_tokens ?? 0,
    completionTokens: read.data.usage?.completion_tokens ?? 0,
  }
}

/** Longest model name that a verdict repeats, in characters. */
const MAX_NAME_CHARS = 128

function finishOf(reason: string, refusal: string | null): ModelReply['finish'] {
  if (reason === 'content_filter') return 'content-filter'
  if (refusal !== null && refusal !== '') return 'refusal'
  return reason === 'length' ? 'length' : 'stop'
}
