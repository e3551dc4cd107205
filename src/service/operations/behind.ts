import type { Clock } from '../ports/clock.ts'
import type { Events, Listener, OverdueAt, Report } from '../ports/report.ts'

/** With fewer overdue than this the service is not called behind: a single case that is stuck is another matter. */
const BEHIND_AT = 10
/** …and not before it has been so for this long, as it has not caught up before the contrary has been, in ms. */
const STEADY_MS = 20_000
/** A process that has not exported the shared state for longer than this knows nothing of what was before, in ms. */
const FORGOTTEN_MS = 300_000

const ADVICE =
  'verdicts are overdue (objectives.latency). Earlier log lines name the cause; nothing is lost. docs/runbooks/GavelVerdictsLate.md'

/** Reports, from what this process exports of the shared state, when the service falls behind and when it has caught up. */
export function behindReport(report: Report, clock: Clock): Listener {
  let counts: Record<OverdueAt, number> = { kafka: 0, due: 0, open: 0, outbox: 0 }
  let behind: { readonly since: number; most: number } | null = null
  let changing: number | null = null
  let looked = Number.NEGATIVE_INFINITY

  function look(): void {
    const now = clock()
    if (now - looked > FORGOTTEN_MS) [behind, changing] = [null, null]
    looked = now
    const sum = Object.values(counts).reduce((all, count) => all + count, 0)
    if (behind !== null) behind.most = Math.max(behind.most, sum)
    const isBehind = sum >= BEHIND_AT
    if (isBehind === (behind !== null)) {
      changing = null
      return
    }
    changing ??= now
    if (now - changing < STEADY_MS) return
    if (behind === null) {
      behind = { since: changing, most: sum }
      report('service:behind', { overdue: counts, advice: ADVICE })
    } else {
      const { since, most: mostOverdue } = behind
      const afterSeconds = Math.round((changing - since) / 1000)
      behind = null
      report('service:caught-up', {
        ...{ since: new Date(since).toISOString(), afterSeconds, mostOverdue, left: sum },
      })
    }
    changing = null
  }

  return (name, event) => {
    if (name === 'kafka:lag') counts = { ...counts, kafka: (event as Events['kafka:lag']).overdue ?? 0 }
    if (name !== 'state:counted') return
    const next = { ...counts, due: 0, open: 0, outbox: 0 }
    for (const { at, count } of (event as Events['state:counted']).overdue) next[at] += count
    counts = next
    look()
  }
}
