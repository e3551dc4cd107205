import type { OutageReason } from '../contracts/facts/errors.ts'
import { namesOf, remedyFor } from '../contracts/facts/model-name.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { Report } from '../contracts/ports/report.ts'
import type { BreakerChange } from './breaker.ts'

/** A model that is called again for less than this, in ms, has not come back: one that flickers is reported once. */
const STEADY_MS = 20_000

export interface BreakerReport {
  changed(change: BreakerChange): void
  /** Reports models that have answered again for long enough. */
  poll(): void
}

/**
 * Reports what breakers do: each change; once when a model is left alone for a reason; and once when it answers again, and goes
 * on to. `setting` is the one that names the models.
 */
export function breakerReport(
  report: Report,
  clock: Clock,
  endpointOf: (model: string) => string,
  setting?: string,
): BreakerReport {
  /** Models that were reported as unavailable: why, since when, and since when they are called again, in ms since 1970. */
  const reported = new Map<string, { readonly reason: OutageReason; readonly since: number; until: number | null }>()

  function poll(): void {
    const now = clock()
    for (const [model, { reason, since, until }] of reported) {
      if (until === null || Math.abs(now - until) < STEADY_MS) continue
      reported.delete(model)
      const [from, to] = [new Date(since).toISOString(), new Date(until).toISOString()]
      const afterSeconds = Math.max(0, Math.round((until - since) / 1000))
      report('model:answers', { model, reason, since: from, until: to, afterSeconds })
    }
  }

  return {
    changed({ model, to, outage: { reason, why, since } }) {
      report('breaker:changed', { model, to, reason })
      poll()
      const known = reported.get(model)
      if (to === 'closed') {
        if (known !== undefined) known.until = clock()
        return
      }
      if (known !== undefined) known.until = null
      if (known?.reason === reason) return
      reported.set(model, { reason, since: known?.since ?? since, until: null })
      report('model:away', {
        model,
        reason,
        why,
        advice: remedyFor(reason, namesOf(endpointOf(model)), { setting, why }),
      })
    },
    poll,
  }
}
