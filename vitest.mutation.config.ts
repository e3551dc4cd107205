import { defineConfig } from 'vitest/config'

/** How `npm run mutate` runs the tests that it names: each file afresh, since a mutant may change what a module does when it loads. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    execArgv: ['--disable-warning=TimeoutNegativeWarning'],
  },
})
