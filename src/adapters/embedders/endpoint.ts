import OpenAI, { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from 'openai'
import { z } from 'zod'
import { PermanentError, RetryLaterError } from '../../domain/errors.ts'
import type { Embedder } from '../../ports/library.ts'
import { boundedFetch } from '../bounded-fetch.ts'
import { named } from '../openai/model.ts'
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

/** Embeddings of any server that speaks OpenAI's interface. One try a request; the queue does the retrying. */
export function endpointEmbedder({ baseUrl, apiKey, model }: EndpointEmbedderOptions): Embedder {
  let client: OpenAI | null = null
  let dimension: number | null = null

  async function embedBatch(texts: readonly string[], signal: AbortSignal) {
    const timeout = AbortSignal.timeout(TIMEOUT_MS)
    // Made when it is needed: a command that embeds nothing needs no key.
    client ??= new OpenAI({
      baseURL: baseUrl,
      apiKey,
      maxRetries: 0,
      logLevel: 'off',
      fetch: boundedFetch(MAX_BODY_BYTES),
    })
    const read = await client.embeddings
      .create(
        { model, input: texts.map(readPart), encoding_format: 'float' },
        { signal: AbortSignal.any([signal, timeout]), timeout: TIMEOUT_MS + 1_000 },
      )
      .catch((error: unknown) => {
        throw translated(error, signal.aborted, timeout.aborted)
      })
    const { success, data } = answer.safeParse(read)
    const vectors = success ? inOrder(data.data, texts.length) : null
    if (!success || vectors === null)
      throw new RetryLaterError('unavailable', 'the endpoint sent something that is no list of embeddings')
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
    close: async () => {},
  }
}

/** The vectors by their index; null if one is missing, or one is longer than another. */
function inOrder(data: readonly { index: number; embedding: number[] }[], wanted: number): Float32Array[] | null {
  const byIndex = new Map(data.map(({ index, embedding }) => [index, Float32Array.from(embedding)]))
  const vectors = Array.from({ length: wanted }, (_, index) => byIndex.get(index))
  const whole = vectors.filter((vector) => vector !== undefined && vector.length === vectors[0]?.length)
  return whole.length === wanted ? whole.filter((vector) => vector !== undefined) : null
}

/** Says which of the two failures it is. Messages name the status and never repeat what was sent or received. */
function translated(error: unknown, stopped: boolean, timedOut: boolean): Error {
  if (stopped)
    return new RetryLaterError('aborted', 'the call was stopped', { costsAttempt: false, delayMs: 0, cause: error })
  if (timedOut || error instanceof APIConnectionTimeoutError)
    return new RetryLaterError('timeout', `no embeddings within ${TIMEOUT_MS} ms`, { cause: error })
  if (error instanceof APIUserAbortError || error instanceof APIConnectionError)
    return new RetryLaterError('unavailable', 'the endpoint could not be reached', { cause: error })
  if (!(error instanceof APIError) || error.status === undefined)
    return new RetryLaterError('unavailable', 'the endpoint sent something that is no list of embeddings', {
      cause: error,
    })
  const { status, code } = error
  if (status === 429 && code !== 'insufficient_quota') {
    const delayMs = retryAfterMs(error.headers)
    return new RetryLaterError('rate-limited', 'status 429', {
      ...(delayMs === undefined ? {} : { delayMs }),
      costsAttempt: delayMs === undefined,
      cause: error,
    })
  }
  if (status >= 500 || status === 408 || status === 409)
    return new RetryLaterError('unavailable', `status ${status}`, { cause: error })
  return new PermanentError('rejected', `embeddings: status ${status}${named(code)}`, {
    cause: error,
  })
}

/** `Retry-After` (seconds or an HTTP date) or `retry-after-ms`, in ms. */
function retryAfterMs(headers: Headers | undefined): number | undefined {
  const exact = Number(headers?.get('retry-after-ms') ?? Number.NaN)
  if (exact > 0 && Number.isFinite(exact)) return exact
  const said = headers?.get('retry-after')
  if (said === null || said === undefined) return undefined
  const seconds = Number(said)
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(said) - Date.now()
  return Number.isFinite(ms) && ms > 0 ? ms : undefined
}
