import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { RecordDamaged, RecordFull } from '../../contracts/ports/record.ts'
import type { QueueRules } from '../review-queue.ts'
import { PictureTables } from './pictures.ts'
import { RecordReads } from './reads.ts'
import { ReviewReservations } from './reservations.ts'
import { RecordTables, type TableSettings } from './tables.ts'

/** Which half of the record is asked, over which file. */
export type ServedHalf =
  | { readonly half: 'tables'; readonly settings: TableSettings }
  | { readonly half: 'reads'; readonly path: string }
  | ({ readonly half: 'reservations'; readonly path: string } & QueueRules)
  | { readonly half: 'pictures'; readonly path: string }

/** A call of one method; the answers come in the order of the calls. */
export interface MethodCall {
  readonly method: string
  readonly args: readonly unknown[]
}
export type MethodResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly name: string; readonly message: string }

/** Answers calls of a half, which opens its file at the first. */
export function answering(served: ServedHalf): (asked: MethodCall) => MethodResult {
  let half: WorkingHalf | undefined
  return ({ method, args }) => {
    try {
      half ??= halfOf(served)
      // The caller's port names the methods; a message carries their names as text.
      const called = half as unknown as Record<string, (...args: readonly unknown[]) => unknown>
      return { ok: true, value: called[method as 'close']?.apply(half, [...args]) }
    } catch (error) {
      const { name, message } = error instanceof Error ? error : new Error(String(error))
      return { ok: false, name, message }
    }
  }
}

type WorkingHalf = RecordTables | RecordReads | ReviewReservations | PictureTables

function halfOf(served: ServedHalf): WorkingHalf {
  if (served.half === 'tables') return new RecordTables(served.settings)
  if (served.half === 'pictures') return new PictureTables(served.path)
  return served.half === 'reads' ? new RecordReads(served.path) : new ReviewReservations(served)
}

/** A half of the record, wherever it works. */
export interface Half {
  ask(asked: MethodCall): Promise<unknown>
  close(): Promise<void>
}
export type StartHalf = (served: ServedHalf) => Half

const WORKER = join(import.meta.dirname, `record-worker${extname(import.meta.filename)}`)

/** A thread that has died is begun again by the next question, but not within this time of its beginning, in ms. */
const AGAIN_AFTER_MS = 1_000

/** A half in a thread of its own. An idle thread keeps no process alive; one that dies takes the questions that it was asked with it. */
export const threadHalf: StartHalf = (served) => {
  let thread = startThread(served)
  let isClosed = false
  return {
    ask(asked) {
      if (!isClosed && thread.hasDied() && performance.now() - thread.begun >= AGAIN_AFTER_MS)
        thread = startThread(served)
      return thread.ask(asked)
    },
    close() {
      isClosed = true
      return thread.close()
    },
  }
}

function startThread(served: ServedHalf) {
  const worker = new Worker(WORKER, { workerData: served })
  const waiting: { resolve: (value: unknown) => void; reject: (error: Error) => void }[] = []
  let gone: Error | null = null
  worker.unref()
  const settled = () => {
    const one = waiting.shift()
    if (waiting.length === 0) worker.unref()
    return one
  }
  const end = (error: Error) => {
    gone ??= error
    for (let one = settled(); one !== undefined; one = settled()) one.reject(error)
  }
  worker.on('message', (answer: MethodResult) => {
    const one = settled()
    if (answer.ok) one?.resolve(answer.value)
    else one?.reject(errorOf(answer))
  })
  worker.on('error', (error) => end(error instanceof Error ? error : new Error(String(error))))
  worker.on('exit', () => end(new Error("the record's thread has ended")))
  const ask = (asked: MethodCall) =>
    new Promise<unknown>((resolve, reject) => {
      if (gone !== null) return reject(gone)
      waiting.push({ resolve, reject })
      worker.ref()
      worker.postMessage(asked)
    })
  return {
    begun: performance.now(),
    hasDied: () => gone !== null,
    ask,
    async close() {
      if (gone === null) await ask({ method: 'close', args: [] }).catch(() => undefined)
      await worker.terminate()
    },
  }
}

/** The same without a thread: the caller waits for it. */
export const sameThreadHalf: StartHalf = (served) => {
  const answer = answering(served)
  const ask = async (asked: MethodCall) => {
    const answered = answer(asked)
    if (!answered.ok) throw errorOf(answered)
    return answered.value
  }
  return { ask, close: async () => void (await ask({ method: 'close', args: [] })) }
}

function errorOf({ name, message }: Extract<MethodResult, { ok: false }>): Error {
  if (name === 'RecordDamaged') return new RecordDamaged(message)
  if (name === 'RecordFull') return new RecordFull(message)
  return new Error(message)
}
