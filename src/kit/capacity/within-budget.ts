import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { Route } from '../../judging/engine/routes.ts'
import { type Load, leastSecondsOf, sizesFor } from './model.ts'

/** What of a stream can be judged for a price, and in time. */
export interface AffordableShare {
  /** The share of what the settings would judge, 0 to 1. */
  readonly share: number
  /** Protocols whose calls alone take longer than a verdict may. */
  readonly tooSlow: readonly string[]
  /** Routes by which that much is judged. */
  readonly routes: Readonly<Record<string, readonly Route[]>>
  /** The load by these routes. */
  readonly load: Load
}

/** Samples are given so exactly: a thousandth of the stream. */
const EXACT = 1_000

/**
 * How much of what these routes bring can be judged for so many dollars a day, each verdict within so many seconds (null: however
 * long). Every protocol that is fast enough gives up the same part of its subjects.
 */
export function affordable(
  load: Load,
  routes: Readonly<Record<string, readonly Route[] | undefined>>,
  { usdPerDay, withinSeconds }: { usdPerDay: number; withinSeconds: number | null },
): AffordableShare {
  const isSlow = (one: Load['protocols'][number]) =>
    withinSeconds !== null && leastSecondsOf(one, load.latency) > withinSeconds
  const inTime = load.protocols.filter((one) => !isSlow(one))
  const whole = sizesFor({ ...load, protocols: inTime })
  const share = whole.usdPerDay <= usdPerDay ? 1 : Math.floor((EXACT * usdPerDay) / whole.usdPerDay) / EXACT
  const scaled = (sample: number) => Math.floor(EXACT * sample * share) / EXACT
  const protocols = inTime.map((one) => ({
    ...one,
    share: scaled(one.share),
    ofComments: scaled(one.ofComments),
  }))
  const own = load.protocols.map((one): [string, Route[]] => {
    const given = entryOf(routes, one.name) ?? [{}]
    if (isSlow(one)) return [one.name, [{ sample: 0 }]]
    return [one.name, given.map(({ sample = 1, ...route }) => ({ ...route, sample: scaled(sample) }))]
  })
  return {
    share,
    tooSlow: load.protocols.filter(isSlow).map(({ name }) => name),
    routes: Object.fromEntries(own),
    load: { ...load, protocols },
  }
}
