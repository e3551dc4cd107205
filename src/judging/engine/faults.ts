import type { Ask } from '../../contracts/facts/ask.ts'
import type { CaseRecord, Journal, JournalEntry } from '../../contracts/facts/case.ts'
import type { FailureCode } from '../../contracts/facts/errors.ts'
import { FAULTS, type Fault, type Ruling } from '../../contracts/facts/verdict.ts'
import type { LostCall } from '../../contracts/ports/cases.ts'

const FAULT_OF: Readonly<Record<FailureCode, Fault>> = {
  unreadable: 'model',
  // What the question holds was refused: no fault of the model, nor ours.
  refused: 'evidence',
  'content-filter': 'evidence',
  rejected: 'model',
  // The account, the key or the settings are refused: the operator's matter, and so ours.
  operator: 'ours',
  unavailable: 'model',
  timeout: 'model',
  'rate-limited': 'model',
  deadline: 'ours',
  aborted: 'ours',
  limited: 'ours',
  budget: 'ours',
  library: 'ours',
  image: 'evidence',
}

/**
 * Whose faults have degraded a ruling, in the order of {@link FAULTS}; none if `degraded` is empty or the subject was
 * deleted. An ask that failed at the case's deadline is the fault of whatever its last call ended with: a model that
 * fails until the deadline is no fault of ours.
 */
export function faultsOf({
  record,
  ruling,
  asked,
  journal,
  lostCalls,
}: {
  record: Pick<CaseRecord, 'comments'>
  ruling: Ruling
  asked: readonly { readonly key: string; readonly ask: Pick<Ask, 'spared'> }[]
  journal: Journal
  lostCalls: readonly LostCall[]
}): Fault[] {
  if (ruling.decidedBy === 'deleted') return []
  const { rekeyed = false, missing = 0 } = record.comments
  if (ruling.degraded.length === 0 && !rekeyed && missing === 0) return []
  const failed = asked.flatMap(({ key, ask }) => {
    const entry = journal.get(key)
    return entry?.failed === undefined || ask.spared === true
      ? []
      : [faultOf(entry, lostCalls.findLast((call) => call.key === key)?.outcome)]
  })
  const found = new Set<Fault>([...(ruling.faults ?? []), ...failed])
  if (rekeyed || missing > 0 || (ruling.comments?.load ?? 0) > 0) found.add('ours')
  return found.size === 0 ? ['evidence'] : FAULTS.filter((fault) => found.has(fault))
}

function faultOf({ failed, calls }: Pick<JournalEntry, 'failed' | 'calls'>, lastLost: string | undefined): Fault {
  const fault = FAULT_OF[failed?.code as FailureCode] ?? 'ours'
  if (failed?.code !== 'deadline') return fault
  const last = calls.at(-1)?.outcome ?? lastLost
  return last === undefined ? fault : (FAULT_OF[last as FailureCode] ?? fault)
}
