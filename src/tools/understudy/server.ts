import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { answered, contentOf, MODEL } from './answer.ts'
import { type CallRecord, openCallLog } from './call-log.ts'
import { embeddingData, embeddingRequest, textsOf } from './embedding-request.ts'
import {
  type Behaviour,
  type BehaviourChange,
  behaviour,
  behaviourChange,
  choiceOf,
  type Fault,
  faultOf,
} from './faults.ts'
import { BadRequest, bodyOf, ClientGone, parsed, send, sendError, sendJson } from './http.ts'
import { chatRequest, readQuestion, tokens } from './question.ts'

/** How to start an understudy. */
export type UnderstudyOptions = BehaviourChange & {
  /** A free one when left out. */
  readonly port?: number
  /** JSON Lines, one when a call arrives and one when it has ended; appended to. */
  readonly logFile?: string
  /** Is told in one line where the understudy serves, and what it is. */
  readonly say?: (line: string) => void
}

/** A running understudy. */
export type Understudy = {
  readonly what: string
  readonly settings: { readonly OPENAI_BASE_URL: string; readonly OPENAI_API_KEY: string }
  readonly pid: undefined
  /** The newest 100,000 calls, oldest first. */
  calls(): CallRecord[]
  /** Changes the behaviour from the next call on; throws a ZodError for one that makes no sense. */
  behave(changes: BehaviourChange): Behaviour
  /** Drops open calls, which end as `aborted`, and frees the port. */
  close(): Promise<void>
}

const WHAT = 'the understudy: no language model, it answers from word lists'
const SLOW = 10

/** Serves the Chat Completions and Embeddings interface on 127.0.0.1, answered by the understudy. */
export async function startUnderstudy(options: UnderstudyOptions = {}): Promise<Understudy> {
  const { port = 0, logFile, say, ...initial } = options
  let current = behaviour.parse(initial)
  const log = openCallLog(logFile, Date.now)
  const open = new Set<() => void>()

  function behave(changes: BehaviourChange): Behaviour {
    // Checked fields only, so that what a change leaves out stays.
    current = behaviour.parse({ ...current, ...behaviourChange.parse(changes) })
    return current
  }

  async function serve(request: IncomingMessage, response: ServerResponse) {
    switch (`${request.method} ${request.url?.split('?')[0]}`) {
      case 'POST /v1/chat/completions':
        return call(request, response, chatCall)
      case 'POST /v1/embeddings':
        return call(request, response, embeddingCall)
      case 'GET /v1/models':
        return sendJson(response, {
          object: 'list',
          data: [{ id: MODEL, object: 'model', created: 0, owned_by: MODEL }],
        })
      case 'GET /understudy/calls':
        return sendJson(response, log.calls())
      case 'POST /understudy/behaviour':
        return sendJson(response, behave(parsed(await bodyOf(request), behaviourChange)))
      default:
        return sendError(response, 404, `The understudy serves no ${request.method} ${request.url}.`)
    }
  }

  async function call(request: IncomingMessage, response: ServerResponse, read: (body: string) => Call) {
    const header = request.headers['x-gavel-call']
    const name = typeof header === 'string' ? header : null
    const asked = await readCall(request, read)
    if (asked instanceof BadRequest) {
      const seq = log.arrived({ call: name, stage: null, promptTokens: 0 })
      log.ended(seq, { status: 'failed', fault: null, completionTokens: 0 })
      throw asked
    }
    const seq = log.arrived({ call: name, stage: asked.stage, promptTokens: asked.promptTokens })
    const fault = faultOf(current, seq, asked.content)
    const { latencyMs, faults } = current

    let timer: NodeJS.Timeout | undefined
    const end = (status: 'answered' | 'failed' | 'aborted', completionTokens = 0) => {
      clearTimeout(timer)
      open.delete(abort)
      log.ended(seq, { status, fault, completionTokens })
    }
    const abort = () => end('aborted')
    open.add(abort)
    response.on('close', () => !response.writableFinished && abort())

    const reply = () => {
      if (response.destroyed) return
      const { completionTokens, value } = asked.answer(fault, seq)
      // Noted before it is sent: whoever has the answer finds the call ended.
      end('answered', completionTokens)
      sendJson(response, value, 200, { 'x-request-id': `understudy-${seq}` })
    }
    switch (fault) {
      case '429':
        end('failed')
        return sendError(response, 429, 'Rate limit reached.', { 'retry-after': String(faults.retryAfterSeconds) })
      case '500':
      case '503':
        end('failed')
        return sendError(response, Number(fault), 'The understudy was told to fail.')
      case 'reset':
        end('failed')
        return request.socket.resetAndDestroy()
      case 'html':
        end('answered')
        return send(
          response,
          200,
          { 'content-type': 'text/html' },
          '<!doctype html><title>Gateway</title><p>Sign in first.',
        )
      case 'timeout':
        return
      default: {
        const wait = latencyMs * (fault === 'slow' ? SLOW : 1)
        if (wait === 0) return reply()
        timer = setTimeout(reply, wait)
      }
    }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      if (error instanceof ClientGone) return
      if (error instanceof BadRequest) sendError(response, error.status, error.message, { connection: 'close' })
      else sendError(response, 500, `The understudy stumbled: ${String(error)}`)
    })
  })
  // Longer than any client keeps an idle connection, so that none is closed just as it is used again.
  server.keepAliveTimeout = 120_000
  await new Promise<void>((listening, failed) => {
    server.once('error', failed)
    server.listen(port, '127.0.0.1', listening)
  })
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : port}/v1`
  say?.(`${url} is ${WHAT}`)

  let closing: Promise<void> | undefined
  return {
    what: WHAT,
    settings: { OPENAI_BASE_URL: url, OPENAI_API_KEY: MODEL },
    pid: undefined,
    calls: log.calls,
    behave,
    close() {
      closing ??= new Promise((closed) => {
        server.close(() => closed())
        for (const abort of [...open]) abort()
        server.closeAllConnections()
        log.close()
      })
      return closing
    },
  }
}

/** A call as read from its body: what the log needs at once, and its answer once it is time. */
type Call = {
  readonly stage: string | null
  readonly promptTokens: number
  /** Whether the answer has text that a fault can spoil. */
  readonly content: boolean
  readonly answer: (fault: Fault | null, seq: number) => { readonly completionTokens: number; readonly value: unknown }
}

async function readCall(request: IncomingMessage, read: (body: string) => Call): Promise<Call | BadRequest> {
  try {
    return read(await bodyOf(request))
  } catch (error) {
    if (error instanceof BadRequest) return error
    throw error
  }
}

function chatCall(body: string): Call {
  const question = readQuestion(parsed(body, chatRequest))
  return {
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

function embeddingCall(body: string): Call {
  const request = parsed(body, embeddingRequest)
  const promptTokens = textsOf(request).reduce((sum, text) => sum + tokens(text.length), 0)
  return {
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
