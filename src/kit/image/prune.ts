import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Nothing reads these while the program runs: types, sources, maps, tests and pages. Licences stay. */
const UNREAD_FILES = /\.(?:d\.[cm]?ts|[cm]?tsx?|map|flow|markdown|md|c|cc|cpp|h|gyp)$|^(?:tsconfig.*\.json|\.[^/]+)$/i
const UNREAD_FOLDERS = /^(?:tests?|__tests__|__fixtures__|examples?|benchmarks?|coverage)$/
const LICENCE = /^(?:licen[cs]e|notice|copying)/i
/** Builds for browsers and other loaders, and sources: the package's `exports` lead to none of them. */
const UNLOADED = ['build/amd', 'build/global', 'build/cjs-browser', 'src'].map((folder) => join('luxon', folder))
/** What only the embedder `local` needs. */
const EMBEDDER = '@energetic-ai'

/** Removes from a folder of packages what nothing reads; without `shelves` the embedder too. Returns how many bytes are gone. */
export function prune(packages: string, { shelves }: { readonly shelves: boolean }): number {
  let gone = 0
  const remove = (path: string) => {
    gone += sizeOf(path)
    rmSync(path, { recursive: true, force: true })
  }
  const visit = (folder: string, { holdsPackages }: { readonly holdsPackages: boolean }): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) {
        // A package may be called test; within one the name has its usual meaning.
        if (!holdsPackages && UNREAD_FOLDERS.test(entry.name)) remove(path)
        else
          visit(path, { holdsPackages: entry.name === 'node_modules' || (holdsPackages && entry.name.startsWith('@')) })
      } else if (UNREAD_FILES.test(entry.name) && !LICENCE.test(entry.name)) remove(path)
    }
  }
  if (!shelves) remove(join(packages, EMBEDDER))
  for (const path of UNLOADED) remove(join(packages, path))
  visit(packages, { holdsPackages: true })
  return gone
}

export function sizeOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return 0
  if (!stat.isDirectory()) return stat.size
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}
