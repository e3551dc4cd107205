import { memoryQueues } from '../../src/service/adapters/memory/queues.ts'
import { ATTEMPTS, BACKOFF_MS, STAGES, stageQueuesContract } from './stage-queues.ts'

stageQueuesContract('in memory', async () =>
  memoryQueues({ stages: STAGES, attempts: ATTEMPTS, backoffMs: BACKOFF_MS, clock: Date.now, report: () => {} }),
)
