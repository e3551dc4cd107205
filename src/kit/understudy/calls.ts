import { hash } from 'node:crypto'
import { answered, contentOf, MODEL } from './answer.ts'
import { completionIn, type DialectServer, questionIn } from './dialects/completion.ts'
import { checkRequest } from './dialects/request.ts'
import { embeddingData, embeddingRequest, textsOf } from './embeddings.ts'
import { choiceOf, type UnderstudyFault } from './faults.ts'
import { parsed } from './http.ts'
import { type ChatRequest, chatRequest, readQuestion, tokens } from './question.ts'

/** A call as read from its body: what the log needs at once, and its answer once it is time. */
export type UnderstudyCall = {
  /** As the caller names it. */
  readonly model: string
  readonly stage: string | null
  /** A digest of its messages; null where there are none. */
  readonly question: string | null
  readonly promptTokens: number
  /** Whether the answer has text that a fault can spoil. */
  readonly content: boolean
  readonly answer: (
    fault: UnderstudyFault | null,
    seq: number,
  ) => { readonly completionTokens: number; readonly value: unknown }
  /** The answer is sent as the events of a stream. */
  readonly streams?: true
}

/**
 * A call for a chat completion, of a server that speaks a dialect or of one that takes everything (null). Throws BadRequest
 * for a body that doesn't fit, and Refused for one that the dialect does not take.
 */
export function chatCall(body: string, speaking: DialectServer | null): UnderstudyCall {
  const request = parsed(body, chatRequest)
  if (speaking !== null) return chatCallIn(speaking, request)
  const question = readQuestion(request)
  return {
    model: request.model ?? '',
    stage: question.stage,
    question: digestOf(request),
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

function digestOf({ messages }: ChatRequest): string {
  return hash('sha256', JSON.stringify(messages), 'base64url').slice(0, 22)
}

function chatCallIn(speaking: DialectServer, request: ChatRequest): UnderstudyCall {
  const { dialect } = speaking
  checkRequest(dialect, request)
  const question = questionIn(speaking, request)
  return {
    model: request.model ?? '',
    stage: question.stage,
    question: digestOf(request),
    promptTokens: question.promptTokens,
    content: true,
    answer(fault, seq) {
      const { counted, value } = completionIn(speaking, request, question, fault)
      return { completionTokens: counted.completion, value: { id: `chatcmpl-understudy-${seq}`, ...value } }
    },
    ...(dialect.streams ? { streams: true as const } : {}),
  }
}

/** A call for embeddings. Throws BadRequest for a body that doesn't fit. */
export function embeddingCall(body: string): UnderstudyCall {
  const request = parsed(body, embeddingRequest)
  const promptTokens = textsOf(request).reduce((sum, text) => sum + tokens(text.length), 0)
  return {
    model: request.model ?? '',
    stage: 'embeddings',
    question: null,
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
