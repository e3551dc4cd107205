import { defineConfig } from 'vitest/config'
import { FAST, OTHERS } from './vitest.files.ts'
import { SHARED } from './vitest.shared.ts'

const left = `${OTHERS.starting} that start a server or another process, and ${OTHERS.long} that take long`
const saysWhatIsLeft = { onInit: () => process.stderr.write(`Left to npm test: ${left} (vitest.files.ts).\n`) }

/**
 * The tests that need nothing but this process, and little time: for every change, and for watching while one writes. Files share
 * what they have imported, which is most of the time of so many.
 */
export default defineConfig({
  test: {
    ...SHARED,
    include: FAST,
    isolate: false,
    // Half of the time is waiting, for sockets and timers.
    maxWorkers: 4,
    reporters: ['default', saysWhatIsLeft],
    testTimeout: 30_000,
  },
})
