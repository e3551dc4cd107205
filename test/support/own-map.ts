import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROJECT } from '../../config/load.ts'

/** The shipped map as a platform completes it: its grounds stand alone, and it says how people may object. */
export function completedMap(): string {
  const shipped = readFileSync(join(PROJECT, 'config', 'reasons', 'map.yaml'), 'utf8')
  const alone = shipped.replaceAll(/^( {2}\w+: \{ is: \w+,)/gm, '$1 alone: true,')
  return `${alone}\nredress: { en: 'Complain at https://x.example/{puid}.', de: 'Beschwerde unter https://x.example/{puid}.' }\n`
}

/** The same as a file in this folder: for `review.statements`. */
export function completedMapIn(folder: string): string {
  const path = join(folder, 'map.yaml')
  writeFileSync(path, completedMap())
  return path
}
