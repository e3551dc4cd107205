import type { Redis } from 'ioredis'
import type { Clock } from '../../ports/clock.ts'
import type { Report } from '../../ports/report.ts'
import { redisAnswers } from './answers.ts'
import { redisCases } from './cases.ts'
import { redisDecisions } from './decisions.ts'
import { redisErasures } from './erasures.ts'
import { type FencingToken, NO_FENCING } from './incarnation.ts'
import type { Keys } from './keys.ts'
import { redisMarks } from './marks.ts'
import { redisOutbox } from './outbox.ts'
import type { ThreadContext } from './thread-context.ts'
import { redisThreads } from './threads.ts'
import { redisTraceLinks } from './trace-links.ts'
import { redisWebhooks } from './webhooks.ts'

/** How long the stores keep things, in ms. */
export interface KeepTimes extends Readonly<ThreadContext['settings']> {
  /** What was made of something that a case was shown: its journal, and answers in the memo. */
  readonly keepShownMs: number
  readonly keepJournalMs: number
  /** What was asked apart from the stream, with its answer. */
  readonly keepAnswersMs: number
  /** What messages said of their traces; null where none are sent. */
  readonly keepLinksMs: number | null
}

/** All stores of a process: one connection fails fast, for intake; the others retry, one of them in calls that wait. */
export function redisStores(
  { failFast, working, blocking }: Record<'failFast' | 'working' | 'blocking', Redis>,
  keys: Keys,
  times: KeepTimes,
  clock: Clock,
  {
    token,
    report = () => {},
    subscribe,
  }: { token?: () => FencingToken; report?: Report; subscribe?: () => Redis } = {},
) {
  const { keepAfterFinalMs, keepTombstoneMs, keepJournalMs, keepAnswersMs, keepLinksMs } = times
  const keeping = { keepJournalMs, keepAfterFinalMs, keepTombstoneMs, keepAnswersMs }
  return {
    threads: redisThreads(failFast, keys, times, token),
    decisions: redisDecisions({ client: failFast, keys, settings: times, token: token ?? NO_FENCING }),
    marks: redisMarks(failFast, keys, token),
    cases: redisCases(working, keys, clock, token, times),
    erasures: redisErasures(working, keys),
    outbox: redisOutbox(working, blocking, keys, { ...keeping, clock }),
    webhooks: redisWebhooks(working, keys),
    /** Where traces are sent. */
    links: keepLinksMs === null ? undefined : redisTraceLinks(failFast, keys, keepLinksMs),
    answers: redisAnswers(working, keys, { report, ...(subscribe === undefined ? {} : { subscribe }) }),
  }
}
