import type OpenAI from 'openai'
import { z } from 'zod'
import { PermanentError, RetryLaterError } from '../../domain/errors.ts'
import type { Embedder } from '../../ports/library.ts'
import { endpoint } from '../openai/endpoint.ts'
import { readPart, weakByLength } from './characters.ts'

export interface EndpointEmbedderOptions {
  readonly baseUrl: string
  readonly apiKey: string
  readonly model: string
}

/** Texts in one request. */
const BATCH = 256
/** Longest wait for one answer, in ms. */
const TIMEOUT_MS = 60_000
/** Longest response, in bytes: a full batch of long vectors, as JSON. */
const MAX_BODY_BYTES = 64 * 2 ** 20

const answer = z.object({
  data: z.array(z.object({ index: z.int(), embedding: z.array(z.number()).min(1) })),
  usage: z
    .object({ prompt_tokens: z.number().catch(0) })
    .nullish()
    .catch(null),
})

/** Embeddings from any server with OpenAI's interface. One try per request; the queue retries. */
export function endpointEmbedder({ baseUrl, apiKey, model }: EndpointEmbedderOptions): Embedder {
  const post = endpoint({ baseUrl, apiKey, path: '/embeddings', maxBytes: MAX_BODY_BYTES, maxParts: 10 * BATCH })
  let dimension: number | null = null

  async function embedBatch(texts: readonly string[], signal: AbortSignal) {
    const body: OpenAI.EmbeddingCreateParams = { model, input: texts.map(readPart), encoding_format: 'float' }
    const read = await post(body, { signal, timeoutMs: TIMEOUT_MS }).catch((error: unknown) => {
      if (error instanceof PermanentError)
        throw new PermanentError('rejected', `embeddings: ${error.message}`, { cause: error, mend: error.mend })
      throw error
    })
    const { success, data } = answer.safeParse(read)
    const vectors = success ? inOrder(data.data, texts.length) : null
    if (!success || vectors === null)
      throw new RetryLaterError('unavailable', 'the response is not a list of embeddings')
    return { vectors, tokens: data.usage?.prompt_tokens ?? 0 }
  }

  return {
    name: `endpoint:${model}`,
    get dimension() {
      return dimension
    },
    weakFor: weakByLength,
    async embed(texts, signal) {
      const vectors: Float32Array[] = []
      let tokens = 0
      for (let at = 0; at < texts.length; at += BATCH) {
        const batch = await embedBatch(texts.slice(at, at + BATCH), signal)
        vectors.push(...batch.vectors)
        tokens += batch.tokens
      }
      dimension ??= vectors[0]?.length ?? null
      return { vectors, tokens }
    },
    prepare() {},
    close: async () => {},
  }
}

/** The vectors by their index; null if one is missing, or their lengths differ. */
function inOrder(data: readonly { index: number; embedding: number[] }[], wanted: number): Float32Array[] | null {
  const byIndex = new Map(data.map(({ index, embedding }) => [index, Float32Array.from(embedding)]))
  const vectors = Array.from({ length: wanted }, (_, index) => byIndex.get(index))
  const whole = vectors.filter((vector) => vector !== undefined && vector.length === vectors[0]?.length)
  return whole.length === wanted ? whole.filter((vector) => vector !== undefined) : null
}
