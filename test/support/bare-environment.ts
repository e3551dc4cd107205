/**
 * What a command that a test starts sees: where programs lie, the cache of compiled sources (vitest.config.ts), and its own
 * variables; none of whoever runs the tests.
 */
export function bareEnvironment(own: Readonly<Record<string, string>>): Record<string, string | undefined> {
  return { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...own }
}
