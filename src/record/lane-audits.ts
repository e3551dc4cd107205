import { laneLanguage } from '../contracts/facts/lane-mark.ts'
import type { LaneAudit } from '../contracts/ports/review.ts'
import { rateOf } from './drawn-rates.ts'
import { laneEvidence } from './lane-evidence.ts'

/** A drawn verdict of a lane, as any store keeps it. */
export interface LaneAuditRow {
  readonly tenant: string
  readonly verdict: string
  readonly lang: string | null
  readonly label: string
  readonly chance: number
  readonly differs: number | null
}

/** What was drawn of the verdicts that a lane settled, in the SQL that both databases understand. Its value: the lane's hash. */
export const LANE_AUDITS = `SELECT draws.tenant, draws.verdict, subjects.lang, draws.label, draws.chance, draws.differs
  FROM draws CROSS JOIN rulings CROSS JOIN subjects
  WHERE draws.purpose = 'audit' AND draws.label IS NOT NULL AND rulings.id = draws.verdict AND subjects.s = draws.s
    AND EXISTS (SELECT 1 FROM marks WHERE marks.mark = 'lane' AND marks.value = ? AND marks.doc = rulings.doc)
  ORDER BY draws.drawn_at, draws.item`

/**
 * What people's labels say of a lane: of each tenant's draws up to the first that nobody has looked at, so that nobody chooses which
 * count. A tenant's labels speak for its own subjects; for all only where it is shown without any one of them too, since one tenant
 * may say what it likes.
 */
export function laneAudit(
  rows: readonly LaneAuditRow[],
  { risk, groups }: { readonly risk: number; readonly groups: number },
): LaneAudit {
  const closed = new Set<string>()
  const known = rows.filter(({ tenant, differs }) => {
    if (differs === null) closed.add(tenant)
    return !closed.has(tenant)
  })
  const { share, interval } = rateOf(rows)
  const audited = known.map(({ tenant, label, lang, chance, differs }) => ({
    tenant,
    group: JSON.stringify([label, laneLanguage(lang ?? undefined)]),
    chance,
    isWrong: differs === 1,
  }))
  const evidenceIn = (of: typeof audited) => laneEvidence(of, { risk, groups })
  const byTenant = Map.groupBy(audited, ({ tenant }) => tenant)
  const tenants = [...byTenant].map(([tenant, own]) => ({ tenant, evidence: evidenceIn(own) }))
  // Who found nothing wrong adds none.
  const accusing = [...byTenant].flatMap(([tenant, own]) => (own.some(({ isWrong }) => isWrong) ? [tenant] : []))
  const evidenceOfAll =
    accusing.length < 2
      ? 1
      : Math.min(...accusing.map((one) => evidenceIn(audited.filter(({ tenant }) => tenant !== one))))
  return {
    drawn: rows.length,
    audited: known.length,
    wrong: audited.filter(({ isWrong }) => isWrong).length,
    share,
    interval,
    evidence: Math.max(evidenceOfAll, ...tenants.map(({ evidence }) => evidence)),
    evidenceOfAll,
    tenants,
    next: rows.find(({ differs }) => differs === null)?.verdict ?? null,
  }
}
