import { laneLanguage } from '../contracts/facts/lane-mark.ts'
import type { LaneAudit } from '../contracts/ports/review.ts'
import { rateOf } from './drawn-rates.ts'
import { laneEvidence } from './lane-evidence.ts'

/** A drawn verdict of a lane, as any store keeps it. */
export interface LaneAuditRow {
  readonly tenant: string
  /** Null where its subject is erased. */
  readonly verdict: string | null
  readonly lang: string | null
  readonly label: string
  readonly chance: number
  readonly differs: number | null
  readonly lost: number
  readonly drawn_at: number
}

/** What was drawn of the verdicts that a lane settled, in the SQL that both databases understand. Its value: the lane's hash. */
export const LANE_AUDITS = `SELECT tenant, verdict, lang, label, chance, differs, lost, drawn_at FROM lane_draws WHERE lane = ?
  ORDER BY drawn_at, item`

/** First lanes that are closed stand beside the tables, by their marks, in the SQL that both databases understand. */
export const KEEP_CLOSED = "INSERT INTO meta VALUES (?, '') ON CONFLICT DO NOTHING"
export const CLOSED = "SELECT k FROM meta WHERE k LIKE 'lane %'"

/** Into so many parts tenants are cut at most: the work is a pass over the draws for each, however many tenants there are. */
const MOST_PARTS = 16

/**
 * What people's labels say of a lane: of each tenant's draws up to the first that nobody has looked at, so that nobody chooses which
 * count. What was lost before anybody looked counts neither as right nor as wrong, and holds nothing up. A tenant's labels speak for its own subjects; for all only where it is shown without any one of them too, since one tenant
 * may say what it likes. Where there are more than sixteen, it is shown without each sixteenth of them: no label chooses who is in which.
 */
export function laneAudit(
  rows: readonly LaneAuditRow[],
  { risk, groups }: { readonly risk: number; readonly groups: number },
): LaneAudit {
  const closed = new Set<string>()
  const left = rows.filter(({ lost }) => lost === 0)
  const known = left.filter(({ tenant, differs }) => {
    if (differs === null) closed.add(tenant)
    return !closed.has(tenant)
  })
  const { share, interval } = rateOf(left.map((row) => ({ ...row, verdict: row.verdict ?? '' })))
  const audited = known.map(({ tenant, label, lang, chance, differs }) => ({
    tenant,
    group: JSON.stringify([label, laneLanguage(lang ?? undefined)]),
    chance,
    isWrong: differs === 1,
  }))
  const evidenceIn = (of: typeof audited) => laneEvidence(of, { risk, groups })
  const byTenant = Map.groupBy(audited, ({ tenant }) => tenant)
  const tenants = [...byTenant].map(([tenant, own]) => ({ tenant, evidence: evidenceIn(own) }))
  const partOf = partsOf(rows)
  // Who found nothing wrong adds none.
  const accusing = new Set(audited.flatMap(({ tenant, isWrong }) => (isWrong ? [partOf.get(tenant)] : [])))
  const evidenceOfAll =
    accusing.size < 2
      ? 1
      : Math.min(
          ...[...accusing].map((part) => evidenceIn(audited.filter(({ tenant }) => partOf.get(tenant) !== part))),
        )
  const next = left.find(({ differs }) => differs === null)
  return {
    drawn: rows.length,
    audited: known.length,
    wrong: audited.filter(({ isWrong }) => isWrong).length,
    share,
    interval,
    evidence: Math.max(evidenceOfAll, ...tenants.map(({ evidence }) => evidence)),
    evidenceOfAll,
    tenants,
    lost: rows.length - left.length,
    next: next?.verdict ?? null,
    nextSince: next?.drawn_at ?? null,
  }
}

/** The part of each tenant, by the order in which they came: it stays the same, so that the evidence without a part may be looked at ever again. */
function partsOf(rows: readonly Pick<LaneAuditRow, 'tenant'>[]): ReadonlyMap<string, number> {
  const parts = new Map<string, number>()
  for (const { tenant } of rows) if (!parts.has(tenant)) parts.set(tenant, parts.size % MOST_PARTS)
  return parts
}
