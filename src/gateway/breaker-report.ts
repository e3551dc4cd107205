import type { AwayReason } from '../domain/errors.ts'
import { namesOf } from '../domain/model-name.ts'
import { remedyFor } from '../domain/remedies.ts'
import type { Clock } from '../ports/clock.ts'
import type { Report } from '../ports/report.ts'
import type { BreakerChange } from './breaker.ts'

/** Reports what breakers do: each change; once when a model is left alone for a reason; and once when it answers again. `setting` is the one that names the models. */
export function breakerReport(
  report: Report,
  clock: Clock,
  endpointOf: (model: string) => string,
  setting?: string,
): (change: BreakerChange) => void {
  const told = new Map<string, AwayReason>()
  return ({ model, to, away: { reason, why, since } }) => {
    report('breaker:changed', { model, to, reason })
    if (to === 'closed') {
      told.delete(model)
      report('model:answers', { model, reason, afterSeconds: Math.max(0, Math.round((clock() - since) / 1000)) })
    } else if (told.get(model) !== reason) {
      told.set(model, reason)
      report('model:away', { model, reason, why, advice: remedyFor(reason, namesOf(endpointOf(model)), setting) })
    }
  }
}
