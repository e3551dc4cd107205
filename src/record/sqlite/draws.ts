import { randomUUID } from 'node:crypto'
import type { Hmac } from '../../contracts/facts/hmac.ts'
import type { RulingEntry } from '../../contracts/ports/record.ts'
import type { DrawPurpose } from '../../contracts/ports/review.ts'
import { DRAW_SINCE, type DrawShares, drawsOf, scopeOfVerdict } from '../draws.ts'
import { CLOSED, KEEP_CLOSED } from '../lane-audits.ts'
import {
  DETACH_LANE_DRAW,
  ENTER_LANE_DRAW,
  type LaterRuling,
  laneDraw,
  laneDrawFate,
  type OpenLaneDraw,
  SETTLE_LANE_DRAW,
} from '../lane-draws.ts'
import type { Sql } from './sql.ts'

/** The ledger of random draws. Which verdicts are drawn is decided in src/record/draws.ts. */
export class DrawLedger {
  readonly #sql: Sql
  readonly #draw: Hmac
  readonly #shares: DrawShares

  constructor(sql: Sql, draw: Hmac, shares: DrawShares) {
    this.#sql = sql
    this.#draw = draw
    this.#shares = shares
  }

  /** Enters what chance chose when this verdict came; whether its subject is drawn for audit, now or before. */
  take(entry: RulingEntry, s: number): boolean {
    const { id, protocol, subject, openedAt, label } = entry
    const draws = drawsOf(entry, this.#draw, this.#shares)
    const ofLane = laneDraw(entry, draws, s)
    if (ofLane !== null) this.#sql.run(ENTER_LANE_DRAW, ...ofLane)
    for (const { item, purpose, chance, differs } of draws)
      this.#sql.run(
        `INSERT INTO draws VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (item, purpose) DO UPDATE SET
         verdict = excluded.verdict, chance = max(chance, excluded.chance), label = excluded.label, differs = excluded.differs`,
        item,
        purpose,
        s,
        protocol,
        subject.tenant,
        id,
        chance,
        openedAt,
        label,
        differs === null ? null : Number(differs),
      )
    const isMachines = entry.decidedBy !== 'human' && entry.decidedBy !== 'deleted'
    return isMachines && this.drawnAt(id, 'audit') !== null
  }

  /** When this verdict, or the subject that it is about, was drawn, ms since 1970; null if it was not. */
  drawnAt(verdict: string, purpose: DrawPurpose): number | null {
    const item = purpose === 'second-opinion' ? verdict : scopeOfVerdict(verdict)
    const sql = 'SELECT drawn_at AS at FROM draws WHERE item = ? AND purpose = ?'
    return this.#sql.get<{ at: number }>(sql, item, purpose)?.at ?? null
  }

  /** What is known of a draw by now. */
  settle(
    purpose: DrawPurpose,
    { verdict, label, differs }: { verdict: string; label: string | null; differs: boolean | null },
  ): void {
    this.#sql.run(
      'UPDATE draws SET verdict = ?, label = ?, differs = ? WHERE item = ? AND purpose = ?',
      verdict,
      label,
      differs === null ? null : Number(differs),
      purpose === 'second-opinion' ? verdict : scopeOfVerdict(verdict),
      purpose,
    )
  }

  /** A person's verdict that was replaced before anybody gave a second opinion gets none: nothing waits for it any more. */
  leaveReplaced(s: number, protocol: string, standing: string): void {
    this.#sql.run(
      "UPDATE draws SET label = NULL WHERE s = ? AND protocol = ? AND purpose = 'second-opinion' AND item <> ? AND differs IS NULL",
      s,
      protocol,
      standing,
    )
  }

  /** Keeps these marks of first lanes that are closed, and returns all that are kept. */
  keepClosed(marks: readonly string[]): string[] {
    for (const mark of marks) this.#sql.run(KEEP_CLOSED, mark)
    return this.#sql.all<{ k: string }>(CLOSED).map(({ k }) => k)
  }

  /** Removes the draws of a subject and protocol of which no verdict is left. */
  forget(s: number, protocol: string): void {
    this.#sql.run('DELETE FROM draws WHERE s = ? AND protocol = ?', s, protocol)
    this.#sql.run('DELETE FROM lane_draws WHERE s = ? AND protocol = ?', s, protocol)
  }

  /** Removes the draws of a subject until `at`; one of its next life stands, from then on. What people said of a lane's stays. */
  erase(s: number, at: number): { readonly changes: number | bigint }[] {
    for (const { lane, item } of this.#ofLanes(s, 'drawn_at <= ?2', at))
      this.#sql.run(DETACH_LANE_DRAW, randomUUID(), lane, item)
    return [
      this.#sql.run(`DELETE FROM draws WHERE s = ? AND drawn_at <= ? AND (${DRAW_SINCE}) IS NULL`, s, at),
      this.#sql.run(`UPDATE draws SET drawn_at = (${DRAW_SINCE}) WHERE s = ? AND drawn_at <= ?`, s, at),
    ]
  }

  /** What is known by now of a subject's verdicts that lanes settled; of one protocol's, or of all. */
  settleLanes(s: number, protocol: string | null = null): void {
    for (const { lane, item, verdict, protocol: of } of this.#ofLanes(s, '(?2 IS NULL OR protocol = ?2)', protocol)) {
      const fate = laneDrawFate(
        this.#sql.all<LaterRuling>(
          `SELECT id, label, decided_by, json_extract(json, '$.restored.from') AS restores FROM rulings
           WHERE s = ? AND protocol = ? ORDER BY number`,
          s,
          of,
        ),
        verdict,
      )
      if (fate !== null) this.#sql.run(SETTLE_LANE_DRAW, fate.differs, fate.lost, Number(fate.stands), lane, item)
    }
  }

  #ofLanes(s: number, which: string, value: number | string | null): (OpenLaneDraw & { readonly protocol: string })[] {
    return this.#sql.all(`SELECT lane, item, verdict, protocol FROM lane_draws WHERE s = ?1 AND ${which}`, s, value)
  }
}
