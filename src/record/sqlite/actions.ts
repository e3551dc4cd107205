import type { Reversal } from '../../contracts/ports/record.ts'
import {
  dueReversalsIn,
  FORGET_REVERSALS,
  LATER_UNSTATED,
  NEW_UNSTATED,
  notesOfAction,
  SETTLE_REVERSAL,
  STATED,
  tenantOfAction,
  UNSTATED,
} from '../actions.ts'
import { inTurn, type WaitingTenant } from '../turns.ts'
import type { QueueTable } from './review-queue.ts'
import type { Sql } from './sql.ts'

/** An action, or its withdrawal, which does not name what it is about: whichever comes last, both are noted of the same subject. */
export function joinWithdrawal(sql: Sql, note: string, queue: QueueTable): void {
  const { action, withdrawal } = notesOfAction(note)
  if (note === action) sql.run(NEW_UNSTATED, action, tenantOfAction(action))
  const taken = sql.get<{ s: number; protocol: string }>('SELECT s, protocol FROM said WHERE id = ?', action)
  if (taken === undefined) return
  sql.run('UPDATE said SET s = ? WHERE id = ?', taken.s, withdrawal)
  queue.touch(taken.s, taken.protocol)
}

const REVERSALS = dueReversalsIn('TEXT')

export function dueStatements(sql: Sql, now: number, most: number): string[] {
  const due = inTurn(most, sql.all<WaitingTenant>(UNSTATED.tenants, now, most), (tenant, share) =>
    sql.all<{ action: string }>(UNSTATED.of, tenant, now, share),
  )
  return due.map(({ action }) => action)
}

export function settleStatement(sql: Sql, action: string, again: number | null): void {
  if (again === null) sql.run(STATED, action)
  else sql.run(LATER_UNSTATED, again, action)
}

export function dueReversals(sql: Sql, most: number): Reversal[] {
  return inTurn(most, sql.all<WaitingTenant>(REVERSALS.tenants, most), (tenant, share) =>
    sql.all<Reversal>(REVERSALS.of, tenant, share),
  )
}

export function settleReversal(sql: Sql, { verdict, action }: Reversal): void {
  sql.run(SETTLE_REVERSAL, verdict, action)
  sql.run(FORGET_REVERSALS, verdict)
}
