import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { Asset } from './console.ts'

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** The files that pages are made with, from the folder beside this file. */
export function readAssets(): Asset[] {
  const folder = join(import.meta.dirname, 'assets')
  return readdirSync(folder)
    .sort()
    .map((name) => ({
      name,
      type: entryOf(TYPES, name.split('.').at(-1) ?? '') ?? 'application/octet-stream',
      bytes: new Uint8Array(readFileSync(join(folder, name))),
    }))
}

/** The style sheets among them, as one text. */
export function styleOf(assets: readonly Asset[]): string {
  const sheets = assets.filter(({ name }) => name.endsWith('.css'))
  return sheets.map(({ bytes }) => Buffer.from(bytes).toString('utf8')).join('')
}

/** Of a runbook so many steps stand on the page. */
const MOST_STEPS = 3

/** The first steps of a page of runbooks by its name; none where there is no such page. */
export function runbooksIn(folder: string): (name: string) => readonly string[] {
  const known = new Map<string, readonly string[]>()
  return (name) => {
    const steps = known.get(name) ?? (/^[A-Za-z]{1,60}$/.test(name) ? stepsOf(join(folder, `${name}.md`)) : [])
    known.set(name, steps)
    return steps
  }
}

function stepsOf(file: string): string[] {
  try {
    const [, todo = ''] = readFileSync(file, 'utf8').split('**First steps.**')
    return [...todo.matchAll(/^\d+\. (.*)$/gm)]
      .slice(0, MOST_STEPS)
      .map(([, step = '']) => step.replaceAll(/[`*]/g, ''))
  } catch {
    return []
  }
}
