import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { endpointEmbedder, type Prefixes } from '../../../src/shelves/embedders/endpoint.ts'

const signal = new AbortController().signal
let close: (() => void) | undefined
afterEach(() => close?.())

/** An embeddings endpoint that refuses what `refuses` says; `asked` are the inputs of each request. */
async function endpointThat(
  refuses: (input: readonly string[]) => [status: number, message: string] | null,
  prefixes?: Prefixes,
  vectorOf: (text: string) => unknown = (text) => [text.length, 1],
) {
  const asked: string[][] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input: string[] }
    asked.push(input)
    const refusal = refuses(input)
    response.setHeader('content-type', 'application/json')
    response.statusCode = refusal?.[0] ?? 200
    const data = input.map((text, index) => ({ index, embedding: vectorOf(text) }))
    response.end(
      JSON.stringify(
        refusal === null ? { data, usage: { prompt_tokens: input.length } } : { error: { message: refusal[1] } },
      ),
    )
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  close = () => {
    server.closeAllConnections()
    server.close()
  }
  const { port } = server.address() as AddressInfo
  const at = { baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'x' }
  return { asked, embedder: endpointEmbedder({ server: at, model: 'm', ...(prefixes && { prefixes }) }) }
}
const texts = (count: number) => Array.from({ length: count }, (_, at) => 'x'.repeat(at + 1))

describe('an embeddings endpoint', () => {
  it('gets a prefix by the kind of text, whole even if the text is shortened; prefixes are part of the name', async () => {
    const none = await endpointThat(() => null)
    close?.()
    const refuses = (input: readonly string[]): [number, string] | null =>
      input.some(({ length }) => length > 1_200) ? [400, 'maximum context length is 512 tokens'] : null
    const { asked, embedder } = await endpointThat(refuses, { query: 'query: ', document: 'passage: ' })
    await embedder.embed(['one'], signal, 'query')
    await embedder.embed(['one'], signal, 'document')
    await embedder.embed(['one'], signal)
    expect(asked).toEqual([['query: one'], ['passage: one'], ['passage: one']])
    await embedder.embed(['y'.repeat(3_000)], signal, 'query')
    expect(asked.at(-1)?.[0]).toMatch(/^query: y/)
    expect(none.embedder.name).toBe('endpoint:m')
    expect(embedder.name).toMatch(/^endpoint:m#[0-9a-f]{8}$/)
    const others = await endpointThat(() => null, { query: 'query: ', document: '' })
    expect(others.embedder.name).not.toBe(embedder.name)
  })

  it('that takes few texts at a time is asked in such batches, which is learnt from its refusal', async () => {
    const { asked, embedder } = await endpointThat((input) =>
      input.length > 64 ? [400, 'input array has too many elements'] : null,
    )
    const { vectors, tokens } = await embedder.embed(texts(600), signal)
    expect(vectors.map((vector) => vector[0])).toEqual(texts(600).map(({ length }) => length))
    expect(tokens).toBe(600)
    const refused = asked.filter(({ length }) => length > 64).length
    await embedder.embed(texts(600), signal)
    expect(asked.filter(({ length }) => length > 64)).toHaveLength(refused)
  })

  it('that refuses one text for its length is shown less of it, and the others whole', async () => {
    const { asked, embedder } = await endpointThat((input) =>
      input.some(({ length }) => length > 1_200) ? [400, 'maximum context length is 512 tokens'] : null,
    )
    const { vectors } = await embedder.embed([...texts(20), 'y'.repeat(3_000), ...texts(20)], signal)
    expect(vectors).toHaveLength(41)
    expect(vectors[20]?.[0]).toBeLessThanOrEqual(1_200)
    expect(vectors[40]?.[0]).toBe(20)
    // The text is the reason, and not the number of texts.
    const before = asked.length
    await embedder.embed(texts(100), signal)
    expect(asked).toHaveLength(before + 1)
  })

  it('that refuses the key, or everything, is not asked again and again', async () => {
    const locked = await endpointThat(() => [401, 'Incorrect API key provided'])
    await expect(locked.embedder.embed(texts(100), signal)).rejects.toThrow(/embeddings: status 401/)
    expect(locked.asked).toHaveLength(1)
    close?.()
    const broken = await endpointThat(() => [400, 'this model has no embeddings'])
    await expect(broken.embedder.embed(texts(256), signal)).rejects.toThrow(/embeddings: status 400/)
    expect(broken.asked.length).toBeLessThan(25)
  })

  it('is read no further than a vector of each text may be long', async () => {
    const ones = (count: number) => Array.from({ length: count }, () => 1)
    const longest = await endpointThat(
      () => null,
      undefined,
      () => ones(16_384),
    )
    expect((await longest.embedder.embed(['one'], signal)).vectors[0]).toHaveLength(16_384)
    close?.()
    const longer = await endpointThat(
      () => null,
      undefined,
      () => ones(16_385),
    )
    await expect(longer.embedder.embed(['one'], signal)).rejects.toThrow('not a list of embeddings')
    close?.()
    const long = await endpointThat(
      () => null,
      undefined,
      () => ones(300_000),
    )
    await expect(long.embedder.embed(['one'], signal)).rejects.toThrow('exceeded the size limit')
  })

  it.each<[string, unknown]>([
    ['is no list', 'vector'],
    ['is empty', []],
    ['holds words', [1, 'two']],
    ['holds nothing', [1, null]],
    ['holds lists', [[1, 2]]],
  ])('whose vector %s has not answered', async (_, vector) => {
    const { embedder } = await endpointThat(
      () => null,
      undefined,
      () => vector,
    )
    await expect(embedder.embed(['one'], signal)).rejects.toThrow('not a list of embeddings')
  })
})
