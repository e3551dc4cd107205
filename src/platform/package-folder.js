import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The folder of this package: the nearest one above that holds a package.json, whether the code runs from sources or was built
 * of them.
 */
export const root = nearestPackage(dirname(fileURLToPath(import.meta.url)))

/**
 * Whether this is a clone with its sources, and no installed package, into which nothing is ever written.
 */
export const isClone = existsSync(join(root, 'src', 'main.ts'))

/**
 * Gavel's version, as in package.json.
 *
 * @returns {string}
 */
export function version() {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version
}

/**
 * Where an installed package keeps what it can make again: the user's own folder for such, which is no stranger's to write
 * to. Undefined where the user has none.
 *
 * @returns {string | undefined}
 */
export function userCache() {
  const given = process.env.XDG_CACHE_HOME
  if (given?.startsWith('/')) return join(given, 'gavel')
  try {
    return join(homedir(), '.cache', 'gavel')
  } catch {
    return undefined // An account without HOME, and without an entry in the user database.
  }
}

/**
 * @param {string} folder
 * @returns {string}
 */
function nearestPackage(folder) {
  if (existsSync(join(folder, 'package.json'))) return folder
  const above = dirname(folder)
  if (above === folder)
    throw new Error(`No package.json above ${fileURLToPath(import.meta.url)}: is this package whole?`)
  return nearestPackage(above)
}
