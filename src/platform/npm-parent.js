import { readFileSync } from 'node:fs'

/** How often it is looked whether npm is still there, in ms. */
const LOOK_MS = 1_000
/** npm starts scripts in a shell, which some shells do not replace by the command: it outlives npm. */
const SHELL = /^(?:ba|da|a|k|z)?sh$|^busybox$/

/**
 * Calls `gone` once npm, npx or a shell between it and this process has ended. A killed npm forwards no signal, and leaves
 * what it started running with nobody to stop it. Does nothing where none of them started this process.
 * @param {Readonly<Record<string, string | undefined>>} environment
 * @param {() => void} gone
 */
export function watchNpm(environment, gone) {
  if (environment.npm_lifecycle_event === undefined || environment.GAVEL_OUTLIVES_NPM === 'true') return
  const first = ancestors()
  const looking = setInterval(() => {
    const now = ancestors()
    if (first.every((pid, at) => now[at] === pid)) return
    clearInterval(looking)
    gone()
  }, LOOK_MS).unref()
}

/** The process that started this one, and while that is a shell, the one that started it. */
function ancestors() {
  const found = [process.ppid]
  for (let parent = parentOfShell(process.ppid); parent !== null; parent = parentOfShell(parent)) found.push(parent)
  return found
}

/**
 * Null for what is no shell, and where the system has no /proc: there only the nearest parent is watched.
 * @param {number} pid
 */
function parentOfShell(pid) {
  try {
    // `pid (name) state parent …`; a name may hold parentheses.
    const [, name = '', parent = ''] = /^\d+ \((.*)\) \S+ (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    return SHELL.test(name) ? Number(parent) : null
  } catch {
    return null
  }
}
