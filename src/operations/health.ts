import type { Clock } from '../contracts/ports/clock.ts'
import type { Health } from '../platform/http.ts'
import { refusalOf } from '../store/redis/refusals.ts'
import { type AnswerWatch, answerWatch } from './answer-watch.ts'
import type { Identity } from './identity.ts'
import type { Loops } from './loop.ts'

/** Longest wait for Redis's answer, in ms: health checks have short timeouts. */
const ANSWERS_WITHIN_MS = 1_000
/** The same for Kafka, whose brokers collect garbage, in ms. */
const KAFKA_ANSWERS_WITHIN_MS = 2_500
/** A run of a loop that lasts this long while Redis answers will never end, in ms: its waits are all shorter. */
const FROZEN_AFTER_MS = 300_000

const NO_ANSWER = 'does not answer'
const STOPPING = { process: 'stopping' }

/** Watches whether Redis answers. `refusal`: why it refuses what it is asked, where that is known. */
export function redisWatch(redis: { ping(): Promise<string> }, refusal: () => string | null): AnswerWatch {
  const why = (error?: unknown) => refusalOf(error)?.says ?? refusal() ?? NO_ANSWER
  return answerWatch(() => redis.ping(), { withinMs: ANSWERS_WITHIN_MS, why })
}

/** Watches whether Kafka answers this question. */
export function kafkaWatch(ask: () => Promise<unknown>): AnswerWatch {
  return answerWatch(ask, { withinMs: KAFKA_ANSWERS_WITHIN_MS, why: () => NO_ANSWER })
}

interface Watched {
  readonly redis: Pick<AnswerWatch, 'poll'>
  /** Absent where this process sends nothing to Kafka for clients who wait. */
  readonly kafka?: Pick<AnswerWatch, 'away'>
  /** Since when there is no Kafka consumer, ms since 1970; null if there is one, or this process has no need of any. */
  readonly downSince: () => number | null
  /** Why a broker refuses what is published until a setting is changed; null if it does not. */
  readonly publication: () => string | null
  /** What is wrong with the stored data, or Redis's settings; null if nothing is. */
  readonly problem: () => string | null
  /** What keeps the record from being written, in words; null if nothing does. Absent where this process keeps none. */
  readonly record?: () => string | null
  /** What the settings accept although data may be lost or doubled; null if nothing. */
  readonly risk: () => string | null
  /** Whether this process was asked to stop, and lets what it began end. */
  readonly isStopping: () => boolean
  readonly loops: Pick<Loops, 'longestRun'>
  readonly clock: Clock
  readonly process: Identity
}

/**
 * What the health pages say. Live means that *this process* can work: an outage of Kafka or Redis, which a restart doesn't
 * end, leaves it live. Ready means that it works.
 */
export function healthOf(watched: Watched) {
  const { redis, kafka, publication, downSince, problem, record, risk, isStopping, loops, clock, process } = watched
  let redisAwayAt = Number.NEGATIVE_INFINITY

  /** What keeps Redis from answering, in words; null if it answers. */
  async function redisAway(): Promise<string | null> {
    const away = await redis.poll()
    if (away !== null) redisAwayAt = clock()
    return away
  }

  function redisHere(): string {
    const accepted = risk()
    return problem() ?? (accepted === null ? 'answers' : `answers; ${accepted}`)
  }

  function consumer(): string {
    const since = downSince()
    return since === null ? 'consuming' : `joining for ${Math.round((clock() - since) / 1000)} s`
  }

  return {
    async live(): Promise<Health> {
      // The supervisor that stopped it also ends it.
      if (isStopping()) return { ok: true, checks: STOPPING }
      await redisAway()
      const run = loops.longestRun()
      // Runs that waited for Redis get the time anew once it is back.
      const ms = Math.min(run?.ms ?? 0, clock() - redisAwayAt)
      const frozen = run !== null && ms > FROZEN_AFTER_MS
      return {
        ok: !frozen,
        checks: { loops: frozen ? `${run.loop}: no end for ${Math.round(ms / 1000)} s` : 'running' },
      }
    },
    async ready(): Promise<Health> {
      if (isStopping()) return { ok: false, checks: STOPPING, process }
      const away = await redisAway()
      const closed = publication()
      return {
        ok:
          away === null &&
          problem() === null &&
          downSince() === null &&
          (record?.() ?? null) === null &&
          // The door goes on answering what needs no topic.
          (closed === null || kafka !== undefined),
        checks: {
          redis: away ?? redisHere(),
          consumer: consumer(),
          ...(kafka === undefined ? {} : { kafka: kafka.away ?? 'answers' }),
          ...(record === undefined ? {} : { record: record() ?? 'kept' }),
          ...(closed === null ? {} : { publication: closed }),
        },
        process,
      }
    },
  }
}
