import { defineConfig } from 'vitest/config'
import { SHARED } from '../../vitest.shared.ts'

/** The tests that `npm run mutate` names. Each file runs afresh, since a mutant may change what a module does as it loads. */
export default defineConfig({
  test: {
    include: (process.env.MUTATION_TESTS ?? '').split(','),
    setupFiles: SHARED.setupFiles,
    testTimeout: 30_000,
    execArgv: ['--disable-warning=TimeoutNegativeWarning'],
  },
})
