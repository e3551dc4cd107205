import type { Settings } from '../../config/schema.ts'
import { longestCallMs } from '../gateway/tiers.ts'
import type { Events } from '../ports/report.ts'
import { callTimes } from './gateway.ts'

/** What to tell of a stop's time in which the longest call that the settings allow need not end; null where each ends. */
export function shortDrain(settings: Settings): Events['service:short-drain'] | null {
  const { drain: drainMs, models } = settings
  const callTimeoutMs = longestCallMs({ tiers: models.tiers, ...callTimes(settings) })
  if (drainMs >= callTimeoutMs) return null
  const setting = callTimeoutMs === models.callTimeout ? 'callTimeout' : 'flexTimeout'
  return {
    ...{ drainMs, callTimeoutMs },
    advice: `a stop may cut off calls in flight, which are then asked again: drain is shorter than models.${setting}`,
  }
}
