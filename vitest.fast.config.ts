import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { SHARED } from './vitest.shared.ts'

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

/** The tests that need nothing but this process: for every change, and for watching while one writes. */
export default defineConfig({
  test: {
    ...SHARED,
    include: files.filter((file) => !starts(file)).map((file) => relative(import.meta.dirname, file)),
    testTimeout: 30_000,
  },
})
