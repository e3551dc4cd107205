import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startUnderstudy } from '../../src/kit/understudy/server.ts'

/**
 * An endpoint with one model: the understudy's answers under that name, and 404 for any other, as OpenAI, vLLM and Ollama say it.
 * `asked` are the models that were asked, in order.
 */
export async function startOneModel(name: string) {
  const understudy = await startUnderstudy()
  const asked: string[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const { model } = JSON.parse(body) as { model: string }
    asked.push(model)
    response.setHeader('content-type', 'application/json')
    if (model !== name) {
      response.statusCode = 404
      response.end(
        JSON.stringify({ error: { message: `The model \`${model}\` does not exist`, code: 'model_not_found' } }),
      )
      return
    }
    const answered = await fetch(`${understudy.settings.OPENAI_BASE_URL}${request.url?.replace(/^\/v1/, '')}`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
    const answer = (await answered.json()) as object
    response.statusCode = answered.status
    response.end(JSON.stringify('model' in answer ? { ...answer, model: name } : answer))
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return {
    settings: { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: 'none' },
    asked,
    async close() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
      await understudy.close()
    },
  }
}
