import { defineConfig } from 'vitest/config'

/** The tests that `npm run mutate` names. Each file runs afresh, since a mutant may change what a module does as it loads. */
export default defineConfig({
  test: {
    include: (process.env.MUTATION_TESTS ?? '').split(','),
    testTimeout: 30_000,
    execArgv: ['--disable-warning=TimeoutNegativeWarning'],
  },
})
