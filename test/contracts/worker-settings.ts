import type { QueueSettings } from '../../src/store/queue/stage-queues.ts'

/** As config/gavel.yaml has them. */
export const KILL_SETTINGS: Omit<QueueSettings, 'prefix'> = {
  cases: { concurrency: 32 },
  stages: { default: { concurrency: 64, attempts: 3, backoff: 800 } },
  classes: { waiting: 0.25, rest: 0.5 },
  queues: { lock: 4_000, stalledCheck: 2_000 },
}
