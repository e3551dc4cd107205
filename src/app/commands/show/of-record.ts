import type { Settings } from '../../../../config/schema.ts'
import { printable, type Terminal } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { SubjectKind } from '../../../contracts/facts/thread.ts'
import { nameIn } from '../../../contracts/facts/verdict-id.ts'
import type { RecordedWord, RecordReader, SubjectRecord } from '../../../contracts/ports/record.ts'
import { recordReaderOf } from '../../../record/record-store.ts'
import { verdictLine } from '../verdict-line.ts'

/** All that the record has of one subject. Throws an `OperatorError` if that is nothing. */
export async function ofRecord(
  settings: Settings,
  { tenant, id, kind }: { tenant: string; id: string; kind: SubjectKind | undefined },
): Promise<SubjectRecord> {
  const record = await recordReaderOf(settings)
  try {
    const found = (await record.subject({ tenant, id, kind })) ?? (await subjectNamed(record, tenant, id))
    if (found === null)
      throw new OperatorError(`The record has nothing of ${printable(id, 200)} (tenant ${printable(tenant, 100)}).`)
    return found
  } finally {
    await record.close()
  }
}

/** What an appeal or an action of this id is about. */
async function subjectNamed(record: RecordReader, tenant: string, id: string): Promise<SubjectRecord | null> {
  const [about] = await record.subjectsNamed(id, [tenant])
  return about === undefined ? null : record.subject({ tenant, id: about.postId, kind: about.kind })
}

export function printRecord({ subject, deletedAt, verdicts, said }: SubjectRecord, terminal: Terminal): void {
  terminal.out(`${subject.kind} ${printable(nameIn(subject), 600)} of ${printable(subject.tenant, 100)}, by the record`)
  if (deletedAt !== null) terminal.out(`deleted ${new Date(deletedAt).toISOString()}; earlier notes on it are erased`)
  for (const { verdict, standing, contested, conflicting, erased } of verdicts) {
    terminal.out(verdictLine(verdict))
    const flags = {
      'stands now': standing,
      contested,
      'another record has its id': conflicting,
      'words erased': erased,
    }
    const notes = Object.entries(flags).flatMap(([note, holds]) => (holds ? [note] : []))
    terminal.out(`  ${[verdict.timing.decidedAt, ...notes].map((note) => printable(note, 60)).join('; ')}`)
    if (verdict.rationale !== '') terminal.out(`  why: ${printable(verdict.rationale, 2_000)}`)
    if (verdict.decision !== undefined)
      terminal.out(
        `  decided by ${printable(verdict.decision.by, 200)} against ${printable(verdict.decision.against ?? 'nothing', 600)}`,
      )
  }
  if (said.length > 0) terminal.out('notes on it:')
  for (const one of said) terminal.out(`  ${wordOf(one)}`)
}

function wordOf({ said, id, protocol, label, by, at, message }: RecordedWord): string {
  const { why, opinion, withdraw, outcome } = message as Partial<
    Record<'why' | 'opinion' | 'withdraw' | 'outcome', unknown>
  >
  const isDecision = said === 'decision'
  const kind = isDecision && opinion === true ? 'second opinion' : isDecision && withdraw === true ? 'withdrawal' : said
  const what = said === 'outcome' && typeof outcome === 'string' ? `outcome: ${printable(outcome, 20)}` : kind
  return [
    `${new Date(at).toISOString()} ${what}${protocol === '' ? '' : ` (${printable(protocol, 64)})`}`,
    ...(label === null ? [] : [printable(label, 64)]),
    ...(by === '' ? [] : [`by ${printable(by, 200)}`]),
    ...(typeof why === 'string' ? [printable(why, 300)] : []),
    ...(said === 'proposal' || said === 'action' ? [printable(id, 600)] : []),
  ].join(', ')
}
