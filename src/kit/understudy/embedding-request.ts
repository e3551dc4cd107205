import { z } from 'zod'
import { DIMENSIONS, embed } from './embeddings.ts'

/** What the understudy reads of an Embeddings request; everything else in one is accepted and ignored. */
export const embeddingRequest = z.looseObject({
  model: z.string().optional(),
  input: z.union([z.string(), z.array(z.string()).min(1).max(2048)], { error: 'must be a text or a list of texts' }),
  dimensions: z.int().min(1).max(4096).default(DIMENSIONS),
  // The openai package asks for base64 unless told otherwise.
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
