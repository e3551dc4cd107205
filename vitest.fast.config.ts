import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { SHARED } from './vitest.shared.ts'

/** What starts a server or another process. */
const STARTS = /^node:child_process$|\/kit\/stack\/(?:stack|servers\/)/
const IMPORTED = /^(?:import|export)\s(?!type\s)[^']*?from '([^']+)'/gm

const known = new Map<string, boolean>()

/** Whether a file of tests, or one of `test/` that it imports, starts a server or another process. */
function starts(file: string): boolean {
  const before = known.get(file)
  if (before !== undefined) return before
  known.set(file, false)
  const imported = [...readFileSync(file, 'utf8').matchAll(IMPORTED)].map(([, from = '']) => from)
  const own = imported
    .filter((from) => from.startsWith('.'))
    .map((from) => join(dirname(file), from))
    .filter((path) => !relative(TEST, path).startsWith('..'))
  const found = imported.some((from) => STARTS.test(from)) || own.some(starts)
  known.set(file, found)
  return found
}

const TEST = join(import.meta.dirname, 'test')
const files = readdirSync(TEST, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join(TEST, name))

/** What computes or waits for seconds, each by itself more than twenty others together. */
const LONG = [
  'bystander/work',
  ...['commands/doctor-models', 'commands/judge-reports', 'commands/learn', 'commands/library', 'commands/refusals'],
  'config/load',
  'evaluation/held-out',
  ...['gateway/attacks', 'gateway/read-answer', 'gateway/wire'],
  'names',
  'producers/publisher',
  'protocols/paper',
].map((name) => join(TEST, `${name}.test.ts`))
for (const file of LONG) if (!files.includes(file)) throw new Error(`${file} is named here, and is not there`)

const alone = files.filter((file) => !starts(file))
const chosen = alone.filter((file) => !LONG.includes(file))
const left = `${files.length - alone.length} that start a server or another process, and ${LONG.length} that take long`
const saysWhatIsLeft = { onInit: () => process.stderr.write(`Left to npm test: ${left} (vitest.fast.config.ts).\n`) }

/**
 * The tests that need nothing but this process, and little time: for every change, and for watching while one writes. Files share
 * what they have imported, which is most of the time of so many.
 */
export default defineConfig({
  test: {
    ...SHARED,
    include: chosen.map((file) => relative(import.meta.dirname, file)),
    isolate: false,
    // Half of the time is waiting, for sockets and timers.
    maxWorkers: 4,
    reporters: ['default', saysWhatIsLeft],
    testTimeout: 30_000,
  },
})
