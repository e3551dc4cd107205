import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { AppealEndEntry, AppealEntry } from '../../contracts/ports/record.ts'
import {
  ABOUT_ACTION,
  aboutAction,
  appealNoteId,
  COUNTED_MS,
  endsWhere,
  IS_JUDGED,
  isFull,
  noteOf,
  WAITING_ON_SUBJECT,
} from '../appeals.ts'
import { dropSaid } from './erasures.ts'
import { takeSaid } from './take-said.ts'
import { subjectsOf, touch, type WritingStep } from './writing.ts'

/** Takes an appeal, and its words where they are kept. */
export async function takeAppeal(writing: WritingStep, given: AppealEntry): Promise<void> {
  const { sql } = writing
  const [action] = await sql.rows<ThreadRef & { protocol: string }>(ABOUT_ACTION, given.against)
  const entry = aboutAction(given, action)
  const { tenant, id, subject, protocol, side, party, against, at } = entry
  const { s, deletedAt } = (await subjectsOf(writing, [subject]))(subject)
  const [known] = await sql.rows<{ s: number | null; outcome: string | null }>(
    'SELECT s, outcome FROM appeals WHERE tenant = ? AND id = ?',
    tenant,
    id,
  )
  if (known !== undefined && known.s !== null) return
  const outcome = known === undefined && (await isTooMany(writing, entry, s)) ? 'too-many' : null
  await sql.run(
    `INSERT INTO appeals (tenant, id, s, protocol, side, party, against, number, at, outcome, ended_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (tenant, id) DO UPDATE SET s = excluded.s, protocol = excluded.protocol, side = excluded.side,
     party = excluded.party, against = excluded.against`,
    tenant,
    id,
    s,
    protocol,
    side,
    party,
    against,
    entry.number ?? null,
    at,
    outcome,
    outcome === null ? null : at,
  )
  touch(writing, s, protocol)
  if (outcome !== null || known?.outcome === 'withdrawn') return
  const isDeleted = deletedAt > Number.NEGATIVE_INFINITY
  if (isDeleted && (at <= deletedAt || (await sql.rows(IS_JUDGED, s)).length === 0)) return
  await takeSaid(writing, noteOf(entry, known?.outcome ?? null))
}

async function isTooMany(
  { sql, appeals }: WritingStep,
  { tenant, party, at }: AppealEntry,
  s: number,
): Promise<boolean> {
  const [waiting] = await sql.rows<{ n: number }>(WAITING_ON_SUBJECT, s)
  if (isFull(waiting?.n ?? 0)) return true
  const sent = async (where: string, ...values: string[]) => {
    const [row] = await sql.rows<{ n: number }>(
      `SELECT count(*) AS n FROM appeals WHERE tenant = ? AND ${where} at > ? AND coalesce(outcome, '') <> 'too-many'`,
      tenant,
      ...values,
      at - COUNTED_MS,
    )
    return row?.n ?? 0
  }
  return (await sent('party = ? AND', party)) >= appeals.perContact || (await sent('')) >= appeals.perTenant
}

/** An appeal was taken back, or is told of. */
export async function endAppeal(writing: WritingStep, entry: AppealEndEntry): Promise<void> {
  const { sql } = writing
  const { tenant, id, outcome, at, told } = entry
  await sql.run(
    `INSERT INTO appeals (tenant, id, protocol, side, party, at, outcome, ended_at, told) VALUES (?, ?, '', '', '', ?, ?, ?, ?)
     ON CONFLICT (tenant, id) DO UPDATE SET outcome = excluded.outcome, ended_at = excluded.ended_at, told = excluded.told
     WHERE ${endsWhere(entry)}`,
    tenant,
    id,
    at,
    outcome,
    at,
    Number(told),
  )
  if (outcome !== 'withdrawn') return
  await dropSaid(writing, 'id = ?', appealNoteId(tenant, id))
  const of = await sql.rows<{ s: number; protocol: string }>(
    'SELECT s, protocol FROM appeals WHERE tenant = ? AND id = ? AND s IS NOT NULL',
    tenant,
    id,
  )
  for (const { s, protocol } of of) touch(writing, s, protocol)
}
