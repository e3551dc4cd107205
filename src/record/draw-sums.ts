import type { DrawPurpose, DrawSum } from '../contracts/ports/review.ts'

/** What the ledger has of a purpose and a protocol, as any store counts it. */
export interface DrawSumRow {
  readonly purpose: DrawPurpose
  readonly protocol: string
  readonly drawn: number
  readonly reviewed: number
  readonly differing: number
  readonly waiting: number
  readonly low: number
  readonly high: number
  readonly since: number
  readonly eligible: number | null
}

/**
 * What was drawn of these tenants' subjects, and what could have been since the first was, in the SQL that both databases understand: for
 * audit each subject by its current verdict, for a second opinion each verdict of a person.
 */
export function drawSumsQuery(tenants: readonly string[] | undefined) {
  const seen = tenants === undefined ? '1 = 1' : `tenant IN (${['NULL', ...tenants.map(() => '?')].join(', ')})`
  // The verdicts come first: they are read once for all protocols, out of an index that has all of this.
  const eligible = (purpose: DrawPurpose, of: string) => `SELECT sums.purpose, sums.protocol, count(*) AS eligible
    FROM rulings CROSS JOIN sums WHERE ${of} AND sums.purpose = '${purpose}' AND rulings.protocol = sums.protocol
      AND decided_at >= sums.since AND ${seen} GROUP BY sums.purpose, sums.protocol`
  return {
    sql: `WITH sums AS MATERIALIZED (
        SELECT purpose, protocol, count(*) AS drawn, min(chance) AS low, max(chance) AS high, min(drawn_at) AS since,
          sum(CASE WHEN differs IS NULL THEN 0 ELSE 1 END) AS reviewed,
          sum(CASE WHEN differs = 1 THEN 1 ELSE 0 END) AS differing,
          sum(CASE WHEN differs IS NULL AND label IS NOT NULL THEN 1 ELSE 0 END) AS waiting
        FROM draws WHERE ${seen} GROUP BY purpose, protocol),
      eligible AS MATERIALIZED (${eligible('audit', 'standing = 1')} UNION ALL ${eligible('second-opinion', "decided_by = 'human'")})
      SELECT sums.*, eligible.eligible FROM sums
      LEFT JOIN eligible ON eligible.purpose = sums.purpose AND eligible.protocol = sums.protocol
      ORDER BY sums.protocol, sums.purpose`,
    values: [...(tenants ?? []), ...(tenants ?? []), ...(tenants ?? [])],
  }
}

export function drawSum({ low, high, ...row }: DrawSumRow): DrawSum {
  const { purpose, protocol, drawn, reviewed, differing, waiting, since, eligible } = row
  const left = drawn - reviewed - waiting
  return { purpose, protocol, eligible, drawn, reviewed, differing, waiting, left, chance: { low, high }, since }
}
