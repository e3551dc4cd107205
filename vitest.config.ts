import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { FAST } from './vitest.files.ts'
import { LongestFirst, WORKERS } from './vitest.order.ts'
import { SHARED } from './vitest.shared.ts'

/** What several processes or a broker must do within seconds: run when all others have ended, two at a time. */
const QUIET = ['apache-kafka', 'memory-kafka', 'limits', 'bullmq'].map((name) => `test/contracts/${name}.test.ts`)

/** Node loads the modules, which each file has for itself: it keeps what it has compiled of them, and Vitest does not. */
const OF_NODE = { viteModuleRunner: false, nodeLoader: false }
/** What puts other modules in the place of some, which Node does not. */
const MOCKING = ['record/postgres-record', 'record/lane-audits', 'kit/stack/kafka-cluster-id'].map(
  (name) => `test/${name}.test.ts`,
)

const SHARED_KAFKA = join(import.meta.dirname, 'test', 'support', 'shared-kafka.ts')

/** Everything is slow on a busy machine, in ms: only what hangs takes longer. */
const HANGS_AFTER = 120_000

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
          exclude: QUIET,
          isolate: false,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
          testTimeout: HANGS_AFTER,
        },
      },
      {
        test: {
          ...SHARED,
          name: { label: 'four at a time', color: 'cyan' },
          globalSetup: [SHARED_KAFKA],
          include: ['test/**/*.test.ts'],
          exclude: [...QUIET, ...FAST, ...MOCKING],
          experimental: OF_NODE,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
          testTimeout: HANGS_AFTER,
        },
      },
      {
        test: {
          ...SHARED,
          name: { label: 'with mocks', color: 'magenta' },
          include: MOCKING,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
          testTimeout: HANGS_AFTER,
        },
      },
      {
        test: {
          ...SHARED,
          name: { label: 'at the end', color: 'yellow' },
          include: QUIET,
          experimental: OF_NODE,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          testTimeout: HANGS_AFTER,
        },
      },
    ],
    sequence: { sequencer: LongestFirst },
    reporters: ['default'],
    coverage: { include: ['src/**', 'consumers/**', 'producers/**', 'config/**/*.ts'], reportsDirectory: 'coverage' },
  },
})
