import { join } from 'node:path'
import { isClone, root, userCache } from './package-folder.js'

// How every process of the service runs. V8 takes what it is given before it collects: without a bound a process that needs
// 150 MiB grows to 600. The young space is as large from the beginning: what a call needs is gone before it is collected.
// Beside so small a bound V8 collects all of the old space each time that it has grown by 30 %: a judge at half load did so every
// two seconds, on both cores of two. It may double instead, within the bound.
// An operator's own heap (NODE_OPTIONS=--max-old-space-size=…) is kept. Commands that read whole topics have V8's own bound: what
// they hold grows with what was judged, and 200,000 verdicts ended a recovery.
const WHOLE_TOPICS = new Set(['recover', 'judge-again', 'record', 'verdicts'])
/** @param {readonly string[]} command the command's words, its name the first that is no option nor an option's value */
export function nodeFlags(nodeOptions = '', command = []) {
  const quiet = ['--disable-warning=TimeoutNegativeWarning', '--disable-warning=ExperimentalWarning']
  const name = command.find((word, nth) => !word.startsWith('-') && !/^--[^=]+$/.test(command[nth - 1] ?? ''))
  const readsTopics = WHOLE_TOPICS.has(name ?? '')
  if (readsTopics || nodeOptions.includes('--max-old-space-size')) return quiet
  const young = ['--min-semi-space-size=16', '--max-semi-space-size=16']
  return [...quiet, '--max-old-space-size=192', '--heap-growing-percent=100', ...young]
}

// glibc gives each thread an arena of its own, and each keeps the most that its thread ever needed at once: after minutes two
// thirds of what was allocated outside V8's heap was free, and still growing (docs/bench.md). Threads that allocate at the same
// time wait for one another at one arena: searches of large shelves on many cores may need more of them, and an operator who sets
// the variable keeps their own. Other C libraries don't know it.
// Node keeps what it has compiled in a clone's node_modules, or in the user's own cache: half of a short command's time.
// It works without where the folder can't be made.
/** @param {Readonly<Record<string, string | undefined>>} environment */
export function nodeEnvironment(environment) {
  const own = userCache()
  const compiled = isClone ? join(root, 'node_modules', '.cache', 'gavel') : own && join(own, 'compiled')
  return { MALLOC_ARENA_MAX: '1', ...(compiled && { NODE_COMPILE_CACHE: compiled }), ...environment }
}
