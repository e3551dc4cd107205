import type { Settings } from '../../../config/schema.ts'
import { entryOf } from '../domain/entry-of.ts'

/** What a running process can take anew; `enabled` of a protocol is not among it: queues and series are made for what is on. */
const TAKEN_ANEW: ReadonlySet<string> = new Set(['protocols', 'routes', 'limits', 'budgets'])
const SWITCH = /^protocols\.[^.]+\.enabled$/

/** The paths at which two settings differ, without their values, and those of them that only a restart can change. */
export function changedSettings(
  one: Settings,
  other: Settings,
): { readonly paths: string[]; readonly fixed: string[] } {
  const paths = pathsOf(one, other, [])
  return { paths, fixed: paths.filter((path) => !TAKEN_ANEW.has(path.split('.')[0] ?? '') || SWITCH.test(path)) }
}

function pathsOf(one: unknown, other: unknown, at: readonly string[]): string[] {
  if (isMapping(one) && isMapping(other)) {
    const names = new Set([...Object.keys(one), ...Object.keys(other)])
    return [...names].flatMap((name) => pathsOf(entryOf(one, name), entryOf(other, name), [...at, name]))
  }
  return JSON.stringify(one) === JSON.stringify(other) ? [] : [at.join('.')]
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
