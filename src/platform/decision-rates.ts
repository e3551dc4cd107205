import type { Clock } from '../contracts/ports/clock.ts'
import { type Rate, rates } from './rates.ts'

/** What a decision is about, as it was sent. */
export interface DecidedSubject {
  readonly tenant?: unknown
  readonly subjectId?: unknown
  readonly postId?: unknown
  readonly kind?: unknown
  readonly subjectKind?: unknown
  readonly protocol?: unknown
}

/** On one subject: each waits until the verdict of the one before is published, and all others of its partition wait with it. */
const OF_SUBJECT: Rate = { perSecond: 1, burst: 5 }

/** How many decisions somebody makes: they are carried out one after the other in each partition, and people make few of them. */
export function decisionRates(rate: Rate, clock: Clock) {
  const [made, madeOnOne] = [rates(), rates()]
  /** Counts a decision: null, or why that is too many, and in how many seconds it is not. */
  const count = (by: string, { tenant, subjectId, postId, kind, subjectKind, protocol }: DecidedSubject) => {
    const one = { units: 1, own: 0 }
    // Only a comment goes by its post, too: any other's may be whatever its writer likes.
    const under = (kind ?? subjectKind) === 'comment' ? [postId] : []
    const subject = JSON.stringify([by, tenant, subjectId, under, protocol])
    const onOne = madeOnOne.take(subject, OF_SUBJECT, one, clock())
    const retryAfter = onOne ?? made.take(by, rate, one, clock())
    if (retryAfter === null) return null
    const [of, { perSecond, burst }] = onOne === null ? ['', rate] : [' on one subject', OF_SUBJECT]
    return { retryAfter, says: `may make ${perSecond} decisions a second${of}, ${burst} at once` }
  }
  /** How many somebody may make now. */
  return { count, left: (by: string) => made.left(by, rate, clock()) }
}
