import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import type { ModelRequest } from '../ports/model.ts'
import { benchAnswer } from './model.ts'

// The bench's model behind HTTP, in a process of its own, so that its work is not counted as its caller's: told its latency
// by its argument, it tells its port over the channel to its parent.

const latencyMs = Number(process.argv[2] ?? 0)

/** What is read of a Chat Completions request. */
interface Asked {
  readonly messages: ModelRequest['messages']
  readonly response_format: { readonly json_schema: ModelRequest['answer'] }
}

const server = createServer(async (request, response) => {
  const arrived = performance.now()
  const { messages, response_format } = JSON.parse(await text(request)) as Asked
  const content = benchAnswer({ messages, answer: response_format.json_schema })
  const body = JSON.stringify({
    model: 'bench',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content, refusal: null } }],
    usage: { prompt_tokens: 1_000, completion_tokens: 100 },
  })
  const reply = () => response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  setTimeout(reply, latencyMs - (performance.now() - arrived))
})
server.keepAliveTimeout = 120_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.(typeof address === 'object' ? address?.port : undefined)
})
process.once('disconnect', () => process.exit(0))
