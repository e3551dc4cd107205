import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { embedderOf } from '../../../src/shelves/embedders/make.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** An embeddings endpoint, and what it was asked: the model, the texts, the key and the query. */
async function embeddings() {
  const asked: unknown[] = []
  const server = createServer(async (request, response) => {
    const { model, input } = (await json(request)) as { model: string; input: string[] }
    asked.push([model, input, request.headers.authorization, request.headers['x-team'], request.url])
    const data = input.map((_, index) => ({ index, embedding: [1, 2] }))
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ data, usage: { prompt_tokens: 1 } }))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` }
}

test('an embedder is asked at its own endpoint, whose name is part of its own', async () => {
  const [one, other] = await Promise.all([embeddings(), embeddings()])
  const settings = (embedder: string) =>
    loadSettings({
      OPENAI_BASE_URL: one.url,
      OPENAI_API_KEY: 'first',
      GAVEL_ENDPOINTS: `{ other: { baseUrl: "${other.url}", apiKey: second, headers: { x-team: "7" }, query: { v: "1" } } }`,
      GAVEL_LIBRARY_EMBEDDER: embedder,
      GAVEL_LIBRARY_EMBEDDER_PREFIXES_QUERY: 'q: ',
    })
  const signal = new AbortController().signal
  const names: string[] = []
  for (const embedder of ['other/maker/bge', 'bge', 'default/bge']) {
    const made = embedderOf(settings(embedder))
    names.push(made.name)
    await made.embed(['text'], signal, 'query')
  }
  expect(other.asked).toEqual([['maker/bge', ['q: text'], 'Bearer second', '7', '/v1/embeddings?v=1']])
  const plain = ['bge', ['q: text'], 'Bearer first', undefined, '/v1/embeddings']
  expect(one.asked).toEqual([plain, plain])
  expect(names[0]).toMatch(/^endpoint:other\/maker\/bge#/)
  expect(names[1]).toMatch(/^endpoint:bge#/)
  // A shelf that was made under the one name is searched under the other.
  expect(names[2]).toBe(names[1])
  expect(settings('default/local').library.embedder).toBe('default/local')
  expect(settings('local').library.embedder).toBe('local')
})
