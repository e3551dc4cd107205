import jstat from 'jstat'
import type { DrawnRate, DrawPurpose } from '../contracts/ports/review.ts'

/** An entry of the ledger, as any store keeps it. */
export interface DrawRow {
  readonly item: string
  readonly tenant: string
  readonly purpose: DrawPurpose
  readonly protocol: string
  readonly verdict: string
  readonly lang: string | null
  readonly chance: number
  readonly drawn_at: number
  /** The label that is checked; without one there is nothing to be wrong. */
  readonly label: string | null
  readonly differs: number | null
}

/** The entries of these tenants, as both databases are asked for them; null: of all. */
export function drawRowsQuery(tenants: readonly string[] | undefined) {
  const isSeen = tenants === undefined ? '1 = 1' : `draws.tenant IN (${['NULL', ...tenants.map(() => '?')].join(', ')})`
  const sql = `SELECT item, draws.tenant, purpose, protocol, verdict, lang, chance, drawn_at, label, differs
    FROM draws LEFT JOIN subjects ON subjects.s = draws.s AND lang IS NOT NULL WHERE ${isSeen}`
  return { sql, values: tenants ?? [] }
}

/**
 * How often draws differ, of each protocol and purpose, by label and language.
 *
 * People look at things in the order that they like: those who take errors first would make machines look bad, those who take easy
 * ones first, good. So of each part only the draws before its first unknown one count, in the order in which they were drawn, which
 * was fixed before anybody looked: whoever takes others has no part in which these are. Only the place where they end can depend on
 * people, and so on the one draw behind them. If a share s of those that are right is left for later, and none of the wrong ones,
 * about 1 in s counts before the first gap, and the estimate is too high by s·p·(1 − p) at most: √(p·s) of its standard error.
 * A label and a language are known when something is drawn, so that a part has an order of its own, and people who look at nothing
 * but one label still tell the rate of that label. A tenant is known as well: what nobody has looked at of one holds up no other.
 */
export function drawnRates(rows: readonly DrawRow[]): DrawnRate[] {
  const inOrder = rows
    .filter(({ label }) => label !== null)
    .toSorted((a, b) => a.drawn_at - b.drawn_at || (a.item < b.item ? -1 : 1))
  const parts = new Map<string, { readonly of: RatePart; readonly rows: DrawRow[] }>()
  for (const row of inOrder) {
    const { protocol, purpose } = row
    for (const [part, value] of [
      ['all', ''],
      ['label', row.label ?? ''],
      ['language', row.lang ?? '(none named)'],
    ] as const) {
      const name = orderOf({ protocol, purpose, part, value })
      const known = parts.get(name)
      if (known === undefined) parts.set(name, { of: { protocol, purpose, part, value }, rows: [row] })
      else known.rows.push(row)
    }
  }
  return [...parts.values()]
    .map(({ of, rows: own }): DrawnRate => ({ ...of, ...rateOf(own) }))
    .toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
}

type RatePart = Pick<DrawnRate, 'protocol' | 'purpose' | 'part' | 'value'>

/** Also the name of a part: its value, which alone may hold a zero, comes last. */
function orderOf({ protocol, purpose, part, value }: RatePart): string {
  return `${protocol}\0${purpose}\0${part === 'all' ? 0 : 1}\0${part}\0${value}`
}

/**
 * What the first of these draws show, of each tenant up to one that is not known; they stand in their order. Tenants of which
 * something counts have the weight of all their draws, so that it does not matter which of them people look at first.
 */
export function rateOf(
  rows: readonly Pick<DrawRow, 'tenant' | 'chance' | 'differs' | 'verdict'>[],
): Omit<DrawnRate, keyof RatePart> {
  const results = [...Map.groupBy(rows, ({ tenant }) => tenant).values()].flatMap((own) => {
    const gap = own.findIndex(({ differs }) => differs === null)
    const counted = gap === -1 ? own : own.slice(0, gap)
    const standsFor = weightOf(own) / weightOf(counted)
    return counted.map(({ chance, differs }) => ({ weight: standsFor / chance, isHit: differs === 1 }))
  })
  const unknown = rows.filter(({ differs }) => differs === null)
  return {
    counted: results.length,
    differing: results.filter(({ isHit }) => isHit).length,
    ...weightedShare(results),
    waiting: unknown.length,
    ahead: rows.length - results.length - unknown.length,
    next: unknown[0]?.verdict ?? null,
  }
}

function weightOf(rows: readonly Pick<DrawRow, 'chance'>[]): number {
  return rows.reduce((all, { chance }) => all + 1 / chance, 0)
}

/**
 * A share of draws with unequal chances, each weighted by the inverse of its own (Hájek), with the 95 % interval of Korn and Graubard
 * (1998), which keeps its coverage for rare things (Dean and Pagano 2015): that of Clopper and Pearson, for as many equal draws as
 * would leave the share as uncertain. Each draw is one for itself, so that no degrees of freedom are lost. That number is never taken
 * to be higher than the weights alone allow (Kish 1965): among few hits, those that happen to weigh little would make it so.
 */
export function weightedShare(
  results: readonly { readonly weight: number; readonly isHit: boolean }[],
): Pick<DrawnRate, 'share' | 'interval' | 'effective'> {
  const n = results.length
  const sum = (of: (one: (typeof results)[number]) => number) => results.reduce((all, one) => all + of(one), 0)
  const total = sum(({ weight }) => weight)
  if (n === 0) return { share: null, interval: { low: 0, high: 1 }, effective: 0 }
  const share = sum(({ weight, isHit }) => (isHit ? weight : 0)) / total
  const squares = sum(({ weight, isHit }) => (weight * (Number(isHit) - share)) ** 2)
  const variance = n === 1 ? 0 : (squares / total ** 2) * (n / (n - 1))
  const most = total ** 2 / sum(({ weight }) => weight ** 2)
  const effective = variance > 0 ? Math.min(most, (share * (1 - share)) / variance) : most
  return { share, interval: clopperPearson(share * effective, effective), effective }
}

/** The exact 95 % interval of a share (Clopper and Pearson 1934), also for numbers that are not whole. */
function clopperPearson(hits: number, of: number): { low: number; high: number } {
  const { beta } = jstat.jStat
  return {
    low: hits <= 0 ? 0 : beta.inv(0.025, hits, of - hits + 1),
    high: hits >= of ? 1 : beta.inv(0.975, hits + 1, of - hits),
  }
}
