import { defineConfig } from 'vitest/config'

/** The long proofs: whole data sets, many kills. `npm test` runs their short forms. */
export default defineConfig({
  test: {
    include: ['test/**/*.proof.ts'],
    fileParallelism: false,
    testTimeout: 1_800_000,
    hookTimeout: 300_000,
    execArgv: ['--disable-warning=TimeoutNegativeWarning'],
  },
})
