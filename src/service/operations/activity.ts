import type { Events, Listener } from '../ports/report.ts'

/** Events that tell what a look has seen, also where nothing happens. */
const LOOKS: ReadonlySet<keyof Events> = new Set<keyof Events>([
  'capacity:used',
  'consumer:watched',
  'kafka:lag',
  'loop:succeeded',
  'protocol:watched',
  'slots:counted',
  'stage:backlog',
  'state:counted',
  'state:exported',
  'store:watched',
  'webhooks:counted',
])
/** A process in which nothing has happened for this long is quiet, in ms. */
const QUIET_AFTER_MS = 5_000

/** Whether anything happens in this process. */
export interface Activity {
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
