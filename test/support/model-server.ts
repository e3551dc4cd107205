import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** What a question shows: the text of its messages, and the stage that its last line names. */
export interface Shown {
  readonly text: string
  readonly stage: string
}

/** What else the model might have said than its score, with probabilities. */
type Odds = readonly (readonly [number: number, probability: number])[]

/** An answer's tokens, of which the score is one, with what else it might have been. */
function logprobsOf(content: string, odds: Odds) {
  const [before, score = '', after] = content.split(/(?<="score":)(\d+)/)
  const others = odds.map(([number, probability]) => ({ token: String(number), logprob: Math.log(probability) }))
  return [before, score, after].map((token) => ({ token, logprob: -0.1, top_logprobs: token === score ? others : [] }))
}

/** A server with the Chat Completions interface on loopback, whose answers a test gives. */
export async function startModelServer(
  answer: (shown: Shown) => object | Promise<object>,
  {
    model = 'planted-1',
    latencyMs = 0,
    odds = [],
  }: { model?: string | ((call: number) => string); latencyMs?: number; odds?: Odds } = {},
) {
  const most = { atOnce: 0 }
  let [calls, open] = [0, 0]
  const server = createServer(async (request, response) => {
    // It lists no models: a doctor that asks for the list is told so.
    if (request.method !== 'POST') return void response.writeHead(404).end()
    calls++
    open++
    most.atOnce = Math.max(most.atOnce, open)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { messages, logprobs = false } = JSON.parse(Buffer.concat(chunks).toString()) as {
      messages: { content: string }[]
      logprobs?: boolean
    }
    const text = messages.map(({ content }) => content).join('\n')
    if (latencyMs > 0) await sleep(latencyMs)
    open--
    const content = JSON.stringify(await answer({ text, stage: /Answer format \((\w+)\):/.exec(text)?.[1] ?? '' }))
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        id: `call-${calls}`,
        object: 'chat.completion',
        created: 0,
        model: typeof model === 'string' ? model : model(calls),
        choices: [
          {
            index: 0,
            finish_reason: 'stop',
            message: { role: 'assistant', content },
            ...(logprobs && { logprobs: { content: logprobsOf(content, odds) } }),
          },
        ],
        usage: { prompt_tokens: 300, completion_tokens: 20, total_tokens: 320 },
      }),
    )
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    settings: { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: 'none' },
    calls: () => calls,
    mostAtOnce: () => most.atOnce,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
