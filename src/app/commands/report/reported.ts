import type { Terminal } from '../../../cli/terminal.ts'
import { actionMessage } from '../../../contracts/facts/action-messages.ts'
import type { RecordReader } from '../../../contracts/ports/record.ts'
import { statementOf } from '../../../record/statement.ts'
import { actionOf, basisOf } from '../../../record/statement-basis.ts'
import type { StatementMap } from '../../../record/statement-words.ts'
import type { ReportedAction } from './figures.ts'

/** Since when the record has actions, by how long it keeps them. */
export const keptSince = (keep: number) => Date.now() - keep

/** Says which part of a time is missing, since the record no longer has its actions. */
export function warnOfExpired({ since, keep }: { since: number; keep: number }, terminal: Pick<Terminal, 'say'>): void {
  if (since >= keptSince(keep)) return
  const kept = new Date(keptSince(keep)).toISOString()
  terminal.say(`The record keeps actions for record.keep: those that were told before ${kept} are missing here.`)
}

/** Every action of a tenant whose `at` is in this time, with its statement; those by which nothing was done are left out. */
export async function* reportedActions(
  record: RecordReader,
  { tenant, since, until, map }: { tenant: string; since: number; until: number; map: StatementMap },
): AsyncGenerator<ReportedAction> {
  for await (const { message } of record.actions()) {
    const read = actionMessage.safeParse(message)
    if (!read.success || read.data.withdraw === true || read.data.tenant !== tenant || read.data.what === 'none')
      continue
    const { id, at } = read.data
    if (at < since || at >= until) continue
    const found = await actionOf(record, tenant, id)
    const basis = await basisOf(record, read.data)
    const statement = statementOf(basis, map)
    const stated = 'puid' in statement
    yield {
      action: id,
      tenant,
      at,
      isWithdrawn: found?.isWithdrawn === true,
      after: basis.content === null ? null : Math.max(0, at - basis.content.post.createdAt),
      statement: stated ? statement : null,
      why: stated ? '' : statement.join('; '),
    }
  }
}
