import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The small model's name. */
export const DECIDER = 'small'

/** One endpoint: a small model that is sure of what is easy, and a judge. The texts of vermin are hateful. */
export async function startLaneModels() {
  const asked = { decider: 0, judge: 0 }
  const state = { isAway: false, isJudgeAway: false }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    const { model } = JSON.parse(body || '{}')
    const isDecider = model === DECIDER
    asked[isDecider ? 'decider' : 'judge']++
    if (isDecider ? state.isAway : state.isJudgeAway) return void response.writeHead(503).end()
    const isHate = body.includes('vermin')
    const label = isHate ? 'hate' : 'non-hate'
    const content = JSON.stringify(
      isDecider ? { label } : { reason: 'R', label, clauses: [{ id: 'H1', quote: '' }], probability: 0.7 },
    )
    const sure = body.includes('easy') ? 0.95 : 0.7
    const of = (token: string, probability: number) => ({ token, logprob: Math.log(probability), bytes: null })
    const plain = (token: string) => ({ ...of(token, 1), top_logprobs: [of(token, 1)] })
    const [first, other] = isHate ? ['hate', 'non'] : ['non', 'hate']
    const chosen = { ...of(first, sure), top_logprobs: [of(first, sure), of(other, 1 - sure)] }
    const tokens = [plain('{"label"'), plain(':"'), chosen, plain(`${label.slice(first.length)}"}`)]
    const logprobs = isDecider ? { content: tokens } : null
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        model,
        choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop', logprobs }],
        usage: { prompt_tokens: 300, completion_tokens: 5, total_tokens: 305 },
      }),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // It listens on a port.
  return {
    asked,
    state,
    settings: { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: 'none' },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
