import { entryOf } from '../contracts/facts/entry-of.ts'
import type { ClassShares } from '../contracts/facts/service-class.ts'
import type { LimitSettings } from '../contracts/ports/call-limits.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { Tier } from '../contracts/ports/model.ts'
import type { Events } from '../contracts/ports/report.ts'
import { lastOnes, quantile } from './quantile.ts'

/** Limits how long calls to one model may take, judged by how long calls of the same kind have taken. */
export interface TimeLimits {
  /**
   * Watches a call until the returned function is called, with the call's duration in ms if it was answered. Calls `cut`
   * once, with the limit in ms, if the call takes too long.
   */
  watch(call: WatchedCall): (answeredMs?: number) => void
}

export interface WatchedCall {
  /** Calls of one kind (a stage, for a tenant) take similar times. */
  readonly kind: string
  /** 1 for the first try of an ask. */
  readonly attempt: number
  /** The ask's last try: it may use all the remaining time. */
  readonly last: boolean
  readonly cut: (afterMs: number) => void
}

/** Fewest answers for a limit, and how many of the latest count. */
const ENOUGH = 8
const LATEST = 128
/**
 * Most kinds that are remembered; those that were answered longest ago go first. Three hundred tenants have as many, which take 10 MB:
 * where each is forgotten before it is asked again, no call that hangs is cut off.
 */
const MOST_KINDS = 5_000
/** The limit is this quantile of the answers' times, multiplied by this. */
const QUANTILE = 0.9
const MULTIPLIER = 3
/**
 * Each further try may take this many times longer than the one before, and the last try has no such limit: slow is not
 * hung.
 */
const NEXT_TRY_MULTIPLIER = 4
const TICK_MS = 100

/**
 * A call that hangs must not keep its slot for as long as the slowest stage may take. Its limit is three times the 90th
 * percentile of the latest answers of its kind, at least `leastMs`. Only answers count, later tries included, so that
 * the limit follows a model that becomes slower. Time in which this process was not running does not count.
 */
export function timeLimits({ leastMs }: { leastMs: number | null }, clock: Clock): TimeLimits {
  const times = new Map<string, ReturnType<typeof lastOnes>>()
  const watched = new Map<WatchedCall, number>()
  let timer: NodeJS.Timeout | undefined
  /** How long this process has been running while it watched a call, in ms. */
  let awake = 0
  let ticked = 0

  function limitOf({ kind, attempt, last }: WatchedCall): number {
    const known = times.get(kind)
    if (leastMs === null || last || known === undefined || known.count < ENOUGH) return Number.POSITIVE_INFINITY
    return Math.max(leastMs, MULTIPLIER * quantile(known.sorted(), QUANTILE)) * NEXT_TRY_MULTIPLIER ** (attempt - 1)
  }

  function passed(): number {
    return Math.min(Math.max(0, clock() - ticked), 2 * TICK_MS)
  }

  function tick(): void {
    awake += passed()
    ticked = clock()
    for (const [call, since] of watched) {
      const limit = limitOf(call)
      if (awake - since < limit) continue
      watched.delete(call)
      call.cut(Math.round(limit))
    }
  }

  return {
    watch(call) {
      if (timer === undefined) {
        ticked = clock()
        timer = setInterval(tick, TICK_MS).unref()
      }
      watched.set(call, awake + passed())
      let ended = false
      return (answeredMs) => {
        if (ended) return
        ended = true
        watched.delete(call)
        if (watched.size === 0) {
          clearInterval(timer)
          timer = undefined
        }
        if (answeredMs === undefined) return
        const known = times.get(call.kind) ?? lastOnes(LATEST)
        times.delete(call.kind)
        times.set(call.kind, known)
        const [first] = times.keys()
        if (times.size > MOST_KINDS && first !== undefined) times.delete(first)
        known.add(answeredMs)
      }
    },
  }
}

export interface TierSettings {
  /** By PROTOCOL.ROLE or ROLE; `default` for other roles. None where it is left out: what the endpoint does unasked. */
  readonly tiers: Readonly<Record<string, Tier>>
  /** Longest wait for one call, in ms; and for one on the tier `flex`. */
  readonly callTimeout: number
  readonly flexTimeout: number
}

/** The tier that a role's calls ask for. */
export function tierOf({ tiers }: TierSettings, protocol: string, role: string): Tier | undefined {
  return entryOf(tiers, `${protocol}.${role}`) ?? entryOf(tiers, role) ?? tiers.default
}

export function timeoutOf({ callTimeout, flexTimeout }: TierSettings, tier: Tier | undefined): number {
  return tier === 'flex' ? flexTimeout : callTimeout
}

/** The longest that any call can take, in ms. */
export function longestCallMs(settings: TierSettings): number {
  return Math.max(settings.callTimeout, ...Object.values(settings.tiers).map((tier) => timeoutOf(settings, tier)))
}

/** How shared limits are kept: a call has its place in flight until it must have ended. */
export function limitSettings({ models, shares: { waiting, rest } }: LimitingSettings): Partial<LimitSettings> {
  return { leaseMs: longestCallMs(models) + 30_000, classes: { waiting, rest } }
}
interface LimitingSettings {
  readonly models: TierSettings
  readonly shares: ClassShares
}

/** What to tell of a stop's time in which the longest call that the settings allow need not end; null where each ends. */
export function shortDrain(settings: {
  readonly drain: number
  readonly models: TierSettings
}): Events['service:short-drain'] | null {
  const { drain: drainMs, models } = settings
  const callTimeoutMs = longestCallMs(models)
  if (drainMs >= callTimeoutMs) return null
  const setting = callTimeoutMs === models.callTimeout ? 'callTimeout' : 'flexTimeout'
  return {
    drainMs,
    callTimeoutMs,
    advice: `a stop may cut off calls in flight, which are then paid for again: drain is shorter than models.${setting}`,
  }
}
