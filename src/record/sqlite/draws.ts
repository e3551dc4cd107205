import type { Hmac } from '../../contracts/facts/hmac.ts'
import type { RulingEntry } from '../../contracts/ports/record.ts'
import type { DrawPurpose } from '../../contracts/ports/review.ts'
import { type DrawShares, drawsOf, scopeOfVerdict } from '../draws.ts'
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
    for (const { item, purpose, chance, differs } of drawsOf(entry, this.#draw, this.#shares))
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

  /** Removes the draws of a subject and protocol of which no verdict is left. */
  forget(s: number, protocol: string): void {
    this.#sql.run('DELETE FROM draws WHERE s = ? AND protocol = ?', s, protocol)
  }
}
