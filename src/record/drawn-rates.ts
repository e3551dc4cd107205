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

/** A draw's language, looked up where it does not stand beside it. */
export const LANGUAGE_OF_DRAW = '(SELECT lang FROM subjects WHERE subjects.s = draws.s)'

/** The entries of these tenants, as both databases are asked for them; null: of all. `lang`: where their language is. */
export function drawRowsQuery(tenants: readonly string[] | undefined, lang = LANGUAGE_OF_DRAW) {
  const isSeen = tenants === undefined ? '1 = 1' : `draws.tenant IN (${['NULL', ...tenants.map(() => '?')].join(', ')})`
  const sql = `SELECT item, tenant, purpose, protocol, verdict, ${lang} AS lang, chance, drawn_at, label, differs
    FROM draws WHERE ${isSeen}`
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
  const parts = new Map<string, { readonly of: RatePart; readonly sums: PartSums }>()
  const sumsOf = (of: RatePart) => {
    const name = orderOf(of)
    const known = parts.get(name) ?? { of, sums: new PartSums() }
    parts.set(name, known)
    return known.sums
  }
  // Thousands of draws have few parts: these are looked up once for each label and language.
  const ofPurpose = new Map<string, PartSums[]>()
  for (const row of inOrder) {
    const { protocol, purpose, label, lang } = row
    const name = `${protocol}\0${purpose}\0${lang}\0${label}`
    let own = ofPurpose.get(name)
    if (own === undefined) {
      own = [
        sumsOf({ protocol, purpose, part: 'all', value: '' }),
        sumsOf({ protocol, purpose, part: 'label', value: label ?? '' }),
        sumsOf({ protocol, purpose, part: 'language', value: lang ?? '(none named)' }),
      ]
      ofPurpose.set(name, own)
    }
    for (const sums of own) sums.take(row)
  }
  return [...parts.values()]
    .map(({ of, sums }): DrawnRate => ({ ...of, ...sums.rate() }))
    .toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
}

type RatePart = Pick<DrawnRate, 'protocol' | 'purpose' | 'part' | 'value'>

/** Also the name of a part: its value, which alone may hold a zero, comes last. */
function orderOf({ protocol, purpose, part, value }: RatePart): string {
  return `${protocol}\0${purpose}\0${part === 'all' ? 0 : 1}\0${part}\0${value}`
}

type RatedDraw = Pick<DrawRow, 'tenant' | 'chance' | 'differs' | 'verdict'>

/** What the first of these draws show, of each tenant up to one that is not known; they stand in their order. */
export function rateOf(rows: readonly RatedDraw[]): Omit<DrawnRate, keyof RatePart> {
  const sums = new PartSums()
  for (const row of rows) sums.take(row)
  return sums.rate()
}

/** What a share needs of its draws: how many there are, their weights, and the squares of these; of all, and of the hits. */
interface WeightSums {
  n: number
  weight: number
  squares: number
  hits: number
  hitWeight: number
  hitSquares: number
}
const noWeights = (): WeightSums => ({ n: 0, weight: 0, squares: 0, hits: 0, hitWeight: 0, hitSquares: 0 })

function addWeight(sums: WeightSums, weight: number, isHit: boolean): void {
  sums.n++
  sums.weight += weight
  sums.squares += weight ** 2
  if (!isHit) return
  sums.hits++
  sums.hitWeight += weight
  sums.hitSquares += weight ** 2
}

/**
 * A part's draws, taken in their order. Tenants of which something counts have the weight of all their draws, so that it does not
 * matter which of them people look at first.
 */
class PartSums {
  readonly #tenants = new Map<string, { readonly counted: WeightSums; all: number; isOpen: boolean }>()
  #draws = 0
  #unknown = 0
  #next: string | null = null

  take({ tenant, chance, differs, verdict }: RatedDraw): void {
    const own = this.#tenants.get(tenant) ?? { counted: noWeights(), all: 0, isOpen: true }
    this.#tenants.set(tenant, own)
    own.all += 1 / chance
    this.#draws++
    if (differs === null) {
      own.isOpen = false
      this.#unknown++
      this.#next ??= verdict
    } else if (own.isOpen) addWeight(own.counted, 1 / chance, differs === 1)
  }

  rate(): Omit<DrawnRate, keyof RatePart> {
    const whole = noWeights()
    for (const { counted, all } of this.#tenants.values()) {
      const standsFor = counted.n === 0 ? 0 : all / counted.weight
      whole.n += counted.n
      whole.hits += counted.hits
      whole.weight += counted.weight * standsFor
      whole.hitWeight += counted.hitWeight * standsFor
      whole.squares += counted.squares * standsFor ** 2
      whole.hitSquares += counted.hitSquares * standsFor ** 2
    }
    return {
      counted: whole.n,
      differing: whole.hits,
      ...shareOf(whole),
      waiting: this.#unknown,
      ahead: this.#draws - whole.n - this.#unknown,
      next: this.#next,
    }
  }
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
  const sums = noWeights()
  for (const { weight, isHit } of results) addWeight(sums, weight, isHit)
  return shareOf(sums)
}

function shareOf({ n, weight, squares, hitWeight, hitSquares }: WeightSums) {
  if (n === 0) return { share: null, interval: { low: 0, high: 1 }, effective: 0 }
  const share = hitWeight / weight
  const scattered = hitSquares * (1 - share) ** 2 + Math.max(0, squares - hitSquares) * share ** 2
  const variance = n === 1 ? 0 : (scattered / weight ** 2) * (n / (n - 1))
  const most = weight ** 2 / squares
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
