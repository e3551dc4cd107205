import type { ErrorPlace, Events, Listener, Report } from '../contracts/ports/report.ts'
import { loopTime } from './loop-time.ts'

/** A task that runs repeatedly until it is stopped. */
export interface Loop {
  /** Runs the task now, or once more after the current run. */
  wake(): void
  /** Ends a quiet time's longer wait: the next run comes after the usual wait, or sooner. */
  stir(): void
  /** Resolves when the current run has ended. */
  stop(): Promise<void>
}

/** How long a loop waits between two runs, in ms: usually, and while nothing happens in this process. */
interface Pace {
  readonly ms: number
  readonly quietMs: number
  readonly quiet: () => boolean
}

/** Runs `task` at this pace, one run at a time; a failed run is passed to `onError`, and the loop continues. */
function every(
  { ms, quietMs, quiet }: Pace,
  task: () => Promise<unknown>,
  onError: (error: unknown) => void,
  succeeded: () => void,
): Loop {
  let stopped = false
  let again = false
  let rouse = () => {}
  let stir = () => {}
  async function run(): Promise<void> {
    while (!stopped) {
      await task().then(succeeded, onError)
      if (stopped) return
      if (!again)
        await new Promise<void>((resolve) => {
          const wait = quiet() ? quietMs : ms
          const due = performance.now() + wait
          let timer = setTimeout(resolve, wait)
          rouse = () => {
            clearTimeout(timer)
            resolve()
          }
          stir = () => {
            clearTimeout(timer)
            // Not at once: what has happened goes before what all loops would do in the same moment.
            timer = setTimeout(resolve, Math.min(ms, Math.max(0, due - performance.now())))
          }
        })
      stir = () => {}
      again = false
    }
  }
  const running = run()
  function wake(): void {
    again = true
    rouse()
  }
  return {
    wake,
    stir: () => stir(),
    stop() {
      stopped = true
      wake()
      return running
    },
  }
}

/** Named tasks that run repeatedly. */
export interface Loops {
  /**
   * Runs `task` every `ms` until all loops are closed, and every `quietMs` while nothing happens in this process; a failed
   * run is reported under the name.
   */
  start(name: ErrorPlace, ms: number, task: () => Promise<unknown>, quietMs?: number): Loop
  /** The loop whose current run has lasted longest, and for how many ms; null if none is in a run. */
  longestRun(): { readonly loop: string; readonly ms: number } | null
  /** Stops all loops. A run that hangs delays no one else's shutdown: it is reported and abandoned. */
  close(): Promise<void>
}

/** How long a loop may take to stop, in ms, and how long at most where this process lags. */
const [LOOP_ENDS_MS, LAGGING_ENDS_MS] = [500, 3_000]

/** `activity`: of this process; never quiet if left out. */
export function namedLoops(report: Report, activity?: Activity): Loops {
  const loops = new Map<ErrorPlace, Loop>()
  /** By loop: when its current run began, ms on a clock that never jumps. */
  const began = new Map<ErrorPlace, number>()
  activity?.onStir(() => {
    for (const loop of loops.values()) loop.stir()
  })
  return {
    start(name, ms, given, quietMs = ms) {
      const task = async () => {
        began.set(name, performance.now())
        try {
          await given()
        } finally {
          began.delete(name)
        }
      }
      // A loop that never succeeds is as old as its start.
      report('loop:succeeded', { loop: name })
      const started = every(
        { ms, quietMs, quiet: () => activity?.quiet ?? false },
        task,
        (error) => report('error', { where: name, error }),
        () => report('loop:succeeded', { loop: name }),
      )
      loops.set(name, started)
      return started
    },
    longestRun() {
      const [first] = [...began].sort(([, a], [, b]) => a - b)
      return first === undefined ? null : { loop: first[0], ms: performance.now() - first[1] }
    },
    async close() {
      const running = new Set(loops.keys())
      const begun = performance.now()
      const ended = [...loops].map(([name, each]) => each.stop().then(() => running.delete(name)))
      await Promise.race([Promise.all(ended), loopTime(LOOP_ENDS_MS, LAGGING_ENDS_MS)])
      const ms = Math.round(performance.now() - begun)
      for (const name of running)
        report('error', { where: name, error: new Error(`loop did not stop within ${ms} ms; abandoned`) })
    },
  }
}

/** Events that tell what a look has seen, also where nothing happens. */
const LOOKS: ReadonlySet<keyof Events> = new Set<keyof Events>([
  'capacity:used',
  'certificate:looked-at',
  'consumer:watched',
  'kafka:lag',
  'loop:succeeded',
  'lane:audited',
  'lane:watched',
  'protocol:watched',
  'slots:counted',
  'jetstream:watched',
  'stage:backlog',
  'state:counted',
  'state:exported',
  'store:watched',
  'webhooks:counted',
])
/** A process in which nothing has happened for this long is quiet, in ms. */
const QUIET_AFTER_MS = 5_000

/** Whether anything happens in this process. */
interface Activity {
  readonly quiet: boolean
  /** Calls back whenever something happens after a quiet time. */
  onStir(stir: () => void): void
}

/** The activity of a process by its events: all count but those that only tell what a look has seen. */
export function activity(now: () => number = () => performance.now()): Activity & { readonly listen: Listener } {
  const stirs: (() => void)[] = []
  let last = now()
  const isQuiet = () => now() - last > QUIET_AFTER_MS
  return {
    get quiet() {
      return isQuiet()
    },
    onStir(stir) {
      stirs.push(stir)
    },
    listen(name) {
      if (LOOKS.has(name)) return
      const was = isQuiet()
      last = now()
      if (was) for (const stir of stirs) stir()
    },
  }
}
