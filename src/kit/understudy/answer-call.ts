import type { IncomingMessage, ServerResponse } from 'node:http'
import type { openCallLog } from './call-log.ts'
import type { UnderstudyCall } from './calls.ts'
import { RefusedRequest } from './dialects/request.ts'
import { type Behaviour, faultOf } from './faults.ts'
import { BadRequest, bodyOf, send, sendError, sendEvents, sendJson } from './http.ts'

/** By how much the fault `slow` lengthens an answer's time. */
const SLOW = 10

/** OpenAI's errors where an account, a key or a model is refused. */
const REFUSED = {
  quota: { status: 429, type: 'insufficient_quota', code: 'insufficient_quota', message: 'You exceeded your quota.' },
  key: { status: 401, type: 'invalid_request_error', code: 'invalid_api_key', message: 'Incorrect API key provided.' },
  'no-model': { status: 404, type: 'invalid_request_error', code: 'model_not_found', message: 'No such model.' },
} as const

/** Answers calls, or fails them by the `behaviour` at their arrival, and notes both ends of each in the log. */
export function answeringCalls(log: ReturnType<typeof openCallLog>, behaviour: () => Behaviour) {
  const open = new Set<() => void>()

  /** Reads and answers one call. Rejects with BadRequest for one that can't be read, which is noted as failed. */
  async function answer(request: IncomingMessage, response: ServerResponse, read: (body: string) => UnderstudyCall) {
    const header = request.headers['x-gavel-call']
    const name = typeof header === 'string' ? header : null
    const asked = await readCall(request, read)
    if (asked instanceof BadRequest) {
      const refused = asked instanceof RefusedRequest ? { refused: asked.parameter } : {}
      const seq = log.arrived({ call: name, stage: null, question: null, promptTokens: 0, ...refused })
      log.ended(seq, { status: 'failed', fault: null, completionTokens: 0 })
      throw asked
    }
    const seq = log.arrived({
      call: name,
      stage: asked.stage,
      question: asked.question,
      promptTokens: asked.promptTokens,
    })
    const current = behaviour()
    const fault = faultOf(current, seq, asked)
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
      // Noted before it is sent: a client with the answer finds the call ended.
      end('answered', completionTokens)
      const headers = { 'x-request-id': `understudy-${seq}` }
      if (asked.streams) sendEvents(response, value, headers)
      else sendJson(response, value, 200, headers)
    }
    switch (fault) {
      case '429':
        end('failed')
        return sendError(response, 429, 'Rate limit reached.', { 'retry-after': String(faults.retryAfterSeconds) })
      case '500':
      case '503':
        end('failed')
        return sendError(response, Number(fault), 'The understudy was told to fail.')
      case 'quota':
      case 'key':
      case 'no-model': {
        end('failed')
        const { status, ...error } = REFUSED[fault]
        return sendJson(response, { error }, status)
      }
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

  return {
    answer,
    /** Ends all open calls as `aborted`. */
    abortAll(): void {
      for (const abort of [...open]) abort()
    },
  }
}

async function readCall(
  request: IncomingMessage,
  read: (body: string) => UnderstudyCall,
): Promise<UnderstudyCall | BadRequest> {
  try {
    return read(await bodyOf(request))
  } catch (error) {
    if (error instanceof BadRequest) return error
    throw error
  }
}
