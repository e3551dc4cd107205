import type { SentinelWatch } from '../adapters/redis/sentinel-watch.ts'
import type { Report } from '../ports/report.ts'

/** How often the sentinels are asked, in ms. */
export const SENTINELS_MS = 500

const CUT_OFF =
  'No sentinel answers, and another master may have been chosen: nothing is published until one does; check redis.sentinels, their password, and the network'

/** Tells once that no sentinel has answered for `silenceMs`, and once that one does again. */
export function sentinelReport({ sentinels, silenceMs, report }: Deps) {
  let silent = false
  return {
    /** Why nothing is published now; null if the sentinels answer. */
    get problem(): string | null {
      return silent ? CUT_OFF : null
    },
    async look(): Promise<void> {
      await sentinels.look()
      const now = sentinels.silentMs() > silenceMs
      if (now === silent) return
      silent = now
      report('redis:faults', { of: 'sentinels', faults: silent ? ['sentinels'] : [] })
      if (silent) report('sentinels:silent', { advice: CUT_OFF })
      else report('sentinels:answer', {})
    },
  }
}

interface Deps {
  readonly sentinels: Pick<SentinelWatch, 'look' | 'silentMs'>
  readonly silenceMs: number
  readonly report: Report
}
