import type { StreamMark } from '../../contracts/ports/threads.ts'

export interface StreamClockSettings {
  /** A partition that has been read to its end for this long no longer holds the clock, in ms. */
  readonly idleAfter: number
  /** When every partition is idle: advance at wall-clock pace, or make everything due at once. */
  readonly atEnd: 'wall-pace' | 'finish'
}

/**
 * An end-of-partition report is valid this long, in ms. The partition's reader renews it every second or few; a reader that was
 * away, or could not ask Kafka, does not know what has arrived since.
 */
const END_REPORT_VALID_MS = 10_000

/**
 * The stream's clock, ms of event time: the minimum over all partitions of their second-newest `createdAt`, so that no
 * single message moves it far forward, and never past the wall clock. -Infinity while some partition has not been read;
 * +Infinity when all are idle and the stream is to be finished. A partition is idle if it was read to its end
 * `idleAfter` ago and its end was confirmed recently; all are idle if each was confirmed after the last of them reached
 * its end: messages sent together but read one partition after the other count together.
 */
export function streamTime(marks: readonly StreamMark[], wallNow: number, settings: StreamClockSettings): number {
  if (marks.length === 0) return Number.NEGATIVE_INFINITY
  const slowest = (busy: readonly StreamMark[]) =>
    Math.min(wallNow, ...busy.map(({ second }) => second ?? Number.NEGATIVE_INFINITY))
  const isIdle = ({ endSince, seenAt }: StreamMark) =>
    endSince !== null && wallNow - endSince >= settings.idleAfter && wallNow - seenAt <= END_REPORT_VALID_MS
  const busy = marks.filter((mark) => !isIdle(mark))
  if (busy.length > 0) return slowest(busy)
  const lastEnd = Math.max(...marks.map(({ endSince }) => endSince ?? Number.NEGATIVE_INFINITY))
  const unsure = marks.filter(({ seenAt }) => seenAt < lastEnd)
  if (unsure.length > 0) return slowest(unsure)
  if (settings.atEnd === 'finish') return Number.POSITIVE_INFINITY
  const times = marks.flatMap(({ newest, second }) => [newest, second]).filter((time) => time !== null)
  const [newest, second] = times.sort((a, b) => b - a)
  const furthest = second ?? newest ?? Number.NEGATIVE_INFINITY
  const idleSince = Math.max(...marks.map((mark) => mark.endSince ?? wallNow)) + settings.idleAfter
  return Math.min(furthest + (wallNow - idleSince), wallNow)
}

/** The mark after one more message. A message that is read again changes nothing. */
export function advanceMark(mark: StreamMark, createdAt: number): StreamMark {
  const newest = mark.newest ?? Number.NEGATIVE_INFINITY
  const second = mark.second ?? Number.NEGATIVE_INFINITY
  if (createdAt > newest) return { ...mark, newest: createdAt, second: mark.newest }
  if (createdAt < newest && createdAt > second) return { ...mark, second: createdAt }
  return mark
}

export const UNREAD: StreamMark = { newest: null, second: null, endSince: null, seenAt: 0 }
