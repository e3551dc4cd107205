import type { Journal, ModelCall } from '../../contracts/facts/case.ts'
import type { LostCall } from '../../contracts/ports/cases.ts'

/** Calls with the key of the ask that they were made for. */
export function callsFor(calls: readonly ModelCall[], key: string): LostCall[] {
  return calls.map((call) => ({ key, ...call }))
}

/** The calls behind a journal's entries, except those under the keys `except`. */
export function callsIn(journal: Journal, except: ReadonlySet<string> = new Set()): LostCall[] {
  return [...journal].flatMap(([key, { calls }]) => (except.has(key) ? [] : callsFor(calls, key)))
}
