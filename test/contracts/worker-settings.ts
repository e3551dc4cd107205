import type { QueueSettings } from '../../src/store/queue/stage-queues.ts'

/** As config/gavel.yaml has them. */
export const KILL_SETTINGS: Omit<QueueSettings, 'prefix'> = {
  cases: { concurrency: 32 },
  stages: { default: { concurrency: 64, attempts: 3, backoff: 800 } },
  queues: { lock: 4_000, stalledCheck: 2_000 },
}
