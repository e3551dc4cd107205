import type { Hmac } from '../../contracts/facts/hmac.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { AppealLimits } from '../appeals.ts'
import type { DrawShares } from '../draws.ts'
import type { Sql } from './connection.ts'
import { Counters } from './counters.ts'
import type { GramHashes } from './grams-key.ts'
import type { Days } from './schema.ts'
import { Seals } from './seals.ts'

/** One step of writing: its transaction, what is counted in it, and what it has to write at its end. */
export interface WritingStep {
  readonly sql: Sql
  readonly counters: Counters
  readonly seals: Seals
  readonly hashes: GramHashes
  readonly days: Days
  readonly draw: Hmac
  readonly shares: DrawShares
  readonly appeals: AppealLimits
  /** What the queue has of these has to be written anew: protocols by subject. */
  readonly touched: Map<number, Set<string>>
  /** Blocks that texts were deleted from: the last document that each may hold, by its number. */
  readonly thinned: Map<number, number>
  /** How many grams of each day it has put into the index. */
  readonly indexed: Map<number, number>
}

export async function writingOf(
  sql: Sql,
  own: Pick<WritingStep, 'hashes' | 'days' | 'draw' | 'shares' | 'appeals'>,
): Promise<WritingStep> {
  const counters = await Counters.locked(sql)
  const seals = new Seals(sql, counters)
  return { ...own, sql, counters, seals, touched: new Map(), thinned: new Map(), indexed: new Map() }
}

export function touch({ touched }: WritingStep, s: number, protocol: string): void {
  const protocols = touched.get(s) ?? new Set()
  touched.set(s, protocols.add(protocol))
}

export interface WrittenSubject {
  readonly s: number
  readonly deletedAt: number
  /** Up to when notes of its tenant's deletions were dropped; null if none was. */
  readonly dropped: number | null
}

const keyOf = ({ tenant, kind, postId }: ThreadRef) => `${kind} ${tenant}\n${postId}`

/** The subjects of these references, made where they are missing; `deletedAt` is before all times where none was deleted. */
export async function subjectsOf(
  { sql }: WritingStep,
  refs: readonly ThreadRef[],
): Promise<(of: ThreadRef) => WrittenSubject> {
  const all = [...new Map(refs.map((ref) => [keyOf(ref), ref])).values()]
  const columns = [
    all.map(({ tenant }) => tenant),
    all.map(({ kind }) => kind),
    all.map(({ postId }) => postId),
  ] as const
  await sql.run(
    `INSERT INTO subjects (tenant, kind, id) SELECT * FROM unnest(?::text[], ?::text[], ?::text[]) AS wanted (tenant, kind, id)
     WHERE NOT EXISTS (SELECT 1 FROM subjects AS known WHERE (known.tenant, known.kind, known.id) = (wanted.tenant, wanted.kind, wanted.id))
     ON CONFLICT DO NOTHING`,
    ...columns,
  )
  const rows = await sql.rows<{ at: number; s: number; deleted_at: number | null; dropped: number | null }>(
    `SELECT wanted.at, s, deleted_at, dropped.at AS dropped
     FROM unnest(?::text[], ?::text[], ?::text[]) WITH ORDINALITY AS wanted (tenant, kind, id, at)
     JOIN subjects USING (tenant, kind, id) LEFT JOIN dropped_notes AS dropped USING (tenant)`,
    ...columns,
  )
  const found = new Map<string, WrittenSubject>()
  for (const { at, s, deleted_at, dropped } of rows) {
    const ref = all[at - 1]
    if (ref !== undefined) found.set(keyOf(ref), { s, deletedAt: deleted_at ?? Number.NEGATIVE_INFINITY, dropped })
  }
  return (of) => {
    const subject = found.get(keyOf(of))
    if (subject === undefined) throw new Error('a subject was not written')
    return subject
  }
}
