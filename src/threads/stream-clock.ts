import type { StreamMark } from '../ports/threads.ts'

export interface StreamClockSettings {
  /** A partition read to its end for this long no longer holds the clock, in ms. */
  readonly idleAfter: number
  /** With every partition idle: go on at wall pace, or make everything due at once. */
  readonly atEnd: 'wall-pace' | 'finish'
}

/**
 * The stream's clock, ms of event time: the minimum over all partitions of their second-newest `createdAt`, so that no
 * single message throws it forward, and never past the wall clock. -Infinity while some partition has not been read;
 * +Infinity when all are idle and the stream is to be finished.
 */
export function streamTime(marks: readonly StreamMark[], wallNow: number, settings: StreamClockSettings): number {
  if (marks.length === 0) return Number.NEGATIVE_INFINITY
  const busy = marks.filter((mark) => mark.endSince === null || wallNow - mark.endSince < settings.idleAfter)
  if (busy.length > 0) {
    const slowest = Math.min(...busy.map((mark) => mark.second ?? Number.NEGATIVE_INFINITY))
    return Math.min(slowest, wallNow)
  }
  if (settings.atEnd === 'finish') return Number.POSITIVE_INFINITY
  const times = marks.flatMap(({ newest, second }) => [newest, second]).filter((time) => time !== null)
  const [newest, second] = times.sort((a, b) => b - a)
  const furthest = second ?? newest ?? Number.NEGATIVE_INFINITY
  const idleSince = Math.max(...marks.map((mark) => mark.endSince ?? wallNow)) + settings.idleAfter
  return Math.min(furthest + (wallNow - idleSince), wallNow)
}

/** The mark after one more message. A message read again changes nothing. */
export function advanceMark(mark: StreamMark, createdAt: number): StreamMark {
  const newest = mark.newest ?? Number.NEGATIVE_INFINITY
  const second = mark.second ?? Number.NEGATIVE_INFINITY
  if (createdAt > newest) return { ...mark, newest: createdAt, second: mark.newest }
  if (createdAt < newest && createdAt > second) return { ...mark, second: createdAt }
  return mark
}

export const UNREAD: StreamMark = { newest: null, second: null, endSince: null }
