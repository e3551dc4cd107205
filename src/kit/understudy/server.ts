import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { MODEL } from './answer.ts'
import { answeringCalls } from './answer-call.ts'
import { type CallRecord, openCallLog } from './call-log.ts'
import { chatCall, embeddingCall } from './calls.ts'
import { openAiDecisionCall, systemOneCall } from './decisions.ts'
import { type DialectName, dialectOf } from './dialects/all.ts'
import type { ServerDialect } from './dialects/dialect.ts'
import { promptCache } from './dialects/prompt-cache.ts'
import { checkAccess, RefusedRequest } from './dialects/request.ts'
import { type Behaviour, type BehaviourChange, behaviour, behaviourChange } from './faults.ts'
import { BadRequest, bodyOf, ClientGone, parsed, sendError, sendJson } from './http.ts'

/** How to start an understudy. */
export type UnderstudyOptions = BehaviourChange & {
  /** A free one when left out. */
  readonly port?: number
  /** JSON Lines, one when a call arrives and one when it has ended; appended to. */
  readonly logFile?: string | undefined
  /** What it speaks, by name or as a row of one's own; left out: it takes everything. */
  readonly dialect?: DialectName | ServerDialect | undefined
  /** Where its dialect has a model that thinks: tokens of thought for each token of an answer, at medium effort. */
  readonly thoughts?: number
  /** More models that it lists, with its context: it answers to any name. A dialect's row names them. */
  readonly models?: readonly string[]
  /** Is given one line: the understudy's URL, and what it is. */
  readonly say?: (line: string) => void
}

/** A running understudy. */
export type Understudy = {
  readonly what: string
  readonly settings: { readonly OPENAI_BASE_URL: string; readonly OPENAI_API_KEY: string }
  readonly pid: undefined
  /** The newest 100,000 calls, oldest first. */
  calls(): CallRecord[]
  /** Changes the behaviour of the calls that arrive from now on; throws a ZodError for values that don't fit. */
  behave(changes: BehaviourChange): Behaviour
  /** Drops open calls, which end as `aborted`, and frees the port. */
  close(): Promise<void>
}

/** It reads whatever it is sent. */
const CONTEXT = 1_000_000
/** Models think far more than they answer. */
const THOUGHTS = 10

const WHAT = 'the understudy: no language model, it answers from word lists'

/** Serves the interfaces for chat completions, decisions and embeddings on 127.0.0.1, answered by the understudy. */
export async function startUnderstudy(options: UnderstudyOptions = {}): Promise<Understudy> {
  const { port = 0, logFile, say, dialect: named, thoughts = THOUGHTS, models = [], ...initial } = options
  const dialect = named === undefined ? null : dialectOf(named)
  const speaking = dialect === null ? null : { dialect, thoughts, cache: promptCache(dialect.cache) }
  const base = dialect?.base ?? '/v1'
  let current = behaviour.parse(initial)
  const log = openCallLog(logFile, Date.now)
  const calls = answeringCalls(log, () => current)

  function behave(changes: BehaviourChange): Behaviour {
    // A change has no defaults: what it leaves out stays.
    current = behaviour.parse({ ...current, ...behaviourChange.parse(changes) })
    return current
  }

  async function serve(request: IncomingMessage, response: ServerResponse) {
    const url = new URL(request.url ?? '/', 'http://understudy')
    if (dialect !== null && url.pathname.startsWith(base)) checkAccess(dialect, request, url)
    switch (`${request.method} ${url.pathname}`) {
      case `POST ${base}/chat/completions`:
        return calls.answer(request, response, (body) => chatCall(body, speaking))
      case `POST ${base}/decisions`:
        if (dialect !== null && dialect.decisions !== 'openai') break
        return calls.answer(request, response, openAiDecisionCall)
      case `POST ${base}/systemone`:
        if (dialect !== null && dialect.decisions !== 'systemone') break
        return calls.answer(request, response, systemOneCall)
      case `POST ${base}/embeddings`:
        if (dialect?.embeddings === false) break
        return calls.answer(request, response, embeddingCall)
      case `GET ${base}/models`:
        return sendJson(response, {
          object: 'list',
          data: (dialect?.models ?? [MODEL, ...models].map((id) => ({ id, context_length: CONTEXT }))).map((one) => ({
            object: 'model',
            created: 0,
            owned_by: MODEL,
            ...one,
          })),
        })
      case 'GET /understudy/calls':
        return sendJson(response, log.calls())
      case 'POST /understudy/behaviour':
        return sendJson(response, behave(parsed(await bodyOf(request), behaviourChange)))
    }
    const own = Object.entries(dialect?.own ?? {}).find(([path]) => path === url.pathname)
    if (own !== undefined) return sendJson(response, own[1])
    return sendError(response, 404, `The understudy serves no ${request.method} ${request.url}.`)
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      if (error instanceof ClientGone) return
      if (error instanceof RefusedRequest) sendJson(response, error.body, error.status)
      else if (error instanceof BadRequest) sendError(response, error.status, error.message, { connection: 'close' })
      else sendError(response, 500, `Understudy error: ${String(error)}`)
    })
  })
  // Longer than any client keeps an idle connection, so that none is closed just as it is used again.
  server.keepAliveTimeout = 120_000
  await new Promise<void>((listening, failed) => {
    server.once('error', failed)
    server.listen(port, '127.0.0.1', listening)
  })
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : port}${base}`
  const what = dialect === null ? WHAT : `${WHAT}; it speaks as ${dialect.what}`
  say?.(`${url} is ${what}`)

  let closing: Promise<void> | undefined
  return {
    what,
    settings: { OPENAI_BASE_URL: url, OPENAI_API_KEY: MODEL },
    pid: undefined,
    calls: log.calls,
    behave,
    close() {
      closing ??= new Promise((closed) => {
        server.close(() => closed())
        calls.abortAll()
        server.closeAllConnections()
        log.close()
      })
      return closing
    },
  }
}
