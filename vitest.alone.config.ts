import { defineConfig } from 'vitest/config'

/** What several processes or a broker must do within seconds: run one after the other, with nothing beside it. */
export const ALONE = ['apache-kafka', 'memory-kafka', 'limits', 'bullmq'].map(
  (name) => `test/contracts/${name}.test.ts`,
)

export default defineConfig({
  test: {
    include: ALONE,
    fileParallelism: false,
    testTimeout: 30_000,
    hookTimeout: 300_000,
    execArgv: ['--disable-warning=TimeoutNegativeWarning'],
  },
})
