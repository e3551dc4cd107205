import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { DecodedRecord, RawRecord, RecordMapping, SourceSettings } from './source.ts'

/** A record on its way to the process. */
export interface AskedRecord {
  readonly record: Omit<RawRecord, 'value'> & { readonly value: Uint8Array | null }
  readonly decoded: DecodedRecord
}

interface Waiting {
  readonly partition: number
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
/** A process has so many records at a time: one that it maps, and those that it goes on with. */
const SENT_AT_ONCE = 8
/** How often is looked how long a record takes, in ms. */
const TICK_MS = 100
/** Most processor time of a record, in ms… */
const MOST_MS = 2_000
/** …and where other partitions wait. */
const MOST_SHARED_MS = 200
/** For so long is a partition of which a record took more than that asked of another process, in ms. */
const APART_MS = 60_000

/**
 * Maps records in processes beside this one, partitions in turn. A record that takes more than two seconds of processor time, or more
 * memory than a process has, ends its process and can't be mapped. One that takes more than a part of a second goes to a second process,
 * with all that waits of its partition, and what comes of it for a minute: there it holds up none but others of its kind.
 */
export function jsonataProcesses(sources: readonly SourceSettings[]) {
  const until = new Map<number, number>()
  const isApart = (partition: number) => (until.get(partition) ?? 0) > performance.now()
  const separate = (partition: number) => void until.set(partition, performance.now() + APART_MS)
  const apart = new MappingProcess(sources, separate)
  const usual = new MappingProcess(sources, separate, apart)
  return (record: RawRecord, decoded?: DecodedRecord): Promise<RecordMapping> => {
    const { partition = -1, value, key, headers, timestamp } = record
    const asked = { record: { key, headers, timestamp, value: value === null ? null : new Uint8Array(value) }, decoded }
    return new Promise((resolve, reject) => {
      const process = isApart(partition) ? apart : usual
      process.ask({ partition, asked, resolve, reject })
    })
  }
}

/**
 * A process that maps one record after the other, of partitions in turn, begun anew where it had to be ended. An idle one keeps its
 * parent not alive.
 */
class MappingProcess {
  readonly #sources: readonly SourceSettings[]
  /** Called with the partition of a record that took much. */
  readonly #costly: (partition: number) => void
  /** Where what waits of that partition goes; absent where it stays. */
  readonly #apart: MappingProcess | undefined
  /** Asked, and answered in this order. */
  readonly #sent: Waiting[] = []
  /** By partition, whose turns go by the order of the map. */
  readonly #queues = new Map<number, Waiting[]>()
  #child: ChildProcess | undefined
  #timer: NodeJS.Timeout | undefined
  /** Since when, by its processor's time in ms, it is at its first record; undefined until that was looked at. */
  #since: number | undefined
  /** It has loaded what it needs. */
  #isReady = false

  constructor(sources: readonly SourceSettings[], costly: (partition: number) => void, apart?: MappingProcess) {
    this.#sources = sources
    this.#costly = costly
    this.#apart = apart
  }

  ask(one: Waiting): void {
    const queue = this.#queues.get(one.partition)
    if (queue === undefined) this.#queues.set(one.partition, [one])
    else queue.push(one)
    if (this.#child === undefined) this.#begin()
    else this.#next()
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS)
    this.#hold(true)
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
    this.#since = undefined
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
      this.#end((one) => {
        if (!isLarge) return one.reject(error)
        one.resolve(ENDED.large)
        this.#leave(one)
      })
    })
    this.#send(this.#sources)
    this.#next()
    this.#hold(this.#sent.length > 0)
  }

  /** Sends it what waits, as far as it has room: a record of each partition in turn. */
  #next(): void {
    for (const [partition, queue] of this.#queues) {
      if (this.#sent.length >= SENT_AT_ONCE) return
      const [first] = queue.splice(0, 1)
      this.#queues.delete(partition)
      // At the end of the map: this loop comes to it again.
      if (queue.length > 0) this.#queues.set(partition, queue)
      if (first === undefined) continue
      this.#sent.push(first)
      this.#send(first.asked)
    }
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
    const [child, since] = [this.#child, this.#since]
    // What it has answered meanwhile is read first.
    setImmediate(() => {
      if (child === undefined || child !== this.#child || since !== this.#since || !this.#isReady) return
      const now = processorMs(child)
      this.#since ??= now ?? undefined
      if (now === null || this.#since === undefined) return
      if (now - this.#since > (this.#apart === undefined ? MOST_MS : MOST_SHARED_MS)) this.#endSlow()
    })
  }

  /** Ends it for a record that takes too long, or too long to be mapped here. */
  #endSlow(): void {
    const [first] = this.#sent
    if (this.#apart === undefined) this.#sent.shift()?.resolve(ENDED.slow)
    this.#putBack()
    if (first !== undefined) this.#leave(first)
    this.#restart()
  }

  /** Has what waits of this record's partition mapped apart. */
  #leave({ partition }: Waiting): void {
    this.#costly(partition)
    if (this.#apart === undefined) return
    for (const one of this.#queues.get(partition) ?? []) this.#apart.ask(one)
    this.#queues.delete(partition)
  }

  /** Ends it for its first record, and has the others done by another. */
  #end(settle: (first: Waiting) => void): void {
    const first = this.#sent.shift()
    this.#putBack()
    if (first !== undefined) settle(first)
    this.#restart()
  }

  /** What was sent waits again, before all else of its partition. */
  #putBack(): void {
    for (const one of this.#sent.splice(0).reverse()) {
      const queue = this.#queues.get(one.partition)
      if (queue === undefined) this.#queues.set(one.partition, [one])
      else queue.unshift(one)
    }
  }

  #restart(): void {
    this.#child?.kill('SIGKILL')
    this.#hold(false)
    this.#child = undefined
    if (this.#queues.size > 0) this.#begin()
    else this.#rest()
  }

  #settle(settle: (first: Waiting) => void): void {
    this.#since = undefined
    const first = this.#sent.shift()
    if (first !== undefined) settle(first)
    this.#next()
    if (this.#sent.length === 0) this.#rest()
  }

  #rest(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#hold(false)
  }
}

const ENDED = {
  slow: { ok: false, why: `takes longer than ${MOST_MS / 1_000} s` },
  large: { ok: false, why: `takes more than ${MOST_MB} MB` },
} as const satisfies Record<string, RecordMapping>

/**
 * Time that a process had on processors, in ms: a busy machine makes no record long. Where the system does not tell it, time that passed.
 * Null where it has ended.
 */
function processorMs({ pid }: ChildProcess): number | null {
  if (process.platform !== 'linux') return performance.now()
  try {
    // The name of the program may hold anything but the last parenthesis. Linux counts in hundredths of a second.
    const [, after = ''] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? []
    const [user = 0, system = 0] = after.split(' ').slice(11, 13).map(Number)
    return 10 * (user + system)
  } catch {
    return null
  }
}
