import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Polls whether files, or what lies in folders, have changed since the last poll; `changed` is called once they have stayed so for
 * another one, since several are seldom written at once. What is not there counts as such.
 */
export function fileWatch(paths: () => readonly string[], changed: () => void): { poll(): void } {
  let known = stateOf(paths())
  let last = known
  return {
    poll() {
      const now = stateOf(paths())
      const settled = now === last
      last = now
      if (!settled || now === known) return
      known = now
      changed()
    },
  }
}

function stateOf(paths: readonly string[]): string {
  return JSON.stringify(
    paths.map((path) => [statOf(path), ...entriesOf(path).map((name) => [name, statOf(join(path, name))])]),
  )
}

/** Of a link what it leads to: a mounted ConfigMap changes by its links alone. */
function statOf(path: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(path)
    return `${ino} ${size} ${mtimeMs}`
  } catch (error) {
    return whyNot(error)
  }
}

function entriesOf(path: string): string[] {
  try {
    return statSync(path).isDirectory() ? readdirSync(path).sort() : []
  } catch (error) {
    return [whyNot(error)]
  }
}

/** What can't be looked at is in that state; its reader reports what is wrong. */
function whyNot(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
