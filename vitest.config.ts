import { defineConfig } from 'vitest/config'

/** Real servers are started by the tests: files run one after the other, so that they don't fight for two cores. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 30_000,
    hookTimeout: 300_000,
    reporters: ['default'],
    execArgv: ['--disable-warning=TimeoutNegativeWarning'],
    coverage: { include: ['src/**', 'consumers/**', 'producers/**', 'config/**/*.ts'], reportsDirectory: 'coverage' },
  },
})
