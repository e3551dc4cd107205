import { defineConfig } from 'vitest/config'
import { ALONE } from './vitest.alone.config.ts'
import { SHARED } from './vitest.shared.ts'

/** Real servers are started by the tests, and mostly waited for: three files at a time keep two cores busy. */
export default defineConfig({
  test: {
    ...SHARED,
    include: ['test/**/*.test.ts'],
    exclude: ALONE,
    maxWorkers: 3,
    testTimeout: 30_000,
    reporters: ['default'],
    coverage: { include: ['src/**', 'consumers/**', 'producers/**', 'config/**/*.ts'], reportsDirectory: 'coverage' },
  },
})
