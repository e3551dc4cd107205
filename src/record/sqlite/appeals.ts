import type { AppealOutcome } from '../../contracts/facts/appeal-messages.ts'
import type { AppealEndEntry, AppealEntry, NoteEntry, OpenAppeals } from '../../contracts/ports/record.ts'
import {
  ABOUT_ACTION,
  ANSWERS_OF_OPEN,
  type AppealAnswer,
  type AppealedRuling,
  type AppealLimits,
  type AppealOutcomeRow,
  type AppealRow,
  aboutAction,
  answersIn,
  appealChanges,
  appealNoteId,
  appealOutcomeOf,
  COUNTED_MS,
  endsWhere,
  IS_JUDGED,
  isFull,
  KNOWN_WITHIN_MS,
  MOST_OF_SUBJECT,
  noteOf,
  OPEN_APPEALS,
  sentBefore,
  UNKNOWN_APPEALS,
  UNKNOWN_NOTES,
  UNTOLD_APPEALS,
  WAITING_FOR_ACTION,
  WAITING_ON_SUBJECT,
} from '../appeals.ts'
import type { Sql } from './sql.ts'

/** The subject of an appeal, by its number. */
interface AppealedSubject {
  readonly s: number
  readonly deleted_at: number | null
}

/** Appeals, and what became of them; what that is, src/record/appeals.ts decides. */
export class AppealTable {
  readonly #sql: Sql
  readonly #limits: AppealLimits

  constructor(sql: Sql, limits: AppealLimits) {
    this.#sql = sql
    this.#limits = limits
  }

  /** With what it is about, where that is an action that is known. */
  named(entry: AppealEntry): AppealEntry {
    return aboutAction(entry, this.#sql.get(ABOUT_ACTION, entry.against))
  }

  /** An action has come: appeals that came before it are about its subject. Returns whether there were any. */
  joinAction(note: string, s: number, protocol: string): boolean {
    const waiting = this.#sql.all<Pick<AppealRow, 'tenant' | 'id'>>(WAITING_FOR_ACTION, note)
    for (const { tenant, id } of waiting) {
      this.#sql.run('UPDATE appeals SET s = ?, protocol = ? WHERE tenant = ? AND id = ?', s, protocol, tenant, id)
      this.#sql.run('UPDATE said SET s = ?, protocol = ? WHERE id = ?', s, protocol, appealNoteId(tenant, id))
    }
    return waiting.length > 0
  }

  /** The note of its words; null where they are not kept. */
  take(entry: AppealEntry, { s, deleted_at }: AppealedSubject): NoteEntry | null {
    const { tenant, id, protocol, side, party, against, at } = entry
    const known = this.#sql.get<{ s: number | null; outcome: string | null }>(
      'SELECT s, outcome FROM appeals WHERE tenant = ? AND id = ?',
      tenant,
      id,
    )
    if (known !== undefined && known.s !== null) return null
    const outcome = known === undefined && this.#isTooMany(entry, s) ? 'too-many' : null
    this.#sql.run(
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
    const isThere = deleted_at === null || (at > deleted_at && this.#sql.get(IS_JUDGED, s) !== undefined)
    const isKept = outcome === null && known?.outcome !== 'withdrawn' && isThere
    return isKept ? noteOf(entry, known?.outcome ?? null) : null
  }

  #isTooMany({ tenant, party, at }: AppealEntry, s: number): boolean {
    const waiting = this.#sql.get<{ n: number }>(WAITING_ON_SUBJECT, s)?.n ?? 0
    if (isFull(waiting)) return true
    const since = at - COUNTED_MS
    const sent = (where: string, ...values: string[]) =>
      this.#sql.get<{ n: number }>(
        `SELECT count(*) AS n FROM appeals WHERE tenant = ? AND ${where} at > ? AND coalesce(outcome, '') <> 'too-many'`,
        tenant,
        ...values,
        since,
      )?.n ?? 0
    return sent('party = ? AND', party) >= this.#limits.perContact || sent('') >= this.#limits.perTenant
  }

  /** Returns the number of its subject, whose words of it are erased; null where there are none. */
  end(entry: AppealEndEntry): number | null {
    const { tenant, id, outcome, at, told } = entry
    this.#sql.run(
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
    if (outcome !== 'withdrawn') return null
    return (
      this.#sql.get<{ s: number | null }>('SELECT s FROM appeals WHERE tenant = ? AND id = ?', tenant, id)?.s ?? null
    )
  }

  /** A decision that answers appeals. */
  takeAnswers(s: number, note: string, json: string, at: number): void {
    for (const { id, decision, code } of answersIn(note, json))
      this.#sql.run('INSERT OR IGNORE INTO appeal_answers VALUES (?, ?, ?, ?, ?)', s, id, decision, code, at)
  }

  /** Does what is known by now of the appeals of a subject; returns the protocols whose items that changes. */
  settle(s: number): string[] {
    const open = this.#sql.get('SELECT 1 FROM appeals WHERE s = ? AND outcome IS NULL LIMIT 1', s)
    if (open === undefined) return []
    const appeals = this.#sql.all<AppealRow>(
      'SELECT * FROM appeals WHERE s = ? ORDER BY outcome IS NOT NULL, at DESC, id DESC LIMIT ?',
      s,
      MOST_OF_SUBJECT,
    )
    const rulings = this.#sql.all<AppealedRuling>(
      `SELECT id, protocol, number, label, decided_by, json_extract(json, '$.decision.by') AS decider, decision, decided_at
       FROM rulings WHERE s = ? ORDER BY standing DESC, number DESC LIMIT ?`,
      s,
      MOST_OF_SUBJECT,
    )
    const answers = this.#sql.all<AppealAnswer>(ANSWERS_OF_OPEN, s, s, MOST_OF_SUBJECT)
    const deletedAt =
      this.#sql.get<{ deleted_at: number | null }>('SELECT deleted_at FROM subjects WHERE s = ?', s)?.deleted_at ?? null
    const changes = appealChanges(appeals, { rulings, answers, deletedAt })
    for (const one of changes) {
      this.#sql.run(
        'UPDATE said SET protocol = ?, label = ? WHERE id = ?',
        one.protocol,
        one.outcome,
        appealNoteId(one.tenant, one.id),
      )
      this.#sql.run(
        `UPDATE appeals SET protocol = ?, number = ?, label = ?, outcome = ?, verdict = ?, answer = ?, code = ?, earlier = ?, ended_at = ?
         WHERE tenant = ? AND id = ?`,
        one.protocol,
        one.number,
        one.label,
        one.outcome,
        one.verdict,
        one.answer,
        one.code,
        one.earlier,
        one.ended_at,
        one.tenant,
        one.id,
      )
    }
    return [...new Set(changes.map(({ protocol }) => protocol))]
  }

  protocolsOf(s: number): string[] {
    const rows = this.#sql.all<{ protocol: string }>('SELECT DISTINCT protocol FROM appeals WHERE s = ?', s)
    return rows.map(({ protocol }) => protocol)
  }

  /** Since when the oldest waits for somebody's answer. */
  openSince(s: number, protocol: string): number | null {
    const sql = 'SELECT min(at) AS at FROM appeals WHERE s = ? AND protocol = ? AND outcome IS NULL AND number > 0'
    return this.#sql.get<{ at: number | null }>(sql, s, protocol)?.at ?? null
  }

  /** Its subject was deleted. */
  erase(s: number, at: number): void {
    this.#sql.run(
      "UPDATE appeals SET outcome = 'deleted', ended_at = ? WHERE s = ? AND outcome IS NULL AND at <= ?",
      at,
      s,
      at,
    )
    this.#sql.run('DELETE FROM appeal_answers WHERE s = ? AND at <= ?', s, at)
  }

  tidy(now: number, keep: number, readUntil: number): void {
    const before = Math.min(now, readUntil) - KNOWN_WITHIN_MS
    this.#sql.run(UNKNOWN_NOTES, before)
    this.#sql.run(UNKNOWN_APPEALS, KNOWN_WITHIN_MS, before)
    this.#sql.run('DELETE FROM appeals WHERE at < ?', now - keep)
    this.#sql.run('DELETE FROM appeal_answers WHERE at < ?', now - keep)
  }

  untold(now: number, most: number): AppealOutcome[] {
    const untold = this.#sql.all<AppealOutcomeRow>(UNTOLD_APPEALS, sentBefore(now), most)
    for (const { tenant, id } of untold)
      this.#sql.run('UPDATE appeals SET put_at = ? WHERE tenant = ? AND id = ?', now, tenant, id)
    return untold.map(appealOutcomeOf)
  }

  open(dueSince: number): OpenAppeals {
    return {
      open: 0,
      overdue: 0,
      oldest: null,
      unjudged: 0,
      wordless: 0,
      ...this.#sql.get<OpenAppeals>(OPEN_APPEALS, dueSince),
    }
  }
}
