import jstat from 'jstat'
import { scoreInterval } from '../../../contracts/facts/score-interval.ts'
import type { Random } from './random.ts'

const { normal, studentt } = jstat.jStat

/** Fewer sampled units than this give no bootstrap interval: it would be too narrow, and nobody could say by how much. */
export const FEWEST_UNITS = 20
/** Resamples an interval; its ends then move by about a fortieth of its width from seed to seed. */
export const RESAMPLES = 2_000
/** More resamples than this share without a value, and the interval would be that of the others. */
const MOST_WITHOUT_VALUE = 0.05

/** A 95 % confidence interval. */
export interface Interval {
  readonly low: number
  readonly high: number
  /** Wilson's for as many items as there are, or as the spread of resamples stands for; or between percentiles of resamples. */
  readonly method: 'Wilson' | 'Wilson by bootstrap' | 'bootstrap'
}

/** A number, what the sample leaves open about it, and in words what can't be computed. */
export interface Estimate {
  readonly value: number | null
  readonly interval: Interval | null
  /** Why there is no value, or no interval; null where both are there. */
  readonly why: string | null
}

/** Wilson's score interval (Wilson 1927) of a share, for items drawn one by one. Null without items. */
export function wilson(hits: number, items: number): Interval | null {
  if (items === 0) return null
  return { ...scoreInterval(hits / items, items), method: 'Wilson' }
}

/**
 * What a sample of `items` can show of a share at best: half the width of its interval where the share is one half. 0.15 for
 * 40 items.
 */
export function reachOf(items: number): number | null {
  const interval = wilson(items / 2, items)
  return interval === null ? null : (interval.high - interval.low) / 2
}

/** What a statistic is: a share (accuracy, recall, F1) lies in [0, 1]; anything else may lie anywhere. */
export type StatisticKind = 'share' | 'other'

/**
 * An estimate with the bootstrap interval over the units that were sampled (threads, events, authors, or single items).
 * `statistic` is null where it can't be computed of a sample, and `absent` is the reason for the whole sample.
 *
 * Of a share the interval is Wilson's for as many items as would make a share so uncertain: their number follows from the
 * deviation over resamples (Kish's effective sample size), and Student's t with a degree of freedom less than there are units
 * stands in place of the normal distribution. Of anything else it is between percentiles of the resamples, widened for few
 * units as Student's t is (Hesterberg 2015, "expanded percentile").
 *
 * `telling` is how many of the units say something of the statistic, where not all do: of a precision, those in which something
 * was called so. They stand for the units wherever the number of them does. `answers` is how many answers a share is of: few units may
 * by chance agree more than independent answers would, and say no more than these.
 */
export function bootstrap<Unit>(
  units: readonly Unit[],
  statistic: (sample: readonly Unit[]) => number | null,
  how: { random: Random; absent: string; kind: StatisticKind; resamples?: number; telling?: number; answers?: number },
): Estimate {
  const resamples = how.resamples ?? RESAMPLES
  const value = statistic(units)
  const values =
    value === null || units.length < FEWEST_UNITS ? [] : resampled(units, statistic, { random: how.random, resamples })
  return estimateFrom(value, values, { ...how, resamples, units: units.length })
}

/**
 * The same for statistics that share their resamples: the statistic of the whole sample, and of every resample that has one, of
 * `resamples` over `units` sampled units.
 */
export function estimateFrom(
  value: number | null,
  values: readonly number[],
  how: {
    units: number
    resamples: number
    absent: string
    kind: StatisticKind
    telling?: number
    answers?: number
  },
): Estimate {
  const { units, resamples, absent, kind } = how
  // A precision rests on the units in which something was called so, and on no others.
  const telling = Math.max(2, Math.min(units, how.telling ?? units))
  if (value === null) return { value, interval: null, why: absent }
  if (units < FEWEST_UNITS)
    return { value, interval: null, why: `no interval: ${units} sampled units are fewer than ${FEWEST_UNITS}` }
  if (values.length < resamples * (1 - MOST_WITHOUT_VALUE))
    return { value, interval: null, why: 'no interval: too many resamples have no value' }
  const interval =
    kind === 'share'
      ? ofShare(value, values, { units, telling, answers: how.answers })
      : betweenPercentiles(values, telling)
  return { value, interval, why: null }
}

/** The statistic of each resample that has one: as many units as there are, drawn with replacement. */
function resampled<Unit>(
  units: readonly Unit[],
  statistic: (sample: readonly Unit[]) => number | null,
  { random, resamples }: { random: Random; resamples: number },
): number[] {
  const values: number[] = []
  const sample = [...units]
  for (let nth = 0; nth < resamples; nth++) {
    for (let at = 0; at < sample.length; at++) sample[at] = units[random.below(units.length)] as Unit
    const value = statistic(sample)
    if (value !== null) values.push(value)
  }
  return values
}

function ofShare(
  share: number,
  values: readonly number[],
  { units, telling, answers }: { units: number; telling: number; answers: number | undefined },
): Interval {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  const variance = (squares / (values.length - 1)) * (units / (units - 1))
  // Where all resamples agree, as at 0 and 1, they say nothing of the spread.
  const effective = Math.min(variance > 0 ? (share * (1 - share)) / variance : telling, answers ?? Infinity)
  return { ...scoreInterval(share, effective, -studentt.inv(0.025, telling - 1)), method: 'Wilson by bootstrap' }
}

function betweenPercentiles(values: readonly number[], units: number): Interval {
  const sorted = values.toSorted((one, other) => one - other)
  const tail = tailShare(units)
  return { low: quantileOf(sorted, tail), high: quantileOf(sorted, 1 - tail), method: 'bootstrap' }
}

/** The share of resamples beyond each end of the interval: 0.025 for many units, less for few. */
function tailShare(units: number): number {
  return normal.cdf(Math.sqrt(units / (units - 1)) * studentt.inv(0.025, units - 1), 0, 1)
}

/** The quantile of sorted numbers, between two of them by their distance (Hyndman and Fan's type 7). */
export function quantileOf(sorted: readonly number[], share: number): number {
  const place = share * (sorted.length - 1)
  const below = Math.floor(place)
  const low = sorted[below] ?? Number.NaN
  const high = sorted[Math.min(below + 1, sorted.length - 1)] ?? Number.NaN
  return low + (high - low) * (place - below)
}
