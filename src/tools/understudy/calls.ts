import { answered, contentOf, MODEL } from './answer.ts'
import { embeddingData, embeddingRequest, textsOf } from './embedding-request.ts'
import { choiceOf, type Fault } from './faults.ts'
import { parsed } from './http.ts'
import { chatRequest, readQuestion, tokens } from './question.ts'

/** A call as read from its body: what the log needs at once, and its answer once it is time. */
export type Call = {
  /** As the caller names it. */
  readonly model: string
  readonly stage: string | null
  readonly promptTokens: number
  /** Whether the answer has text that a fault can spoil. */
  readonly content: boolean
  readonly answer: (fault: Fault | null, seq: number) => { readonly completionTokens: number; readonly value: unknown }
}

/** A call for a chat completion. Throws BadRequest for a body that doesn't fit. */
export function chatCall(body: string): Call {
  const request = parsed(body, chatRequest)
  const question = readQuestion(request)
  return {
    model: request.model ?? '',
    stage: question.stage,
    promptTokens: question.promptTokens,
    content: true,
    answer(fault, seq) {
      const { message, finish_reason } = choiceOf(contentOf(question), fault, question.schema)
      const { usage } = answered(question, message.content ?? message.refusal ?? '')
      const value = {
        id: `chatcmpl-understudy-${seq}`,
        object: 'chat.completion',
        created: Math.floor(Date.now() / 1000),
        model: MODEL,
        choices: [{ index: 0, message, finish_reason, logprobs: null }],
        usage,
      }
      return { completionTokens: usage.completion_tokens, value }
    },
  }
}

/** A call for embeddings. Throws BadRequest for a body that doesn't fit. */
export function embeddingCall(body: string): Call {
  const request = parsed(body, embeddingRequest)
  const promptTokens = textsOf(request).reduce((sum, text) => sum + tokens(text.length), 0)
  return {
    model: request.model ?? '',
    stage: 'embeddings',
    promptTokens,
    content: false,
    answer: () => ({
      completionTokens: 0,
      value: {
        object: 'list',
        model: MODEL,
        data: embeddingData(request),
        usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
      },
    }),
  }
}
