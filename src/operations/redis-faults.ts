import type { PressureSignal } from '../../consumers/backpressure.ts'
import type { Report } from '../contracts/ports/report.ts'
import type { RedisFinding } from '../store/redis/checks.ts'
import type { SentinelWatch } from '../store/redis/sentinel-watch.ts'

/** How often Redis is asked for its settings again, in ms: somebody may change them, or another server take over. */
export const REDIS_SETTINGS_MS = 30_000

/**
 * Watches whether Redis is still set as Gavel needs it, beginning with what was found at the start. What is found to be
 * broken later stops no case that is running, and is reported; while Redis may drop what it has taken, intake takes nothing more.
 */
export function redisSettingsWatch(deps: {
  find: () => Promise<readonly RedisFinding[]>
  first: readonly RedisFinding[]
  report: Report
}) {
  const { find, report } = deps
  let found = deps.first
  let reported = ''

  function tell(): void {
    const faults = [...new Set(found.flatMap(({ fault }) => fault ?? []))]
    report('redis:faults', { of: 'settings', faults })
    const advice = textOf('broken') ?? ''
    if (advice === reported) return
    reported = advice
    if (advice === '') report('redis:safe', {})
    else report('redis:unsafe', { faults, advice })
  }

  function textOf(state: RedisFinding['state']): string | null {
    const texts = found
      .filter((one) => one.state === state && one.fault !== undefined)
      .map(({ what, detail, todo = '' }) => `${what} ${detail}. ${todo}`)
    return texts.length === 0 ? null : texts.join(' ')
  }

  tell()
  return {
    /** What is broken now; null if nothing is. */
    get problem(): string | null {
      return textOf('broken')
    },
    /** What the settings accept; null if nothing. */
    get risk(): string | null {
      return textOf('warning')
    },
    /** Whether intake must wait: what is read from Kafka would be gone from both. */
    async pressure(): Promise<PressureSignal> {
      const evicts = found.some(({ fault, state }) => fault === 'eviction' && state === 'broken')
      const says = 'Redis may evict what it has taken: set maxmemory-policy to noeviction'
      return { by: 'store-refused', share: evicts ? Number.POSITIVE_INFINITY : 0, says }
    },
    async poll(): Promise<void> {
      found = await find()
      tell()
    },
  }
}

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
    async poll(): Promise<void> {
      await sentinels.poll()
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
  readonly sentinels: Pick<SentinelWatch, 'poll' | 'silentMs'>
  readonly silenceMs: number
  readonly report: Report
}
