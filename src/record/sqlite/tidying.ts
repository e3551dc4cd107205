import { RecordFull } from '../../contracts/ports/record.ts'
import { notAppealed } from '../appeal-rows.ts'
import { docAt } from '../documents.ts'
import type { AppealTable } from './appeals.ts'
import type { ArrivalCounter } from './arrivals.ts'
import type { RecordErasures } from './erasures.ts'
import type { FreeSpace } from './free-space.ts'
import type { QueueTable } from './review-queue.ts'
import type { RoomMaker } from './room.ts'
import type { Sql } from './sql.ts'
import type { TextIndex } from './text-index.ts'
import type { WrittenTable } from './written.ts'

/** Rows of each kind that one step of tidying removes. */
const STEP = 500
/** A verdict whose transcript has not come within this time is searched without it, in ms. */
const ALONE_AFTER_MS = 60_000
const FROM_THE_FIRST = [-1, -1] as const
const MINUTE_MS = 60_000
/** How long a step looks for authors in what an earlier version wrote, in ms. */
const LOOK_MS = 100

/** Removes from the tables what has been kept long enough, a step at a time. */
export class Tidying {
  readonly #settings: { readonly keep: number; readonly sourceKeep: number }
  readonly #sql: Sql
  readonly #texts: TextIndex
  readonly #erasures: RecordErasures
  readonly #queue: QueueTable
  readonly #arrivals: ArrivalCounter
  readonly #written: WrittenTable
  readonly #freeSpace: FreeSpace
  readonly #appeals: AppealTable
  #seenDeleted: readonly [deletedAt: number, s: number] = FROM_THE_FIRST
  readonly #room: RoomMaker

  constructor(
    settings: { readonly keep: number; readonly sourceKeep: number },
    parts: {
      sql: Sql
      texts: TextIndex
      erasures: RecordErasures
      queue: QueueTable
      arrivals: ArrivalCounter
      written: WrittenTable
      freeSpace: FreeSpace
      appeals: AppealTable
      room: RoomMaker
    },
  ) {
    this.#settings = settings
    this.#sql = parts.sql
    this.#texts = parts.texts
    this.#erasures = parts.erasures
    this.#queue = parts.queue
    this.#arrivals = parts.arrivals
    this.#written = parts.written
    this.#freeSpace = parts.freeSpace
    this.#appeals = parts.appeals
    this.#room = parts.room
  }

  /** One step: what is older than its time goes, at most so many rows of each kind. */
  tidy(now: number, readUntil: number): void {
    const { keep, sourceKeep } = this.#settings
    // By themselves: what is indexed below finds no room in a full record.
    this.#sql.transaction(() => {
      this.#erasures.eraseDependents()
      this.#arrivals.save()
    })
    const unindexed = this.#sql.transaction(() => {
      this.#appeals.tidy(now, keep, readUntil)
      const alone = this.#sql.all<{ doc: number }>(
        'SELECT doc FROM rulings WHERE standing = 1 AND indexed = 0 AND erased = 0 AND doc < ? LIMIT ?',
        docAt(now - ALONE_AFTER_MS),
        STEP,
      )
      for (const { doc } of alone) this.#texts.index(doc)
      const left = new Set<number>()
      for (const { doc, s } of this.#sql.all<{ doc: number; s: number }>(
        `SELECT doc, s FROM rulings WHERE doc < ? AND ${notAppealed('rulings')} LIMIT ?`,
        docAt(now - keep),
        STEP,
      )) {
        this.#erasures.drop(doc)
        this.#queue.requeueAll(s)
        left.add(s)
      }
      for (const { s } of this.#sql.all<{ s: number }>(
        `DELETE FROM transcripts WHERE t IN (SELECT t FROM transcripts WHERE ${notAppealed('transcripts')} ORDER BY t LIMIT ?)
         AND at < ? RETURNING s`,
        STEP,
        now - keep,
      ))
        left.add(s)
      for (const { s } of this.#sql.all<{ s: number }>(
        `DELETE FROM said WHERE n IN (SELECT n FROM said WHERE at < ? AND ${notAppealed('said')} LIMIT ?) RETURNING s`,
        now - keep,
        STEP,
      ))
        left.add(s)
      this.#sql.run(
        'DELETE FROM unread WHERE rowid IN (SELECT rowid FROM unread WHERE at < ? LIMIT ?)',
        now - keep,
        STEP,
      )
      this.#sql.run('DELETE FROM gone_comments WHERE at < ?', now - sourceKeep)
      this.#sql.run('DELETE FROM quotes WHERE at < ?', now - keep)
      this.#sql.run('DELETE FROM dropped_notes WHERE at < ?', now - sourceKeep)
      this.#sql.run('DELETE FROM held_by WHERE bytes = 0')
      this.#sql.run(
        'DELETE FROM pictures WHERE rowid IN (SELECT rowid FROM pictures WHERE until <= ? LIMIT ?)',
        now,
        STEP,
      )
      this.#sql.run('DELETE FROM notes WHERE n IN (SELECT n FROM notes WHERE at < ? LIMIT ?)', now - keep, STEP)
      this.#sql.run('DELETE FROM compared WHERE at < ?', now - keep)
      this.#sql.run('DELETE FROM lane_draws WHERE s IS NULL AND drawn_at < ?', now - keep)
      this.#sql.run('DELETE FROM exposures WHERE minute < ?', (now - keep) / MINUTE_MS)
      for (const s of [...left, ...this.#deletedBefore(now - sourceKeep)]) this.#erasures.forget(s, now - sourceKeep)
      this.#arrivals.save()
      return alone.length
    })
    if (unindexed < STEP) this.#refold()
    const until = performance.now() + LOOK_MS
    while (this.#written.lookThrough() && performance.now() < until);
    this.#sql.exec('PRAGMA incremental_vacuum(500)')
    this.#erasures.truncate()
    this.#freeSpace.step()
  }

  #refold(): void {
    try {
      this.#texts.refold(STEP)
    } catch (error) {
      // As a batch that finds the file full does: the next step has room.
      if (!(error instanceof RecordFull) || !this.#room.make()) throw error
    }
  }

  /** Some subjects that were deleted before this time, at each call the next. */
  #deletedBefore(time: number): number[] {
    const rows = this.#sql.all<{ s: number; deleted_at: number }>(
      'SELECT s, deleted_at FROM subjects WHERE deleted_at < ? AND (deleted_at, s) > (?, ?) ORDER BY deleted_at, s LIMIT ?',
      time,
      ...this.#seenDeleted,
      STEP,
    )
    const last = rows.at(-1)
    this.#seenDeleted = rows.length < STEP || last === undefined ? FROM_THE_FIRST : [last.deleted_at, last.s]
    return rows.map(({ s }) => s)
  }
}
