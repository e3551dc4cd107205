import { defineConfig } from 'vitest/config'
import { SHARED } from './vitest.shared.ts'

/** The long proofs: whole data sets, many kills. `npm test` runs their short forms. */
export default defineConfig({
  test: {
    ...SHARED,
    env: { ...SHARED.env, IN_PROOF: '1' },
    include: ['test/**/*.proof.ts'],
    fileParallelism: false,
    testTimeout: 1_800_000,
  },
})
