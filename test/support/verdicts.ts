import { noComments, noUsage, type Verdict } from '../../src/contracts/facts/verdict.ts'
import type { VerdictForm } from '../../src/contracts/facts/verdict-fields.ts'
import { verdictId } from '../../src/contracts/facts/verdict-id.ts'

/** How a process of a test writes verdicts. */
export const WRITES: VerdictForm = { schema: 2, gavel: 'test' }

/** A final verdict with little in it, decided at `at` (ISO 8601), which is also its every other time. */
export function aVerdict(at: string, change: Partial<Verdict> & { crossKind?: boolean } = {}): Verdict {
  const { crossKind = false, ...own } = change
  const { protocol = 'rumor', tenant = 'default', subjectId = 'p', revision = 1 } = own
  const beside = own.postId === undefined ? {} : { postId: own.postId }
  return {
    schema: 1,
    id: verdictId({ protocol, tenant, subjectId, revision, crossKind, ...beside }),
    protocol,
    tenant,
    subjectId,
    revision,
    final: true,
    supersedes: null,
    label: 'rumor',
    scores: {},
    rationale: '',
    decidedBy: 'judge',
    rounds: 1,
    evidence: { support: [], oppose: [], precedents: [] },
    degraded: [],
    faults: [],
    counts: noComments(),
    usage: noUsage(),
    models: {},
    versions: { script: 1, prompts: '', settings: '' },
    timing: { createdAt: at, receivedAt: at, openedAt: at, decidedAt: at, modelMs: 0, overheadMs: 0 },
    ...own,
  }
}
