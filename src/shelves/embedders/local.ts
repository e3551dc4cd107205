import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { PermanentError, RetryLaterError } from '../../contracts/facts/errors.ts'
import type { Embedder } from '../../contracts/ports/library.ts'
import { readPart, weakByLength } from './characters.ts'

/** Request and response of the worker. */
export interface EmbeddingJob {
  readonly id: number
  readonly texts: readonly string[]
}
export type EmbeddingResponse = { readonly id: number } & (
  | { readonly ok: true; readonly vectors: Float32Array<ArrayBuffer>[] }
  | { readonly ok: false; readonly why: string }
)

const WORKER = join(import.meta.dirname, `english-worker${extname(import.meta.filename)}`)
/** Texts in one message: other requests are served between messages. */
const BATCH = 16
/** From this share of letters in other scripts on, a text is not English. */
const FOREIGN = 0.3

/**
 * A small English model inside an npm package: no network, no key, no tokens to pay for. It runs in its own thread,
 * which starts with `prepare` or the first text and ends with `close`; an idle thread keeps no process alive.
 */
export function localEmbedder(): Embedder {
  let thread: ReturnType<typeof startThread> | null = null

  function running(): ReturnType<typeof startThread> {
    if (thread === null || thread.ended()) thread = startThread()
    return thread
  }

  return {
    name: 'energetic-ai/en',
    dimension: 512,
    weakFor(text, lang) {
      return weakBySigns(text) ?? weakByLanguage(text, lang) ?? weakByLength(text)
    },
    async embed(texts, signal) {
      const vectors: Float32Array[] = []
      for (let at = 0; at < texts.length; at += BATCH) {
        if (signal.aborted) throw stopped()
        vectors.push(...(await running().embed(texts.slice(at, at + BATCH).map(readPart), signal)))
      }
      return { vectors, tokens: 0 }
    },
    prepare: () => void running(),
    async close() {
      const closing = thread
      thread = null
      await closing?.stop()
    },
  }
}

function startThread() {
  // The model's library writes a few words to the console; they are kept from it. Reading them would keep this process
  // alive.
  const worker = new Worker(WORKER, { stdout: true, stderr: true })
  const open = new Map<number, { resolve: (vectors: Float32Array[]) => void; reject: (error: Error) => void }>()
  let ended = false
  let ids = 0
  worker.unref()

  const settle = (id: number) => {
    const waiting = open.get(id)
    open.delete(id)
    if (open.size === 0) worker.unref()
    return waiting
  }
  const end = (cause?: unknown) => {
    ended = true
    for (const id of [...open.keys()])
      settle(id)?.reject(new RetryLaterError('unavailable', 'the local embedder stopped unexpectedly', { cause }))
  }
  worker.on('message', (answer: EmbeddingResponse) => {
    const waiting = settle(answer.id)
    if (answer.ok) waiting?.resolve(answer.vectors)
    else waiting?.reject(new PermanentError('library', `the local embedder failed: ${answer.why}`))
  })
  worker.on('error', end)
  worker.on('exit', () => end())

  return {
    ended: () => ended,
    embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
      const id = ++ids
      return new Promise<Float32Array[]>((resolve, reject) => {
        const abort = () => settle(id)?.reject(stopped())
        const quiet = () => signal.removeEventListener('abort', abort)
        signal.addEventListener('abort', abort, { once: true })
        open.set(id, {
          resolve: (vectors) => {
            quiet()
            resolve(vectors)
          },
          reject: (error) => {
            quiet()
            reject(error)
          },
        })
        worker.ref()
        worker.postMessage({ id, texts } satisfies EmbeddingJob)
      })
    },
    async stop(): Promise<void> {
      await worker.terminate()
    },
  }
}

function stopped(): RetryLaterError {
  return new RetryLaterError('aborted', 'the call was stopped', { costsAttempt: false, delayMs: 0 })
}

/** Of all emoji it makes one vector. */
function weakBySigns(text: string): string | null {
  if (text.trim() === '' || /[\p{L}\p{N}]/u.test(text)) return null
  return 'the embedder knows letters and digits only, so that neighbours of this text are weak'
}

/**
 * Judged by the author's language tag, and by the script whatever the tag is: other languages in Latin letters pass as English.
 * Links and names are no words: a Korean remark beside a long address is Korean.
 */
function weakByLanguage(text: string, lang: string | undefined): string | null {
  const weak = 'the embedder knows English only, so that neighbours of this text are weak'
  if (lang !== undefined && !/^(und)?$/i.test(lang) && !/^eng?\b/i.test(lang)) return `${weak} (${lang.slice(0, 35)})`
  const words = text.replace(/https?:\/\/\S+|@\S+/g, ' ')
  const letters = words.match(/\p{L}/gu)?.length ?? 0
  const latin = words.match(/\p{Script=Latin}/gu)?.length ?? 0
  return letters > 0 && (letters - latin) / letters > FOREIGN ? weak : null
}
