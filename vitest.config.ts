import { defineConfig } from 'vitest/config'
import { ALONE } from './vitest.alone.config.ts'

/** Real servers are started by the tests, and mostly waited for: two files at a time keep two cores busy and no more. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ALONE,
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 300_000,
    reporters: ['default'],
    execArgv: ['--disable-warning=TimeoutNegativeWarning'],
    coverage: { include: ['src/**', 'consumers/**', 'producers/**', 'config/**/*.ts'], reportsDirectory: 'coverage' },
  },
})
