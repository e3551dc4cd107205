import type { Transcript, Verdict } from '../../src/domain/verdict.ts'
import type { CallRecord } from '../../src/stack/understudy/call-log.ts'

/** What the model's log says against what the transcripts say. */
export interface Ledger {
  readonly logged: number
  readonly journaled: number
  readonly failed: number
  /** Calls that no transcript knows: answered or cut off, never journaled. */
  readonly orphans: readonly CallRecord[]
  /** Calls that a transcript claims and the model never saw. */
  readonly invented: readonly string[]
}

/** Recounts every call from both sides. */
export function ledgerOf(log: readonly CallRecord[], transcripts: readonly Transcript[]): Ledger {
  const claimed = new Map(
    transcripts.flatMap(({ turns }) =>
      turns.flatMap(({ calls }) => calls.map(({ id, outcome }) => [id, outcome] as const)),
    ),
  )
  const seen = new Set(log.map(({ call }) => call))
  const known = log.filter(({ call }) => call !== null && claimed.has(call))
  return {
    logged: log.length,
    journaled: known.filter(({ call }) => claimed.get(call ?? '') === 'answered').length,
    failed: known.filter(({ call }) => claimed.get(call ?? '') !== 'answered').length,
    orphans: log.filter(({ call }) => call === null || !claimed.has(call)),
    invented: [...claimed.keys()].filter((id) => !seen.has(id)),
  }
}

/** Verdicts that stand on the topic more than once, and whether the repeats are byte-identical. */
export function repeats(records: readonly string[]): { id: string; identical: boolean }[] {
  const byId = Map.groupBy(records, (record) => (JSON.parse(record) as Verdict).id)
  return [...byId].flatMap(([id, same]) => (same.length < 2 ? [] : [{ id, identical: new Set(same).size === 1 }]))
}
