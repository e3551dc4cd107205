import type { Transcript } from '../../contracts/facts/verdict.ts'
import type { CallRecord } from '../understudy/call-log.ts'

/** Compares the model's own log with the transcripts, call by call. */
export interface Ledger {
  /** Calls in the model's log: journaled, failed and orphaned together. */
  readonly logged: number
  /** Calls whose answer stands in a transcript. */
  readonly journaled: number
  /** Calls that a transcript names with their failure. */
  readonly failed: number
  /** Calls that no transcript knows: answered or cut off, never journaled. */
  readonly orphans: readonly CallRecord[]
  /** Calls that a transcript names and the model never saw. */
  readonly invented: readonly string[]
  /** Calls that stand in transcripts more than once. */
  readonly claimedTwice: readonly string[]
  /** By what befell a call, how the transcripts say it ended. */
  readonly outcomes: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** Tokens by the model's log, of the calls that it answered in full and a transcript names. */
  readonly tokens: number
}

/** Recounts every call from both sides. */
export function ledgerOf(log: readonly CallRecord[], transcripts: readonly Transcript[]): Ledger {
  const named = transcripts.flatMap(({ turns }) => turns.flatMap(({ calls }) => calls))
  const outcomesById = new Map(named.map(({ id, outcome }) => [id, outcome]))
  const seen = new Set(log.map(({ call }) => call))
  const outcomeOf = ({ call }: CallRecord) => outcomesById.get(call ?? '')
  const known = log.filter((record) => outcomeOf(record) !== undefined)
  const outcomes = new Map<string, Map<string, number>>()
  for (const record of log) {
    const befell = record.fault ?? 'none'
    const row = outcomes.get(befell) ?? new Map<string, number>()
    outcomes.set(befell, row)
    const outcome = outcomeOf(record) ?? 'orphaned'
    row.set(outcome, (row.get(outcome) ?? 0) + 1)
  }
  return {
    logged: log.length,
    journaled: known.filter((record) => outcomeOf(record) === 'answered').length,
    failed: known.filter((record) => outcomeOf(record) !== 'answered').length,
    orphans: log.filter((record) => outcomeOf(record) === undefined),
    invented: [...outcomesById.keys()].filter((id) => !seen.has(id)),
    claimedTwice: [...Map.groupBy(named, ({ id }) => id)].flatMap(([id, same]) => (same.length > 1 ? [id] : [])),
    outcomes,
    tokens: known
      .filter(({ status, fault }) => status === 'answered' && fault !== 'html')
      .reduce((total, { promptTokens, completionTokens }) => total + promptTokens + completionTokens, 0),
  }
}
