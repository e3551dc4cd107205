import type { RecordedWord, RecordStore, Reversal } from '../../contracts/ports/record.ts'
import {
  dueReversalsIn,
  FORGET_REVERSALS,
  LATER_UNSTATED,
  NEW_UNSTATED,
  notesOfAction,
  OUTLIVES,
  SETTLE_REVERSAL,
  STATED,
  tenantOfAction,
  UNSTATED,
} from '../actions.ts'
import { recordedWord } from '../record-rows.ts'
import { inTurnLater, type WaitingTenant } from '../turns.ts'
import type { Database } from './connection.ts'
import { opened, type SealedNote } from './opened.ts'
import { touch, type WritingStep } from './writing.ts'

/** Notes that are read at a time. */
const PAGE = 200

export async function* actionsIn(db: Database): AsyncGenerator<RecordedWord> {
  for (let after = 0; ; ) {
    const { rows, last } = await db.snapshot(async (sql) => {
      const found = await sql.rows<SealedNote & { n: number }>(
        `SELECT * FROM said WHERE n > ? AND ${OUTLIVES} ORDER BY n LIMIT ?`,
        after,
        PAGE,
      )
      return { last: found.at(-1), rows: (await opened(sql, found)).rows }
    })
    yield* rows.map(recordedWord)
    if (last === undefined) return
    after = last.n
  }
}

/** An action, or its withdrawal, which does not name what it is about: whichever comes last, both are noted of the same subject. */
export async function joinWithdrawal(writing: WritingStep, note: string): Promise<void> {
  const { action, withdrawal } = notesOfAction(note)
  if (note === action) await writing.sql.run(NEW_UNSTATED, action, tenantOfAction(action))
  const [taken] = await writing.sql.rows<{ s: number; protocol: string }>(
    'SELECT s, protocol FROM said WHERE id = ?',
    action,
  )
  if (taken === undefined) return
  await writing.sql.run('UPDATE said SET s = ? WHERE id = ?', taken.s, withdrawal)
  touch(writing, taken.s, taken.protocol)
}

const REVERSALS = dueReversalsIn('text')

/** What is due of actions: their reversals, and their statements, each tenant's in turn. */
export function dueOfActions(
  db: Database,
): Pick<RecordStore, 'reversals' | 'settleReversal' | 'unstated' | 'settleStatement'> {
  return {
    reversals: async (most) =>
      inTurnLater(most, await db.rows<WaitingTenant>(REVERSALS.tenants, most), (tenant, share) =>
        db.rows<Reversal>(REVERSALS.of, tenant, share),
      ),
    async settleReversal({ verdict, action }) {
      await db.run(SETTLE_REVERSAL, verdict, action)
      await db.run(FORGET_REVERSALS, verdict)
    },
    async unstated(now, most) {
      const tenants = await db.rows<WaitingTenant>(UNSTATED.tenants, now, most)
      const due = await inTurnLater(most, tenants, (tenant, share) =>
        db.rows<{ action: string }>(UNSTATED.of, tenant, now, share),
      )
      return due.map(({ action }) => action)
    },
    async settleStatement(action, again) {
      if (again === null) await db.run(STATED, action)
      else await db.run(LATER_UNSTATED, again, action)
    },
  }
}
