import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROJECT } from '../../config/load.ts'
import { reachOfRun } from './reach.ts'

/** Files and lines of a part of the code, tests apart. */
export interface Size {
  readonly part: string
  readonly files: number
  readonly lines: number
}

const FOLDERS = ['src', 'consumers', 'producers', 'config', 'grafana/code', 'deploy/code']

/** The service by what `gavel run` can reach, with its Lua; then the rest, folder by folder. */
export function sizes(): Size[] {
  const all = FOLDERS.flatMap((folder) =>
    readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  ).filter((file) => /\.(?:ts|js|lua)$/.test(file))
  const reached = new Set(reachOfRun())
  const isLua = (file: string) => file.endsWith('.lua')
  const rest = all.filter((file) => !reached.has(file) && !isLua(file))
  return [
    size('service: reached by gavel run', [...reached]),
    size('service: Lua', all.filter(isLua)),
    ...[...Map.groupBy(rest, partOf)].map(([part, files]) => size(part, files)),
  ]
}

function partOf(file: string): string {
  const [top = '', second = ''] = file.split('/')
  return top === 'src' && !second.includes('.') ? `${top}/${second}, not reached` : top
}

function size(part: string, files: readonly string[]): Size {
  const lines = files.map((file) => readFileSync(join(PROJECT, file), 'utf8').split('\n').length - 1)
  return { part, files: files.length, lines: lines.reduce((sum, one) => sum + one, 0) }
}
