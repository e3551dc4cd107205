import type { AppealEndEntry, AppealEntry, NoteEntry, OpenAppeals, UntoldAppeal } from '../../contracts/ports/record.ts'
import { appealNoteId } from '../appeal-note.ts'
import {
  ABOUT_ACTION,
  ACTIONS_IN_FORCE,
  ANSWERS_OF_OPEN,
  ANY_WAITS,
  boundsOn,
  changedAppeal,
  deletedAppeals,
  endedAppeal,
  FORGET_APPEAL,
  IS_JUDGED,
  joinedAppeal,
  KNOWN_APPEAL,
  LABELLED_APPEAL,
  MOST_OF_SUBJECT,
  NEW_ANSWER,
  OF_SUBJECT,
  OPEN_APPEALS,
  partiesOn,
  REOPENED,
  rulingsOn,
  SUBJECT_OF_APPEAL,
  sentAppeal,
  takenAppeal,
  tidiedAppeals,
  UNTOLD_APPEALS,
  WAITING_FOR_ACTION,
} from '../appeal-rows.ts'
import {
  type AppealAnswer,
  type AppealedRuling,
  type AppealLimits,
  type AppealOutcomeRow,
  type AppealParty,
  type AppealRow,
  aboutAction,
  answersIn,
  appealChanges,
  isSentAgain,
  keepsWords,
  noteOf,
  type RowOfAppeal,
  untoldAppeals,
  wordsAt,
} from '../appeals.ts'
import { inTurn, type WaitingTenant } from '../turns.ts'
import { OPINION_CODE } from './schema.ts'
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

  /** An action has come: appeals that came before it are about its subject, and erased with that. Returns whether any are to be settled. */
  joinAction(
    note: string,
    subject: AppealedSubject,
    protocol: string,
    erasures: { dropNote(id: string): void },
  ): boolean {
    const waiting = this.#sql.all<Pick<AppealRow, 'tenant' | 'id' | 'at'>>(WAITING_FOR_ACTION, note, subject.s)
    for (const one of waiting) {
      this.#run(joinedAppeal(one, subject.s, protocol))
      if (!this.#isThere(subject, one.at)) erasures.dropNote(appealNoteId(one.tenant, one.id))
    }
    return this.#sql.all(REOPENED, subject.s).length + waiting.length > 0
  }

  /** Null where nothing came of it: it is known, or one too many. `note`: that of its words, null where they are not kept. */
  take(entry: AppealEntry, subject: AppealedSubject): { readonly note: NoteEntry | null } | null {
    const { tenant, id, at } = entry
    let known = this.#sql.get<RowOfAppeal>(KNOWN_APPEAL, tenant, id)
    if (isSentAgain(known, entry)) {
      this.#sql.run(FORGET_APPEAL, tenant, id)
      known = undefined
    }
    if (known !== undefined && known.s !== null) return null
    const outcome = known === undefined && this.#isTooMany(entry, subject.s) ? 'too-many' : null
    this.#run([takenAppeal(entry, subject.s, outcome)])
    if (outcome !== null) return null
    const before = known?.outcome ?? null
    return { note: keepsWords(before) && this.#isThere(subject, at) ? noteOf(entry, before) : null }
  }

  #isThere({ s, deleted_at }: AppealedSubject, at: number): boolean {
    return deleted_at === null || (at > deleted_at && this.#sql.get(IS_JUDGED, s) !== undefined)
  }

  #isTooMany(entry: AppealEntry, s: number): boolean {
    return boundsOn(entry, s, this.#limits).some(([sql, ...values]) => this.#sql.get(sql, ...values) !== undefined)
  }

  #run(queries: readonly ReturnType<typeof takenAppeal>[]): void {
    for (const [sql, ...values] of queries) this.#sql.run(sql, ...values)
  }

  /** Returns the number of its subject; null where nothing of that changes. */
  end(entry: AppealEndEntry, erasures: { dropNote(id: string): void }): number | null {
    const { tenant, id, outcome } = entry
    const known = this.#sql.get<RowOfAppeal>(KNOWN_APPEAL, tenant, id)
    this.#run([endedAppeal(entry)])
    const words = wordsAt(entry, known)
    if (words === 'stay') return null
    const note = appealNoteId(tenant, id)
    if (words === 'go') erasures.dropNote(note)
    else this.#sql.run(LABELLED_APPEAL, outcome, note)
    return this.#sql.get<{ s: number }>(SUBJECT_OF_APPEAL, tenant, id)?.s ?? null
  }

  /** A decision that answers appeals. */
  takeAnswers(s: number, note: string, json: string, at: number): void {
    for (const { id, decision, code, measure } of answersIn(note, json))
      this.#sql.run(NEW_ANSWER, id, decision, code, measure, at, s)
  }

  /** Does what is known by now of the appeals of a subject; returns the protocols whose items that changes. */
  settle(s: number): string[] {
    if (this.#sql.get(ANY_WAITS, s) === undefined) return []
    const most = MOST_OF_SUBJECT
    const appeals = this.#sql.all<AppealRow>(OF_SUBJECT, s, most, s, most)
    const rulings = this.#sql.all<AppealedRuling>(rulingsOn("json_extract(json, '$.decision.by')"), s, most)
    const answers = this.#sql.all<AppealAnswer>(ANSWERS_OF_OPEN, s, s, most)
    const parties = answers.length === 0 ? [] : this.#sql.all<AppealParty>(partiesOn(OPINION_CODE), s, s, most)
    const deletedAt =
      this.#sql.get<{ deleted_at: number | null }>('SELECT deleted_at FROM subjects WHERE s = ?', s)?.deleted_at ?? null
    const inForce = this.#sql.all<{ protocol: string }>(ACTIONS_IN_FORCE, s, s).map(({ protocol }) => protocol)
    const changes = appealChanges(appeals, { rulings, answers, parties, inForce, deletedAt })
    this.#run(changes.flatMap(changedAppeal))
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
    this.#run(deletedAppeals(s, at))
  }

  tidy(now: number, keep: number, readUntil: number): void {
    this.#run(tidiedAppeals({ now, keep, readUntil }))
  }

  untold(now: number, most: number, readUntil: number): UntoldAppeal[] {
    const untold: AppealOutcomeRow[] = []
    for (const { tenants, of } of UNTOLD_APPEALS) {
      const left = most - untold.length
      untold.push(
        ...inTurn(left, this.#sql.all<WaitingTenant>(tenants, now, readUntil, left), (tenant, share) =>
          this.#sql.all<AppealOutcomeRow>(of, tenant, now, readUntil, share),
        ),
      )
    }
    const sent = sentAppeal('WHERE tenant = ? AND id = ?')
    for (const { tenant, id } of untold) this.#sql.run(sent, now, tenant, id)
    return untoldAppeals(untold)
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
