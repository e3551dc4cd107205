import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { DecodedRecord, RawRecord, RecordMapping, SourceSettings } from './source.ts'

/** A record on its way to the thread. */
export interface AskedRecord {
  readonly record: Omit<RawRecord, 'value'> & { readonly value: Uint8Array | null }
  readonly decoded: DecodedRecord
}

interface Waiting {
  readonly asked: AskedRecord
  readonly resolve: (made: RecordMapping) => void
  readonly reject: (error: unknown) => void
}

/** What a thread says first. */
export const READY = 'ready'
const WORKER = join(import.meta.dirname, `jsonata-worker${extname(import.meta.filename)}`)
/** Memory of a thread: its lists and texts, and how deep it may call. */
const LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 }
/** After so many ticks without an answer a thread is ended. Ticks: a process that was held for as long tells nothing of its thread. */
const [TICK_MS, MOST_TICKS] = [100, 20]
/** For so long the records of a partition of which one was ended are asked of a thread of their own, in ms. */
const APART_MS = 60_000

/**
 * Maps records in threads beside this one. A record that takes longer than two seconds, or more memory than a thread has, ends its thread
 * and can't be mapped. What comes after it from its partition goes to a second thread for a minute: it holds up no other.
 */
export function jsonataThreads(sources: readonly SourceSettings[]) {
  const [usual, apart] = [new MappingThread(sources), new MappingThread(sources)]
  const until = new Map<number, number>()
  return async (record: RawRecord, decoded?: DecodedRecord): Promise<RecordMapping> => {
    const { partition = -1, value, key, headers, timestamp } = record
    const asked = { record: { key, headers, timestamp, value: value === null ? null : new Uint8Array(value) }, decoded }
    const thread = (until.get(partition) ?? 0) > performance.now() ? apart : usual
    const made = await thread.ask(asked)
    if (made === ENDED.slow || made === ENDED.large) until.set(partition, performance.now() + APART_MS)
    return made
  }
}

const ENDED = {
  slow: { ok: false, why: `takes longer than ${(TICK_MS * MOST_TICKS) / 1_000} s` },
  large: { ok: false, why: `takes more than ${LIMITS.maxOldGenerationSizeMb} MB` },
} as const satisfies Record<string, RecordMapping>

/** A thread that maps one record after the other, begun anew where it had to be ended. An idle one keeps no process alive. */
class MappingThread {
  readonly #sources: readonly SourceSettings[]
  readonly #waiting: Waiting[] = []
  #worker: Worker | undefined
  #timer: NodeJS.Timeout | undefined
  #ticks = 0
  /** It has loaded what it needs. */
  #isReady = false

  constructor(sources: readonly SourceSettings[]) {
    this.#sources = sources
  }

  ask(asked: AskedRecord): Promise<RecordMapping> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ asked, resolve, reject })
      if (this.#worker === undefined) this.#begin()
      else this.#worker.postMessage(asked)
      this.#timer ??= setInterval(() => this.#tick(), TICK_MS)
      this.#worker?.ref()
    })
  }

  #begin(): void {
    const worker = new Worker(WORKER, { workerData: this.#sources, resourceLimits: LIMITS })
    this.#worker = worker
    this.#isReady = false
    const isCurrent = () => this.#worker === worker
    worker.on('message', (made: RecordMapping | typeof READY) => {
      if (!isCurrent()) return
      if (made === READY) this.#isReady = true
      else this.#settle(({ resolve }) => resolve(made))
    })
    worker.on('error', (error) => {
      if (!isCurrent()) return
      const isLarge = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
      this.#end((one) => (isLarge ? one.resolve(ENDED.large) : one.reject(error)))
    })
    for (const { asked } of this.#waiting) worker.postMessage(asked)
    if (this.#waiting.length === 0) worker.unref()
  }

  #tick(): void {
    // Its start counts for no record.
    if (this.#isReady && ++this.#ticks > MOST_TICKS) this.#end(({ resolve }) => resolve(ENDED.slow))
  }

  /** Ends the thread for its first record, and has the others done by another. */
  #end(settle: (first: Waiting) => void): void {
    void this.#worker?.terminate()
    this.#worker = undefined
    this.#settle(settle)
    if (this.#waiting.length > 0) this.#begin()
  }

  #settle(settle: (first: Waiting) => void): void {
    this.#ticks = 0
    const first = this.#waiting.shift()
    if (first !== undefined) settle(first)
    if (this.#waiting.length > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#worker?.unref()
  }
}
