import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import type { ModelRequest } from '../../contracts/ports/model.ts'
import { benchAnswer } from './model.ts'

// The bench's model behind HTTP, in a process of its own, so that its work is not counted as its caller's: it gets its latency
// by its argument, it tells its port over the channel to its parent, who may make it faulty.

const latencyMs = Number(process.argv[2] ?? 0)

/** The model's faults; shares are of calls, 0 to 1. */
export interface FaultyModel {
  /** Answered at once with 429… */
  readonly refused?: number
  /** …or 500… */
  readonly failed?: number
  /** …or with nothing, for `hangMs`. */
  readonly hung?: number
  readonly hangMs?: number
  /** …or by the end of its connection… */
  readonly reset?: number
  /** …or with a web page… */
  readonly page?: number
  /** …or with no JSON… */
  readonly unreadable?: number
  /** …or rightly, but ten times as late. */
  readonly slow?: number
  /** Calls at once; those beyond are answered at once with 429. */
  readonly places?: number
}

/** By how much `slow` lengthens an answer's time. */
const SLOW = 10

let faults: FaultyModel = {}
let working = 0
process.on('message', (told: FaultyModel) => {
  faults = told
})

/** What is read of a Chat Completions request. */
interface ServerRequest {
  readonly messages: ModelRequest['messages']
  readonly response_format: { readonly json_schema: ModelRequest['answer'] }
}

const server = createServer(async (request, response) => {
  const arrived = performance.now()
  const { messages, response_format } = JSON.parse(await text(request)) as ServerRequest
  const content = benchAnswer({ messages, answer: response_format.json_schema })
  const { hangMs = 0, places = Number.POSITIVE_INFINITY } = faults
  const fault = working >= places ? 'refused' : chosen()
  if (fault === 'refused') return void response.writeHead(429, { 'retry-after': '1' }).end('{}')
  if (fault === 'failed') return void response.writeHead(500).end('{}')
  if (fault === 'reset') return void request.socket.resetAndDestroy()
  if (fault === 'page') return void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Sign in first.')
  const said = fault === 'unreadable' ? 'I can not say.' : content
  const body = JSON.stringify({
    model: 'bench',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: said, refusal: null } }],
    usage: { prompt_tokens: 1_000, completion_tokens: 100 },
  })
  const hangs = fault === 'hung'
  if (!hangs) working++
  const reply = () => {
    if (!hangs) working--
    if (!response.destroyed) response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  }
  const tookMs = hangs ? hangMs : fault === 'slow' ? SLOW * latencyMs : latencyMs
  setTimeout(reply, tookMs - (performance.now() - arrived))
})

const KINDS = ['refused', 'failed', 'hung', 'reset', 'page', 'unreadable', 'slow'] as const

/** The fault of a call, by luck. */
function chosen(): (typeof KINDS)[number] | null {
  let luck = Math.random()
  for (const kind of KINDS) {
    luck -= faults[kind] ?? 0
    if (luck < 0) return kind
  }
  return null
}

server.keepAliveTimeout = 120_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.(typeof address === 'object' ? address?.port : undefined)
})
process.once('disconnect', () => process.exit(0))
