import { isReversed, newestActions, noteReversals } from '../actions.ts'
import { compare } from '../compared.ts'
import { GOLDEN_KEY, OPINION, OPINION_UNSEEN } from '../opinion-code.ts'
import { ASKED_FOR, lookAt, NEWEST_OPINIONS } from '../review-queue.ts'
import type { AppealTable } from './appeals.ts'
import type { DrawLedger } from './draws.ts'
import { GOLDEN, IS_OPINION, OPINION_CODE } from './schema.ts'
import type { Sql } from './sql.ts'

// This keeps the rows of the queue. Why a verdict is in it is decided in src/record/review-queue.ts.

interface StandingRow {
  readonly id: string
  readonly tenant: string
  readonly number: number
  readonly label: string | null
  readonly decided_by: string
  readonly contested: number
  readonly degraded: number
  readonly confidence: number | null
  readonly accepted: number
  readonly decided_at: number
  readonly sampled: number
  readonly by: string | null
  /** 1: an image could not be shown to who decided. */
  readonly unseen: number
  readonly golden: number
}

const COMPARE = compare('(SELECT ? AS s, ? AS protocol) AS wanted')

const NOTE_REVERSALS = noteReversals('(SELECT ?1 AS s, ?2 AS protocol) AS wanted', {
  actions: newestActions('?1', '?2'),
  verdict: "json_extract(a.json, '$.verdictId')",
  at: "unixepoch(json_extract(a.json, '$.at'), 'subsec') * 1000",
})

/** How many others' opinions are read. */
const MOST_OPINIONS = 10

/** What people should look at, a row for each subject and protocol; and how their verdicts compare with others. */
export class QueueTable {
  readonly #sql: Sql
  readonly #ledger: DrawLedger
  readonly #appeals: AppealTable
  readonly #touched = new Map<number, Set<string>>()

  constructor(sql: Sql, ledger: DrawLedger, appeals: AppealTable) {
    this.#sql = sql
    this.#ledger = ledger
    this.#appeals = appeals
  }

  requeueAll(s: number): void {
    for (const { protocol } of this.#sql.all<{ protocol: string }>(
      'SELECT protocol FROM queue WHERE s = ? UNION SELECT protocol FROM agreement WHERE s = ? UNION SELECT protocol FROM draws WHERE s = ? UNION SELECT protocol FROM compared WHERE s = ?',
      s,
      s,
      s,
      s,
    ))
      this.#requeue(s, protocol)
  }

  /** What the queue has of this subject and protocol has to be written anew. */
  touch(s: number, protocol: string): void {
    const touched = this.#touched.get(s) ?? new Set()
    this.#touched.set(s, touched.add(protocol))
  }

  /** Writes anew what was touched, each once however often it was. Reservations stay until a person decides. */
  settle(): void {
    for (const [s, protocols] of this.#touched)
      for (const protocol of new Set([...protocols, ...this.#appeals.settle(s)])) this.#requeue(s, protocol)
    this.#touched.clear()
  }

  #requeue(s: number, protocol: string): void {
    this.#sql.run('DELETE FROM compared WHERE s = ? AND protocol = ?', s, protocol)
    if (this.#sql.get('SELECT 1 FROM rulings WHERE s = ? AND protocol = ? LIMIT 1', s, protocol) === undefined) {
      for (const table of ['agreement', 'queue'])
        this.#sql.run(`DELETE FROM ${table} WHERE s = ? AND protocol = ?`, s, protocol)
      this.#ledger.forget(s, protocol)
      return
    }
    this.#sql.run(COMPARE, s, protocol)
    this.#sql.run(NOTE_REVERSALS, s, protocol)
    const row = this.#sql.get<StandingRow>(
      `SELECT id, tenant, number, label, decided_by, contested, degraded, confidence, accepted, decided_at, sampled,
         json_extract(json, '$.decision.by') AS by,
         EXISTS (SELECT 1 FROM marks WHERE marks.doc = rulings.doc AND mark = 'unseen') AS unseen,
         decided_by = 'human' AND EXISTS (SELECT 1 FROM said INDEXED BY said_golden WHERE said.s = rulings.s AND said.protocol = rulings.protocol
           AND ${GOLDEN} AND ${OPINION_CODE} = ${GOLDEN_KEY} AND json_extract(said.json, '$.against') = +number
           AND said.label = rulings.label) AS golden
         FROM rulings WHERE s = ? AND protocol = ? AND standing = 1`,
      s,
      protocol,
    )
    // Of one verdict thousands may be refused: of each reason the first is read alone.
    const asked = this.#sql.all<{ why: string; at: number }>(
      `SELECT value AS why, at FROM json_each(?1) CROSS JOIN said ON n = (SELECT said.n FROM said WHERE s = ?2 AND protocol = ?3
         AND said.said = 'review' AND json_extract(json, '$.verdict') = ?4 AND json_extract(json, '$.why') = value
         AND NOT ${isReversed('?4', '?5')} ORDER BY said.at, said.n LIMIT 1) ORDER BY n`,
      JSON.stringify(ASKED_FOR),
      s,
      protocol,
      row?.id ?? null,
      row?.tenant ?? null,
    )
    const appealed = this.#appeals.openSince(s, protocol)
    if (appealed !== null) asked.push({ why: 'appealed', at: appealed })
    const opinions = this.#sql.all<{ label: string | null }>(
      `SELECT label FROM (
         SELECT CASE ${OPINION_CODE} WHEN ${OPINION} THEN label END AS label, row_number() OVER (PARTITION BY by ORDER BY at DESC, n DESC) AS nth, min(n) OVER (PARTITION BY by) AS first
         FROM (SELECT * FROM said WHERE s = ? AND protocol = ? AND ${IS_OPINION} AND json_extract(json, '$.against') = ?
           ORDER BY at DESC, n DESC LIMIT ${NEWEST_OPINIONS}) AS said
         WHERE ${OPINION_CODE} IN (${OPINION}, ${OPINION_UNSEEN}) AND by IS NOT ? AND label IS NOT NULL)
       WHERE nth = 1 ORDER BY first LIMIT ?`,
      s,
      protocol,
      row?.number ?? null,
      row?.by ?? null,
      MOST_OPINIONS,
    )
    if (row?.decided_by === 'human') this.#compare(s, protocol, row, opinions)
    else {
      this.#sql.run('DELETE FROM agreement WHERE s = ? AND protocol = ?', s, protocol)
      if (row === undefined) this.#ledger.forget(s, protocol)
      else this.#ledger.settle('audit', { verdict: row.id, label: row.label, differs: null })
    }
    if (row !== undefined) {
      this.#ledger.leaveReplaced(s, protocol, row.id)
      this.#ledger.settleLanes(s, protocol)
    }
    const drawnAt =
      row === undefined ? null : this.#ledger.drawnAt(row.id, row.decided_by === 'human' ? 'second-opinion' : 'audit')
    const look = row === undefined ? null : lookAt(standingOf(row, drawnAt), asked, opinions.length)
    if (row === undefined || look === null) {
      this.#sql.run('DELETE FROM queue WHERE s = ? AND protocol = ?', s, protocol)
      return
    }
    this.#sql.run(
      `INSERT INTO queue (s, protocol, verdict, tenant, number, label, reasons, weight, since, decider, reach)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (s, protocol) DO UPDATE SET verdict = excluded.verdict,
       number = excluded.number, label = excluded.label, reasons = excluded.reasons, weight = excluded.weight,
       since = excluded.since, decider = excluded.decider, reach = excluded.reach,
       holder = iif(decider IS excluded.decider, holder, NULL), until = iif(decider IS excluded.decider, until, NULL)`,

      s,
      protocol,
      row.id,
      row.tenant,
      row.number,
      row.label,
      look.reasons.join(' '),
      look.weight,
      look.since,
      row.by,
      row.accepted,
    )
  }

  #compare(s: number, protocol: string, human: StandingRow, opinions: readonly { label: string | null }[]): void {
    const machine = this.#sql.get<{ id: string; label: string | null }>(
      `SELECT id, label FROM rulings WHERE s = ? AND protocol = ? AND number < ? AND decided_by NOT IN ('human', 'deleted')
       ORDER BY number DESC LIMIT 1`,
      s,
      protocol,
      human.number,
    )
    const opinion = opinions.find((one) => one.label !== null)
    const { id } = human
    // Who could not see what was judged says nothing of whether it was judged rightly.
    const label = human.unseen === 1 ? null : human.label
    const differs = (other: { label: string | null } | undefined) =>
      other === undefined || other.label === null || label === null ? null : other.label !== label
    if (machine !== undefined)
      this.#ledger.settle('audit', {
        verdict: machine.id,
        label: label === null ? null : machine.label,
        differs: differs(machine),
      })
    const compared = opinion === undefined && opinions.length > 0 ? null : label
    this.#ledger.settle('second-opinion', { verdict: id, label: compared, differs: differs(opinion) })
    for (const [beside, other] of [
      ['machine', machine],
      ['person', opinion],
    ] as const)
      if (label !== null && other !== undefined && other.label !== null)
        this.#sql.run(
          'INSERT OR REPLACE INTO agreement VALUES (?, ?, ?, ?)',
          s,
          protocol,
          beside,
          Number(other.label === label),
        )
      else this.#sql.run('DELETE FROM agreement WHERE s = ? AND protocol = ? AND beside = ?', s, protocol, beside)
  }
}

function standingOf(row: StandingRow, drawnAt: number | null) {
  const { id, label, confidence, accepted } = row
  return {
    id,
    label,
    confidence,
    accepted,
    decidedBy: row.decided_by,
    decidedAt: Math.min(row.decided_at, drawnAt ?? row.decided_at),
    contested: row.contested === 1,
    degraded: row.degraded === 1,
    drawn: drawnAt !== null || (row.decided_by !== 'human' && row.sampled === 1),
    golden: row.golden === 1,
  }
}
