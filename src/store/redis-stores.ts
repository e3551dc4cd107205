import type { Redis } from 'ioredis'
import type { Clock } from '../contracts/ports/clock.ts'
import type { Report } from '../contracts/ports/report.ts'
import { redisAnswers } from './answer/redis.ts'
import { redisAuthorErasures, redisAuthors } from './author/redis.ts'
import { redisCases } from './case/redis.ts'
import { redisDecisions } from './decision/redis.ts'
import { redisDialects } from './dialect/redis.ts'
import { redisErasures } from './erasure/redis.ts'
import { redisJetstream } from './jetstream/redis.ts'
import { redisOutbox } from './outbox/redis.ts'
import { type FencingToken, NO_FENCING } from './redis/incarnation.ts'
import type { Keys } from './redis/keys.ts'
import { redisTraceLinks } from './redis/trace-links.ts'
import { redisThreads } from './thread/redis.ts'
import type { ThreadContext } from './thread/redis-context.ts'
import { redisMarks } from './thread/redis-marks.ts'
import { redisWebhooks } from './webhook/redis.ts'

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
    threads: redisThreads(failFast, keys, { ...times, clock }, token),
    decisions: redisDecisions({ client: failFast, keys, settings: times, token: token ?? NO_FENCING }),
    marks: redisMarks(failFast, keys, token),
    cases: redisCases(working, keys, clock, token, times),
    erasures: redisErasures(working, keys),
    dialects: redisDialects(failFast, keys),
    authors: redisAuthors(failFast, keys, keepTombstoneMs, clock),
    authorErasures: redisAuthorErasures(failFast, keys, clock),
    outbox: redisOutbox(working, blocking, keys, { ...keeping, clock }),
    webhooks: redisWebhooks(working, keys),
    jetstream: redisJetstream(working, keys),
    /** Where traces are sent. */
    links: keepLinksMs === null ? undefined : redisTraceLinks(failFast, keys, keepLinksMs, clock),
    answers: redisAnswers(working, keys, { report, subscribe }),
  }
}
