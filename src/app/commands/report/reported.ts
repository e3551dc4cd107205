import type { Terminal } from '../../../cli/terminal.ts'
import { actionMessage } from '../../../contracts/facts/action-messages.ts'
import { ANSWERS } from '../../../contracts/facts/appeal-messages.ts'
import type { RecordedAppeal, RecordReader } from '../../../contracts/ports/record.ts'
import { needsNone, statementOf } from '../../../record/statement.ts'
import { actionOf, basisOf } from '../../../record/statement-basis.ts'
import type { StatementMap } from '../../../record/statement-words.ts'
import type { ReportedAction, ReportedAppeal } from './figures.ts'

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
      isExempt: needsNone(read.data, map),
      after: basis.content === null ? null : Math.max(0, at - basis.content.post.createdAt),
      statement: stated ? statement : null,
      why: stated ? '' : statement.join('; '),
    }
  }
}

/** Appeals that are read at once. */
const MOST_READ = 1_000

/** Every appeal of a tenant that came in this time, the oldest first, but for those that were one too many and not taken. */
export async function* reportedAppeals(
  record: Pick<RecordReader, 'appeals'>,
  { tenant, since, until }: { tenant: string; since: number; until: number },
): AsyncGenerator<ReportedAppeal> {
  for (let after: RecordedAppeal | null = null; ; ) {
    const some: readonly RecordedAppeal[] = await record.appeals(tenant, { since, until, after, most: MOST_READ })
    for (const { id: appeal, at, by: side, protocol, outcome, isUndone } of some) {
      const answeredAt = outcome === null || !ANSWERS.includes(outcome.outcome) ? null : Date.parse(outcome.at)
      yield {
        appeal,
        at,
        side,
        protocol,
        outcome: outcome === null ? 'open' : isUndone ? 'undone' : outcome.outcome,
        ended: outcome?.outcome ?? null,
        after: answeredAt === null || isUndone ? null : Math.max(0, answeredAt - at),
      }
    }
    if (some.length < MOST_READ) return
    after = some.at(-1) ?? null
  }
}
