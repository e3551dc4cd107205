import { defineConfig } from 'vitest/config'
import { FAST } from './vitest.files.ts'
import { LongestFirst, WORKERS } from './vitest.order.ts'
import { SHARED } from './vitest.shared.ts'

/** What several processes or a broker must do within seconds: run one after the other, with nothing beside it. */
const ALONE = ['apache-kafka', 'memory-kafka', 'limits', 'bullmq'].map((name) => `test/contracts/${name}.test.ts`)

/**
 * All tests, in two groups of which the second waits for the first. Real servers are started by the tests, and mostly waited
 * for: four files at a time keep two cores busy. Those that start nothing share what they have imported, most of their time.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...SHARED,
          name: { label: 'in one process', color: 'green' },
          include: FAST,
          exclude: ALONE,
          isolate: false,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
          testTimeout: 30_000,
        },
      },
      {
        test: {
          ...SHARED,
          name: { label: 'four at a time', color: 'cyan' },
          include: ['test/**/*.test.ts'],
          exclude: [...ALONE, ...FAST],
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
          testTimeout: 30_000,
        },
      },
      {
        test: {
          ...SHARED,
          name: { label: 'alone', color: 'yellow' },
          include: ALONE,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
          testTimeout: 30_000,
        },
      },
    ],
    sequence: { sequencer: LongestFirst },
    reporters: ['default'],
    coverage: { include: ['src/**', 'consumers/**', 'producers/**', 'config/**/*.ts'], reportsDirectory: 'coverage' },
  },
})
