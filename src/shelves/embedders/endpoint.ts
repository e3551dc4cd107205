import { createHash } from 'node:crypto'
import type OpenAI from 'openai'
import { z } from 'zod'
import { cut } from '../../contracts/facts/cut.ts'
import { PermanentError, RetryLaterError } from '../../contracts/facts/errors.ts'
import type { Embedder, TextPart } from '../../contracts/ports/library.ts'
import { Endpoint, type ServerSettings } from '../../models/openai/endpoint.ts'
import { readPart, weakByLength } from './characters.ts'

export interface EndpointEmbedderOptions {
  readonly server: ServerSettings
  readonly model: string
  /** How the settings call it, if not as its endpoint does. */
  readonly name?: string
  /** What stands before each text, as its model was trained; they are part of the embedder's name. */
  readonly prefixes?: Prefixes
}

export type Prefixes = Readonly<Record<TextPart, string>>

interface Prefixed {
  readonly text: string
  readonly prefix: string
}

const NO_PREFIXES: Prefixes = { query: '', document: '' }

/** Texts in one request, as long as the endpoint refuses none for it. */
const BATCH = 256
/** How much of a text is tried, in characters, where all that is read of it is refused: models differ in what they take. */
const SHORTER = [2_000, 1_000, 400]
/** Longest wait for one answer, in ms. */
const TIMEOUT_MS = 60_000
/** Most numbers of a vector, four times as many as those of any model that we know. */
const MOST_NUMBERS = 16_384
/** Longest response for each text, in bytes: so many numbers, as JSON; and what may stand around them. */
const BYTES_EACH = 24 * MOST_NUMBERS
const BYTES_AROUND = 2 ** 16

/** What is in the response's lists is checked by `vectorsIn`: a schema takes a thousand times as long for a list of numbers. */
const answer = z.object({
  data: z.custom<readonly unknown[]>(Array.isArray),
  usage: z
    .object({ prompt_tokens: z.number().catch(0) })
    .nullish()
    .catch(null),
})

/** Embeddings from any server with OpenAI's interface. One try per request; the queue retries. */
export function endpointEmbedder({
  server: at,
  model,
  name = model,
  prefixes = NO_PREFIXES,
}: EndpointEmbedderOptions): Embedder {
  const server = new Endpoint<OpenAI.EmbeddingCreateParams>(at, {
    path: '/embeddings',
    maxBytes: ({ input }) => input.length * BYTES_EACH + BYTES_AROUND,
    maxParts: 10 * BATCH,
  })
  let dimension: number | null = null
  /** Most texts in one request, learnt from refusals. */
  let most = BATCH

  type Embedded = Awaited<ReturnType<typeof embedBatch>>

  /**
   * Where the endpoint refuses a batch, its halves are asked: it holds too many texts, which is learnt if both are taken, or one that
   * is too long, of which less is read.
   */
  async function embedFitting(texts: readonly Prefixed[], signal: AbortSignal): Promise<Embedded> {
    return embedBatch(texts, signal).catch((error: unknown) => divided(texts, signal, error))
  }

  async function divided(texts: readonly Prefixed[], signal: AbortSignal, refusal: unknown): Promise<Embedded> {
    if (!(refusal instanceof PermanentError) || refusal.operatorAction !== undefined) throw refusal
    const [only] = texts
    if (only === undefined || texts.length === 1) return shortened(only ?? { text: '', prefix: '' }, signal, refusal)
    const half = Math.ceil(texts.length / 2)
    const halves = [texts.slice(0, half), texts.slice(half)]
    const asked = await Promise.allSettled(halves.map((part) => embedBatch(part, signal)))
    if (asked.every(({ status }) => status === 'fulfilled')) most = Math.min(most, half)
    const parts: Embedded[] = []
    for (const [at, part] of asked.entries())
      parts.push(part.status === 'fulfilled' ? part.value : await divided(halves[at] ?? [], signal, part.reason))
    return {
      vectors: parts.flatMap(({ vectors }) => vectors),
      tokens: parts.reduce((sum, { tokens }) => sum + tokens, 0),
    }
  }

  async function shortened(
    { text, prefix }: Prefixed,
    signal: AbortSignal,
    refusal: PermanentError,
  ): Promise<Embedded> {
    for (const length of SHORTER.filter((one) => one < readPart(text).length)) {
      try {
        return await embedBatch([{ text: cut(text, length).text, prefix }], signal)
      } catch (error) {
        if (!(error instanceof PermanentError) || error.operatorAction !== undefined) throw error
      }
    }
    throw refusal
  }

  async function embedBatch(texts: readonly Prefixed[], signal: AbortSignal) {
    const input = texts.map(({ text, prefix }) => `${prefix}${readPart(text)}`)
    const body: OpenAI.EmbeddingCreateParams = { model, input, encoding_format: 'float' }
    const read = await server.post(body, signal, TIMEOUT_MS).catch((error: unknown) => {
      if (error instanceof PermanentError)
        throw new PermanentError('rejected', `embeddings: ${error.message}`, {
          cause: error,
          operatorAction: error.operatorAction,
        })
      throw error
    })
    const { success, data } = answer.safeParse(read)
    const vectors = success ? vectorsIn(data.data, texts.length) : null
    if (!success || vectors === null)
      throw new RetryLaterError('unavailable', 'the response is not a list of embeddings')
    return { vectors, tokens: data.usage?.prompt_tokens ?? 0 }
  }

  return {
    name: `endpoint:${name}${suffixOf(prefixes)}`,
    get dimension() {
      return dimension
    },
    weakFor: weakByLength,
    async embed(texts, signal, as = 'document') {
      const vectors: Float32Array[] = []
      let tokens = 0
      for (let at = 0; at < texts.length; ) {
        const part = texts.slice(at, at + most)
        const batch = await embedFitting(
          part.map((text) => ({ text, prefix: prefixes[as] })),
          signal,
        )
        vectors.push(...batch.vectors)
        tokens += batch.tokens
        at += part.length
      }
      dimension ??= vectors[0]?.length ?? null
      return { vectors, tokens }
    },
    prepare() {},
    close: async () => {},
  }
}

/** Vectors made with other prefixes are never compared. */
function suffixOf({ query, document }: Prefixes): string {
  if (query === '' && document === '') return ''
  return `#${createHash('sha256')
    .update(JSON.stringify([query, document]))
    .digest('hex')
    .slice(0, 8)}`
}

/** The vectors by their index; null if one is missing, or is none, or their lengths differ. */
function vectorsIn(data: readonly unknown[], wanted: number): Float32Array[] | null {
  const byIndex = new Map(data.slice(0, wanted).map(vectorIn))
  const vectors = Array.from({ length: wanted }, (_, index) => byIndex.get(index))
  const whole = vectors.filter((vector) => vector != null && vector.length === vectors[0]?.length)
  return whole.length === wanted ? whole.filter((vector) => vector != null) : null
}

function vectorIn(one: unknown): [index: unknown, vector: Float32Array | null] {
  const { index, embedding } = (one ?? {}) as { index?: unknown; embedding?: unknown }
  if (!Array.isArray(embedding) || embedding.length === 0 || embedding.length > MOST_NUMBERS) return [index, null]
  return [index, embedding.every((number) => Number.isFinite(number)) ? Float32Array.from(embedding) : null]
}
