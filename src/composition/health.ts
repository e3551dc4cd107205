import { setTimeout as sleep } from 'node:timers/promises'
import type { Health } from '../adapters/http.ts'
import type { Clock } from '../ports/clock.ts'
import type { Identity } from './identity.ts'
import type { Loops } from './loop.ts'

/** Longest wait for Redis's answer, in ms: health checks have short timeouts. */
const ANSWERS_WITHIN_MS = 1_000
/** A run of a loop that lasts this long while Redis answers will never end, in ms: its waits are all shorter. */
const FROZEN_AFTER_MS = 300_000

interface Watched {
  readonly redis: { ping(): Promise<string> }
  /** Since when there is no Kafka consumer, ms since 1970; null if there is one, or this process has no need of any. */
  readonly downSince: () => number | null
  /** What is wrong with the stored data; null if nothing is. */
  readonly problem: () => string | null
  readonly loops: Pick<Loops, 'longestRun'>
  readonly clock: Clock
  readonly process: Identity
}

/**
 * What the health pages say. Live means that *this process* can work: an outage of Kafka or Redis, which a restart doesn't
 * end, leaves it live. Ready means that it works.
 */
export function healthOf({ redis, downSince, problem, loops, clock, process }: Watched) {
  let redisAwayAt = Number.NEGATIVE_INFINITY

  async function redisAnswers(): Promise<boolean> {
    const answered = redis.ping().then(
      () => true,
      () => false,
    )
    const answers = await Promise.race([answered, sleep(ANSWERS_WITHIN_MS, false, { ref: false })])
    if (!answers) redisAwayAt = clock()
    return answers
  }

  function consumer(): string {
    const since = downSince()
    return since === null ? 'consuming' : `joining for ${Math.round((clock() - since) / 1000)} s`
  }

  return {
    async live(): Promise<Health> {
      await redisAnswers()
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
      const answers = await redisAnswers()
      return {
        ok: answers && problem() === null && downSince() === null,
        checks: { redis: answers ? (problem() ?? 'answers') : 'does not answer', consumer: consumer() },
        process,
      }
    },
  }
}
