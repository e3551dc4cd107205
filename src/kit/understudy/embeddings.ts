import { z } from 'zod'
import { hash } from './hash.ts'
import { isPlain, stemOf, termsOf } from './terms.ts'

/** Length of the understudy's vectors where the request names none. */
const DIMENSIONS = 64
/** Words like `the` are in every text and should bring few together. */
const PLAIN_WEIGHT = 0.15

/** What the understudy reads of an Embeddings request; everything else in one is accepted and ignored. */
export const embeddingRequest = z.looseObject({
  model: z.string().optional(),
  input: z.union([z.string(), z.array(z.string()).min(1).max(2048)], { error: 'must be a text or a list of texts' }),
  dimensions: z.int().min(1).max(4096).default(DIMENSIONS),
  // The openai package asks for base64 unless it is configured otherwise.
  encoding_format: z.enum(['float', 'base64']).default('float'),
})

type EmbeddingRequest = z.infer<typeof embeddingRequest>

/** The texts of a request. */
export function textsOf({ input }: EmbeddingRequest): string[] {
  return typeof input === 'string' ? [input] : input
}

/** The `data` of an Embeddings response, one vector a text, in their order. */
export function embeddingData(request: EmbeddingRequest) {
  return textsOf(request).map((text, index) => {
    const vector = embed(text, request.dimensions)
    return { object: 'embedding', index, embedding: request.encoding_format === 'base64' ? base64(vector) : vector }
  })
}

/** Little-endian 32-bit floats, as the interface has them. */
function base64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4)
  return bytes.toString('base64')
}

/** A unit vector of the text's words and their stems, hashed into signed buckets: texts that share words lie near each other. */
export function embed(text: string, dimensions = DIMENSIONS): number[] {
  const vector = new Array<number>(dimensions).fill(0)
  const add = (feature: string, weight: number) => {
    const bucket = hash(feature) % dimensions
    vector[bucket] = (vector[bucket] ?? 0) + (hash(feature, 1) % 2 === 0 ? weight : -weight)
  }
  for (const term of termsOf(text)) {
    if (isPlain(term)) {
      add(term, PLAIN_WEIGHT)
      continue
    }
    add(term, 1)
    add(`${stemOf(term)}…`, 1)
  }
  const length = Math.hypot(...vector)
  // No words, or words that cancel out: any fixed direction keeps the promise of a unit vector.
  if (length === 0) return vector.with(0, 1)
  return vector.map((value) => value / length)
}
