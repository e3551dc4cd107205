import { OUTLIVES, SPARE_ACTION } from '../actions.ts'
import { SPARE_ANSWERS, SPARE_APPEALS } from '../appeal-rows.ts'
import { LARGEST, NOTHING_READ } from '../held.ts'
import { type FeedbackRow, NEWEST_FEEDBACK, NEWS_MS, SPARED_MS } from '../spare-feedback.ts'
import type { RecordErasures } from './erasures.ts'
import type { Sql } from './sql.ts'
import type { TextIndex } from './text-index.ts'

/** Of whatever was deleted the row stays: it says so. */
const IF_NEVER_DELETED = 1
/** Rows that make room at once when the file is full, and those that are looked at for these. */
const [ROOM, LOOKED_AT] = [200, 2_000]
/** So many times as long as it was looked for what a tenant can give, and there was nothing, it is not looked again. */
const PAUSE = 10

/** What was said of what nobody judged, also where its verdict is still to come: but for what outlives deletions. */
const UNJUDGED = `SELECT n AS at, s, tenant = ? AND NOT ${OUTLIVES} AND NOT EXISTS (SELECT 1 FROM rulings WHERE rulings.s = said.s) AS own
  FROM said JOIN subjects USING (s) WHERE n > ? ORDER BY n LIMIT ?`
const ACTIONS = `SELECT n AS at, s, tenant = ? AND ${SPARE_ACTION} AS own FROM said JOIN subjects USING (s)
  WHERE ${OUTLIVES} AND n > ? ORDER BY n LIMIT ?`

interface OwnRow {
  /** Where the look goes on. */
  readonly at: number
  readonly s: number
  readonly own: number
}

/** Makes room in a full file. */
export class RoomMaker {
  readonly #sql: Sql
  readonly #texts: TextIndex
  readonly #erasures: RecordErasures
  /** Bytes that one tenant may hold while another holds something. */
  readonly #share: number
  /** Where the look at feedback goes on; null: at the newest. */
  #feedbackBefore: number | null = null
  /** What a tenant gives first, and what only once there is nothing left of that. */
  readonly #steps: readonly ((tenant: string) => boolean)[]
  #of = ''
  #step = 0
  #after = -1
  #emptyUntil = 0

  constructor(
    share: number,
    parts: { readonly sql: Sql; readonly texts: TextIndex; readonly erasures: RecordErasures },
  ) {
    this.#share = share
    this.#sql = parts.sql
    this.#texts = parts.texts
    this.#erasures = parts.erasures
    this.#steps = [
      (tenant) => this.#dropSpareFeedback(tenant),
      (tenant) => this.#dropSpare(SPARE_ANSWERS, tenant),
      (tenant) => this.#dropSpare(SPARE_APPEALS, tenant),
      (tenant) => this.#dropWords(tenant, UNJUDGED),
      (tenant) => this.#emptyTranscripts(tenant),
      (tenant) => this.#dropTexts(tenant),
      (tenant) => this.#dropNotes(tenant),
      (tenant) => this.#forgetDeleted(tenant),
      (tenant) => this.#dropWords(tenant, ACTIONS),
    ]
  }

  /**
   * First goes what nobody is counted for. A tenant that holds more than its share gives then what nobody misses, then its oldest
   * transcripts and texts, then what it noted of deletions, last its actions on what nobody judged, and the oldest of very many on one
   * subject. Where none does, feedback that serves nobody goes, then the oldest transcripts, but for the comments that each held; then
   * the oldest texts, by whose words verdicts are found no more. False if there is none of these.
   */
  make(): boolean {
    if (this.#sql.transaction(() => this.#dropUnread())) return true
    const over = this.overShare()
    if (over !== null && this.#makeOf(over)) return true
    if (this.#makeOfAll()) return true
    const [largest] = this.#largest()
    return largest !== undefined && this.#makeOf(largest.tenant)
  }

  /** The tenant that holds more than its share, while another holds something; null if none does. */
  overShare(): string | null {
    const [largest, other] = this.#largest()
    return largest === undefined || other === undefined || largest.bytes <= this.#share ? null : largest.tenant
  }

  #largest() {
    return this.#sql.all<{ tenant: string; bytes: number }>(LARGEST('held_by'))
  }

  #makeOf(tenant: string): boolean {
    if (tenant !== this.#of) [this.#of, this.#step, this.#after, this.#emptyUntil] = [tenant, 0, -1, 0]
    const begun = Date.now()
    if (begun < this.#emptyUntil) return false
    for (let isWhole = this.#step === 0; ; isWhole = true) {
      for (; this.#step < this.#steps.length; this.#step++, this.#after = -1)
        if (this.#sql.transaction(() => this.#steps[this.#step]?.(tenant))) return true
      this.#step = 0
      // What has come since it was looked for, is there only where the look did not begin just now.
      if (isWhole) break
    }
    this.#emptyUntil = Date.now() + PAUSE * (Date.now() - begun)
    return false
  }

  #dropUnread(): boolean {
    const dropped = this.#sql.run(
      `DELETE FROM unread WHERE rowid IN (SELECT rowid FROM unread WHERE ${NOTHING_READ} LIMIT ?)`,
      ROOM,
    )
    return Number(dropped.changes) > 0
  }

  #makeOfAll(): boolean {
    if (this.#sql.transaction(() => this.#dropSpareFeedback(null))) return true
    const emptied = this.#sql.transaction(() =>
      this.#sql.run(
        'UPDATE transcripts SET z = NULL, words = NULL WHERE t IN (SELECT t FROM transcripts WHERE z IS NOT NULL ORDER BY t LIMIT ?)',
        ROOM,
      ),
    )
    if (Number(emptied.changes) > 0) return true
    return this.#sql.transaction(() => {
      const oldest = this.#sql.all<{ doc: number }>('SELECT doc FROM texts ORDER BY doc LIMIT ?', ROOM)
      for (const { doc } of oldest) this.#texts.unindex(doc)
      return oldest.length > 0
    })
  }

  /** Removes the newest feedback that serves nobody; false if there is none where it looked. */
  #dropSpareFeedback(tenant: string | null): boolean {
    const looked = this.#sql.all<FeedbackRow>(
      NEWEST_FEEDBACK,
      tenant,
      tenant,
      this.#feedbackBefore ?? Date.now() - SPARED_MS,
    )
    const spare = looked.filter((one) => one.spare === 1)
    this.#feedbackBefore = spare.length === 0 ? null : (looked.at(-1)?.at ?? null)
    for (const { n } of spare) this.#sql.run('DELETE FROM said WHERE n = ?', n)
    for (const s of new Set(spare.map((one) => one.s))) this.#erasures.forget(s, IF_NEVER_DELETED)
    return spare.length > 0
  }

  #dropSpare(rows: string, tenant: string): boolean {
    const spare = this.#sql.all<{ s: number | null }>(rows, tenant, ROOM)
    for (const s of new Set(spare.map((one) => one.s))) if (s !== null) this.#erasures.forget(s, IF_NEVER_DELETED)
    return spare.length > 0
  }

  /** The next rows of this tenant's, oldest first, at most `ROOM`; none if there are none any more. */
  #ownRows(select: string, tenant: string): OwnRow[] {
    for (;;) {
      const looked = this.#sql.all<OwnRow>(select, tenant, this.#after, LOOKED_AT)
      const own = looked.filter((row) => row.own === 1).slice(0, ROOM)
      const last = own.length === ROOM ? own.at(-1) : looked.at(-1)
      this.#after = last?.at ?? this.#after
      if (own.length > 0 || looked.length < LOOKED_AT) return own
    }
  }

  #dropWords(tenant: string, select: string): boolean {
    const spare = this.#ownRows(select, tenant)
    for (const { at: n } of spare) this.#sql.run('DELETE FROM said WHERE n = ?', n)
    for (const s of new Set(spare.map((one) => one.s))) this.#erasures.forget(s, IF_NEVER_DELETED)
    return spare.length > 0
  }

  #emptyTranscripts(tenant: string): boolean {
    const oldest = this.#ownRows(
      'SELECT t AS at, s, tenant = ? AS own FROM transcripts JOIN subjects USING (s) WHERE z IS NOT NULL AND t > ? ORDER BY t LIMIT ?',
      tenant,
    )
    for (const { at: t } of oldest) this.#sql.run('UPDATE transcripts SET z = NULL, words = NULL WHERE t = ?', t)
    return oldest.length > 0
  }

  #dropTexts(tenant: string): boolean {
    const oldest = this.#ownRows(
      'SELECT doc AS at, s, tenant = ? AS own FROM texts JOIN rulings USING (doc) WHERE doc > ? ORDER BY doc LIMIT ?',
      tenant,
    )
    for (const { at: doc } of oldest) this.#texts.unindex(doc)
    return oldest.length > 0
  }

  /** Notes of comments that were deleted, and of replies that quote posts, of what the record has nothing of. */
  #dropNotes(tenant: string): boolean {
    const gone = this.#sql.all<{ at: number }>(
      `DELETE FROM gone_comments WHERE (tenant, post, comment) IN (
         SELECT tenant, post, comment FROM gone_comments WHERE tenant = ? LIMIT ${ROOM}) RETURNING at`,
      tenant,
    )
    const quotes = this.#sql.all<{ at: number }>(
      `DELETE FROM quotes WHERE (tenant, post, reply) IN (
         SELECT tenant, post, reply FROM quotes WHERE tenant = ? AND NOT EXISTS (
           SELECT 1 FROM subjects WHERE subjects.tenant = quotes.tenant AND kind = 'reply' AND id = reply) LIMIT ${ROOM}) RETURNING at`,
      tenant,
    )
    this.#erasures.noteDropped(
      tenant,
      [...gone, ...quotes].map(({ at }) => at),
    )
    return gone.length + quotes.length > 0
  }

  /** That something was deleted of which the record has nothing. */
  #forgetDeleted(tenant: string): boolean {
    const oldest = this.#ownRows(
      `SELECT s AS at, s, tenant = ? AND deleted_at < ${Date.now() - NEWS_MS} AND NOT EXISTS (SELECT 1 FROM rulings WHERE rulings.s = subjects.s) AS own
       FROM subjects WHERE deleted_at IS NOT NULL AND s > ? ORDER BY s LIMIT ?`,
      tenant,
    )
    const times = oldest.flatMap(({ s }) => this.#erasures.forgetDeleted(s) ?? [])
    this.#erasures.noteDropped(tenant, times)
    return times.length > 0
  }
}
