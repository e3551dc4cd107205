import { defineConfig } from 'vitest/config'
import { SHARED } from './vitest.shared.ts'

/** What several processes or a broker must do within seconds: run one after the other, with nothing beside it. */
export const ALONE = ['apache-kafka', 'memory-kafka', 'limits', 'bullmq'].map(
  (name) => `test/contracts/${name}.test.ts`,
)

export default defineConfig({
  test: { ...SHARED, include: ALONE, fileParallelism: false, testTimeout: 30_000 },
})
