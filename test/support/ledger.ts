import type { Verdict } from '../../src/contracts/facts/verdict.ts'

/** Verdicts that stand on the topic more than once, and whether the repeats are byte-identical. */
export function repeats(records: readonly string[]): { id: string; identical: boolean }[] {
  const byId = Map.groupBy(records, (record) => (JSON.parse(record) as Verdict).id)
  return [...byId].flatMap(([id, same]) => (same.length < 2 ? [] : [{ id, identical: new Set(same).size === 1 }]))
}
