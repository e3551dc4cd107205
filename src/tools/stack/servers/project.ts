import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The folder of this package: the nearest one above that holds a package.json. */
export const projectRoot = nearestPackage(import.meta.dirname)

/** Where downloads are kept for the next time unless the caller names another folder. */
export const defaultCacheDirectory = join(projectRoot, '.cache')

function nearestPackage(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder
  const above = dirname(folder)
  if (above === folder) throw new Error(`No package.json above ${import.meta.dirname}: is this package whole?`)
  return nearestPackage(above)
}
