import { type ChildProcess, fork } from 'node:child_process'
import { extname, join } from 'node:path'
import type { DecodedRecord, RawRecord, RecordMapping, SourceSettings } from './source.ts'

/** A record on its way to the process. */
export interface AskedRecord {
  readonly record: Omit<RawRecord, 'value'> & { readonly value: Uint8Array | null }
  readonly decoded: DecodedRecord
}

interface Waiting {
  readonly asked: AskedRecord
  readonly resolve: (made: RecordMapping) => void
  readonly reject: (error: unknown) => void
}

/** What a process says first. */
export const READY = 'ready'
const WORKER = join(import.meta.dirname, `jsonata-worker${extname(import.meta.filename)}`)
/** Memory of a process: its lists and texts, and how deep it may call. */
const MOST_MB = 64
const LIMITS = [`--max-old-space-size=${MOST_MB}`, '--max-semi-space-size=4', '--stack-size=3900']
/** How V8 ends a process that has no more memory. In a thread it would end the process of all threads. */
const OUT_OF_MEMORY: ReadonlySet<NodeJS.Signals | null> = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGSEGV'])
/** After so many ticks without an answer a process is ended. Ticks: one that was held for as long tells nothing of the other. */
const [TICK_MS, MOST_TICKS] = [100, 20]
/** For so long the records of a partition of which one was ended are asked of a process of their own, in ms. */
const APART_MS = 60_000

/**
 * Maps records in processes beside this one. A record that takes longer than two seconds, or more memory than a process has, ends its
 * process and can't be mapped. What comes after it from its partition goes to a second process for a minute: it holds up no other.
 */
export function jsonataProcesses(sources: readonly SourceSettings[]) {
  const [usual, apart] = [new MappingProcess(sources), new MappingProcess(sources)]
  const until = new Map<number, number>()
  return async (record: RawRecord, decoded?: DecodedRecord): Promise<RecordMapping> => {
    const { partition = -1, value, key, headers, timestamp } = record
    const asked = { record: { key, headers, timestamp, value: value === null ? null : new Uint8Array(value) }, decoded }
    const process = (until.get(partition) ?? 0) > performance.now() ? apart : usual
    const made = await process.ask(asked)
    if (made === ENDED.slow || made === ENDED.large) until.set(partition, performance.now() + APART_MS)
    return made
  }
}

const ENDED = {
  slow: { ok: false, why: `takes longer than ${(TICK_MS * MOST_TICKS) / 1_000} s` },
  large: { ok: false, why: `takes more than ${MOST_MB} MB` },
} as const satisfies Record<string, RecordMapping>

/** A process that maps one record after the other, begun anew where it had to be ended. An idle one keeps its parent not alive. */
class MappingProcess {
  readonly #sources: readonly SourceSettings[]
  readonly #waiting: Waiting[] = []
  #child: ChildProcess | undefined
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
      if (this.#child === undefined) this.#begin()
      else this.#send(asked)
      this.#timer ??= setInterval(() => this.#tick(), TICK_MS)
      this.#hold(true)
    })
  }

  #begin(): void {
    // It has no variables of the environment. What V8 says at its end quotes nobody, and is told in the record's letter.
    const child = fork(WORKER, {
      execArgv: LIMITS,
      env: {},
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    this.#child = child
    this.#isReady = false
    const isCurrent = () => this.#child === child
    child.on('message', (made: RecordMapping | typeof READY) => {
      if (!isCurrent()) return
      if (made === READY) this.#isReady = true
      else this.#settle(({ resolve }) => resolve(made))
    })
    child.on('error', (error) => {
      if (isCurrent()) this.#end(({ reject }) => reject(error))
    })
    // After its last answer was read, unlike 'exit'.
    child.on('close', (code, signal) => {
      if (!isCurrent()) return
      const isLarge = this.#isReady && OUT_OF_MEMORY.has(signal)
      const error = new Error(`the process of JSONata was ended by ${signal ?? code}`)
      this.#end((one) => (isLarge ? one.resolve(ENDED.large) : one.reject(error)))
    })
    this.#send(this.#sources)
    for (const { asked } of this.#waiting) this.#send(asked)
    this.#hold(this.#waiting.length > 0)
  }

  /** Where it can't be sent, the process has ended, and says so itself. */
  #send(message: object): void {
    this.#child?.send(message, () => {})
  }

  /** Whether this process waits for the other's answer before it may end. */
  #hold(isHeld: boolean): void {
    const way = isHeld ? 'ref' : 'unref'
    this.#child?.[way]()
    this.#child?.channel?.[way]()
  }

  #tick(): void {
    // Its start counts for no record.
    if (this.#isReady && ++this.#ticks > MOST_TICKS) this.#end(({ resolve }) => resolve(ENDED.slow))
  }

  /** Ends the process for its first record, and has the others done by another. */
  #end(settle: (first: Waiting) => void): void {
    this.#child?.kill('SIGKILL')
    this.#hold(false)
    this.#child = undefined
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
    this.#hold(false)
  }
}
