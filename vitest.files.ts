import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

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
  'bystander/lists',
  'bystander/others',
  'bystander/work',

  'app/commands/doctor-models',
  'app/commands/eval-rows',
  'app/commands/judge-reports',
  'app/commands/learn',
  'app/commands/learn-labels',
  'app/commands/library',
  'app/commands/refusals',
  'config/load',
  'lab/evaluation/held-out',
  'lab/evaluation/steering',
  'models/attacks',
  'models/read-answer',
  'models/wire',
  'names',
  'producers/publisher',
  'protocols/paper',

  // Replaces a module, which files that share their modules can't.
  'record/lane-audits',
].map((name) => join(TEST, `${name}.test.ts`))
for (const file of LONG) if (!files.includes(file)) throw new Error(`${file} is named here, and is not there`)

const alone = files.filter((file) => !starts(file))
const chosen = alone.filter((file) => !LONG.includes(file))

const named = (some: readonly string[]) => some.map((file) => relative(import.meta.dirname, file))

/** The files of tests that need nothing but this process, and little time. */
export const FAST = named(chosen)
/** How many start a server or another process, and how many take long without. */
export const OTHERS = { starting: files.length - alone.length, long: LONG.length }
