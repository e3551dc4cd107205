import { UnmappedRecord } from './faults.ts'

/** How a source writes times: numbers of a unit since 1970, ISO 8601 with an offset, or one where it is UTC if it has none. */
export const TIME_UNITS = ['s', 'ms', 'us', 'ns', 'iso', 'utc'] as const
export type TimeUnit = (typeof TIME_UNITS)[number]

const PER_MS: Readonly<Record<Exclude<TimeUnit, 'iso' | 'utc'>, number>> = { s: 1e-3, ms: 1, us: 1e3, ns: 1e6 }
/** From the year 0 to the end of 9999: what ISO 8601 writes with four digits. */
const [EARLIEST_MS, LATEST_MS] = [-62_167_219_200_000, 253_402_300_799_999]
const WITH_OFFSET = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,12})?)?(Z|z|[+-]\d\d:?\d\d)$/
const WITHOUT_OFFSET = /^\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d{1,12})?)?)?$/

/** A time as messages write it: ISO 8601 in UTC, to the millisecond. */
export function timeOf(value: unknown, unit: TimeUnit): string {
  const ms = unit === 'iso' || unit === 'utc' ? writtenMs(value, unit) : numberIn(value) / PER_MS[unit]
  if (!(ms >= EARLIEST_MS && ms <= LATEST_MS)) throw new UnmappedRecord(`is no time in ${WORDS[unit]}`)
  return new Date(Math.floor(ms)).toISOString()
}

const WORDS: Readonly<Record<TimeUnit, string>> = {
  s: 'seconds since 1970',
  ms: 'milliseconds since 1970',
  us: 'microseconds since 1970',
  ns: 'nanoseconds since 1970',
  iso: 'ISO 8601 with an offset',
  utc: 'ISO 8601, or such as 2026-05-01 10:00:00',
}

function numberIn(value: unknown): number {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^-?\d{1,22}(\.\d{1,12})?$/.test(value) ? Number(value) : Number.NaN
}

function writtenMs(value: unknown, unit: 'iso' | 'utc'): number {
  if (typeof value !== 'string') return Number.NaN
  if (WITH_OFFSET.test(value)) return Date.parse(value.replace(' ', 'T'))
  if (unit === 'iso' || !WITHOUT_OFFSET.test(value)) return Number.NaN
  return Date.parse(value.length === 10 ? value : `${value.replace(' ', 'T')}Z`)
}
