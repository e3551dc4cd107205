import { setTimeout as sleep } from 'node:timers/promises'
import type { Health } from '../adapters/http.ts'

/** A process whose Kafka consumer has been gone for this long should be started again by whoever watches it. */
const DEAD_AFTER_MS = 30_000

export function liveness(downSince: number | null, now: number): Health {
  const down = downSince === null ? 0 : now - downSince
  const consumer = down === 0 ? 'consuming' : `without a consumer for ${Math.round(down / 1000)} s`
  return { ok: down < DEAD_AFTER_MS, checks: { consumer } }
}

/** Whoever asks a health page gives up soon; how long Redis may take to say that it is there, in ms. */
const READY_WITHIN_MS = 1_000

export async function readiness(
  redis: { ping(): Promise<string> },
  downSince: number | null,
  trouble: string | null,
): Promise<Health> {
  const answered = await Promise.race([
    redis.ping().then(
      () => true,
      () => false,
    ),
    sleep(READY_WITHIN_MS, false, { ref: false }),
  ])
  return {
    ok: answered && trouble === null && downSince === null,
    checks: {
      redis: answered ? (trouble ?? 'answers') : 'does not answer',
      consumer: downSince === null ? 'consuming' : 'joining',
    },
  }
}
