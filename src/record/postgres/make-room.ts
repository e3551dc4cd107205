import { NOTHING_READ } from '../held.ts'
import { SPARED_MS } from '../spare-feedback.ts'
import type { Database, Sql } from './connection.ts'
import { dropUnread } from './erasures.ts'
import { HELD_NOW, largestOf } from './held.ts'
import { dropSpareFeedback, GIVEN, give, ROOM } from './room.ts'
import type { WritingStep } from './writing.ts'

interface RoomContext {
  readonly db: Database
  readonly step: <Result>(work: (writing: WritingStep) => Promise<Result>) => Promise<Result>
  /** Removes the transcripts of the oldest day, and returns of how many days; of the last day none. */
  readonly dropDay: () => Promise<number>
  readonly maxBytes: number
  /** Bytes that one tenant may hold while another holds something. */
  readonly share: number
  /** The record on disk. */
  readonly bytes: number
  readonly now: number
}

/** To which part of its bounds it is brought back. */
const ENOUGH = 0.95

/**
 * Makes room in a record that is larger than it may be. First goes what nobody is counted for. A tenant that holds more than its share
 * gives then what nobody misses, then its oldest transcripts and texts, then what it noted of deletions, last its actions on what nobody
 * judged, and the oldest of very many on one subject. Where none does, the newest feedback that serves nobody goes, else the
 * transcripts of the oldest day. False if there is nothing left.
 */
export async function madeRoom(context: RoomContext): Promise<boolean> {
  const { db, share, maxBytes, bytes } = context
  const free = await reusable(db)
  const over = bytes - free - ENOUGH * maxBytes
  if (bytes - free <= maxBytes) return true
  if (await hasDroppedUnread(context)) return true
  const [largest, other] = await largestOf(db)
  if (largest !== undefined && other !== undefined && largest.bytes > share)
    if (await hasGiven(context, largest, Math.min(over, largest.bytes - share))) return true
  if (await hasDroppedFeedback(context, null)) return true
  const before = await sumOf(db)
  if ((await context.dropDay()) > 0) {
    // What went with its day left no free pages.
    await db.run("UPDATE meta SET v = (v::bigint - ?::bigint)::text WHERE k = 'peak'", before - (await sumOf(db)))
    return true
  }
  return largest !== undefined && hasGiven(context, largest, over)
}

/**
 * The bytes on its pages that rows left which were removed while it was too large: PostgreSQL keeps the pages for rows to come. So it is
 * what it held then more than now.
 */
async function reusable(db: Sql): Promise<number> {
  const sum = await sumOf(db)
  const [peak] = await db.rows<{ v: string }>(
    "INSERT INTO meta VALUES ('peak', ?) ON CONFLICT (k) DO UPDATE SET v = greatest(meta.v::bigint, excluded.v::bigint)::text RETURNING v",
    String(sum),
  )
  return Math.max(0, Number(peak?.v ?? 0) - sum)
}

/** It is no larger than it may be: what its free pages are is not known any more, and not needed. */
export async function hasRoom(db: Sql): Promise<void> {
  await db.run("DELETE FROM meta WHERE k = 'peak'")
}

async function sumOf(db: Sql): Promise<number> {
  const [row] = await db.rows<{ bytes: number | null }>(`SELECT sum(bytes)::bigint AS bytes FROM ${HELD_NOW}`)
  return row?.bytes ?? 0
}

/** Whether the tenant gave something: at most so many bytes, and a step's more. */
async function hasGiven(
  context: RoomContext,
  { tenant, bytes }: { readonly tenant: string; readonly bytes: number },
  wanted: number,
): Promise<boolean> {
  const { db, step, now } = context
  const held = async () => {
    const [row] = await db.rows<{ bytes: number }>(`SELECT bytes FROM ${HELD_NOW} WHERE tenant = ?`, tenant)
    return row?.bytes ?? 0
  }
  if (await hasDroppedFeedback(context, tenant)) return true
  for (const what of GIVEN)
    for (let after: number | null = -1; after !== null; ) {
      const from: number = after
      const looked = await step((writing) => give(writing, what, { tenant, after: from, now }))
      after = looked.after
      if (looked.given > 0 && (await held()) <= bytes - wanted) return true
    }
  return (await held()) < bytes
}

async function hasDroppedUnread({ step }: RoomContext): Promise<boolean> {
  for (let dropped = false; ; dropped = true)
    if ((await step((writing) => dropUnread(writing, NOTHING_READ, ROOM))) === 0) return dropped
}

async function hasDroppedFeedback({ step, now }: RoomContext, tenant: string | null): Promise<boolean> {
  let dropped = false
  for (let before = now - SPARED_MS; ; dropped = true) {
    const looked = await step((writing) => dropSpareFeedback(writing, before, tenant))
    if (looked.spare === 0) return dropped
    before = looked.oldest
  }
}
