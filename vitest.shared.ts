import { join } from 'node:path'

/** What all suites share. Started processes keep what Node compiled for the next: it is half of their start. */
export const SHARED = {
  hookTimeout: 300_000,
  setupFiles: [join(import.meta.dirname, 'test', 'support', 'own-folders-removed.ts')],
  execArgv: ['--disable-warning=TimeoutNegativeWarning'],
  env: { NODE_COMPILE_CACHE: join(import.meta.dirname, '.cache', 'compiled') },
}
