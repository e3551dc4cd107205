import { setTimeout as sleep } from 'node:timers/promises'
import type { Settings } from '../../config/schema.ts'
import { serveHttp, withForwarders } from '../platform/http.ts'
import { checkRedis, connect } from '../store/redis/connect.ts'
import { checkBrokers } from '../stream/client.ts'
import { identityOf } from './identity.ts'
import { logListener } from './log.ts'
import { waitingMetrics } from './metrics/metrics.ts'

/** The reasons of the dependencies that do not answer; null if all answer. */
type Missing = Readonly<Record<string, string>> | null

/** Pause between two tries, in ms. */
const TRY_MS = 1_000
/** What is waited for is logged once in this time, in ms. */
const SAY_MS = 10_000
/** If the first check takes longer than this, in ms, the process opens its port and reports that it waits. */
const SOON_MS = 2_000
const NO_ANSWER_YET: Missing = { dependencies: 'have not all answered yet' }

/**
 * Waits until Redis and Kafka both answer, or until `stopped`; resolves to whether they do. Meanwhile the process is live and not
 * ready, and `/health/ready` and the log say what is missing. Throws an `OperatorError` if its port can't be opened.
 */
export async function dependenciesAnswer(
  settings: Settings,
  roles: readonly string[],
  stopped: Promise<unknown>,
  /** The fingerprint of its prompts, which distinguishes it from other replicas while it waits. */
  prompts: string,
): Promise<boolean> {
  const first = missingOf(settings)
  let missing: Missing = await Promise.race([first, sleep(SOON_MS, NO_ANSWER_YET)])
  if (missing === null) return true
  const identity = identityOf(settings, roles)
  const log = logListener(settings.log.level, Date.now, identity, settings.log)
  const stop = stopped.then(() => 'stopped' as const)
  const http = await serveHttp(withForwarders(settings), {
    metrics: waitingMetrics({ identity, prompts, missing: () => Object.keys(missing ?? {}) }),
    live: async () => ({ ok: true, checks: { loops: 'waiting for dependencies' } }),
    ready: async () => ({ ok: false, checks: missing ?? {}, process: identity }),
  })
  try {
    for (let reportedAt = Number.NEGATIVE_INFINITY; missing !== null; ) {
      if (performance.now() - reportedAt >= SAY_MS) {
        log('service:waiting', { for: missing, httpPort: http.port })
        reportedAt = performance.now()
      }
      const next: Promise<Missing> = missing === NO_ANSWER_YET ? first : sleep(TRY_MS).then(() => missingOf(settings))
      const found = await Promise.race([next, stop])
      if (found === 'stopped') return false
      // What is missing is news, and said at once.
      if (missing === NO_ANSWER_YET) reportedAt = Number.NEGATIVE_INFINITY
      missing = found
    }
    return true
  } finally {
    await http.close()
  }
}

async function missingOf(settings: Settings): Promise<Missing> {
  const checks = { redis: redisAnswers(settings), kafka: checkBrokers(settings.kafka) }
  const faults = await Promise.all(
    Object.entries(checks).map(([name, check]) =>
      check.then(
        () => [],
        (error: unknown) => [[name, error instanceof Error ? error.message : String(error)]],
      ),
    ),
  )
  const missing = faults.flat()
  return missing.length === 0 ? null : Object.fromEntries(missing)
}

async function redisAnswers(settings: Settings): Promise<void> {
  const client = connect(settings.redis, () => {}, 'fail-fast')
  try {
    await checkRedis(client, settings.redis)
  } finally {
    client.disconnect()
  }
}
