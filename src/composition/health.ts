import { setTimeout as sleep } from 'node:timers/promises'
import type { Health } from '../adapters/http.ts'

/** After this long without a Kafka consumer the process reports itself dead, so that it gets restarted, in ms. */
const DEAD_AFTER_MS = 30_000

export function liveness(downSince: number | null, now: number): Health {
  const down = downSince === null ? 0 : now - downSince
  const consumer = down === 0 ? 'consuming' : `without a consumer for ${Math.round(down / 1000)} s`
  return { ok: down < DEAD_AFTER_MS, checks: { consumer } }
}

/** Longest wait for Redis's answer, in ms: health checks have short timeouts. */
const READY_WITHIN_MS = 1_000

export async function readiness(
  redis: { ping(): Promise<string> },
  downSince: number | null,
  problem: string | null,
): Promise<Health> {
  const answered = await Promise.race([
    redis.ping().then(
      () => true,
      () => false,
    ),
    sleep(READY_WITHIN_MS, false, { ref: false }),
  ])
  return {
    ok: answered && problem === null && downSince === null,
    checks: {
      redis: answered ? (problem ?? 'answers') : 'does not answer',
      consumer: downSince === null ? 'consuming' : 'joining',
    },
  }
}
