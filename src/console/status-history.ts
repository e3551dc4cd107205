import type { SmallFigure } from './figures.ts'
import type { ReplicaReport, ServiceStatus } from './health.ts'
import { usd } from './notes.ts'
import { TEXTS } from './texts.ts'

/** One a minute: those of an hour. */
const MOST = 60

/** How the service stood in the last hour, as far as this process has looked. */
export class StatusHistory {
  readonly #seen: ServiceStatus[] = []

  note(status: ServiceStatus): void {
    this.#seen.push(status)
    if (this.#seen.length > MOST) this.#seen.shift()
  }

  /** What the dashboards show first, until `now`. */
  figures(now: ServiceStatus): SmallFigure[] {
    const all = [...this.#seen.filter(({ at }) => at < now.at), now]
    const { figures } = TEXTS.health
    return [
      counted(figures.verdicts, aMinute(all, published), (rate) => String(Math.round(rate))),
      counted(
        figures.unread,
        all.map(({ lag }) => sumOf(lag?.map(({ messages }) => messages))),
      ),
      counted(
        figures.questions,
        all.map(({ stages }) =>
          sumOf(stages?.map(({ states: { waiting, active, delayed } }) => waiting + active + delayed)),
        ),
      ),
      counted(figures.oldest, all.map(oldestOf), (seconds) => `${Math.round(seconds)} s`),
      counted(
        figures.busy,
        all.map(({ replicas }) => sumOf(replicas.map(({ says }) => says?.slots.busy ?? 0))),
      ),
      counted(
        figures.cases,
        all.map(({ openCases }) => openCases),
      ),
      counted(
        figures.outbox,
        all.map(({ outbox }) => outbox?.size ?? null),
      ),
      counted(figures.cost, aMinute(all, spent), usd),
    ]
  }
}

/** What is not known is no bar, and a question mark at the end. */
function counted(
  name: string,
  values: readonly (number | null)[],
  says: (value: number) => string = String,
): SmallFigure {
  const [known, last] = [values.map((value) => value ?? 0), values.at(-1) ?? null]
  return {
    name,
    values: known,
    value: last === null ? '?' : says(last),
    most: TEXTS.strip.most(says(Math.max(...known))),
  }
}

/** By how much a count of all processes grew a minute; of each since it was last heard of, for some look is without an answer. */
function aMinute(all: readonly ServiceStatus[], of: (says: ReplicaReport) => number): number[] {
  const heard = new Map<string, { readonly at: number; readonly count: number }>()
  return all.map(({ at, replicas }) => {
    const rates = replicas.map(({ url, says }) => {
      if (says === null) return 0
      const [count, before] = [of(says), heard.get(url)]
      heard.set(url, { at, count })
      // One that has started anew counts from there.
      if (before === undefined || at <= before.at) return 0
      return (Math.max(0, count - before.count) * 60_000) / (at - before.at)
    })
    return rates.reduce((sum, rate) => sum + rate, 0)
  })
}

const published = (says: ReplicaReport) => says.published.verdicts
const spent = (says: ReplicaReport) => says.costUsd

function oldestOf({ lag, stages }: ServiceStatus): number | null {
  if (lag === null || stages === null) return null
  return Math.max(
    0,
    ...lag.map(({ seconds }) => seconds ?? 0),
    ...stages.map(({ oldestWaitingSeconds }) => oldestWaitingSeconds),
  )
}

function sumOf(values: readonly number[] | undefined): number | null {
  return values?.reduce((sum, one) => sum + one, 0) ?? null
}
