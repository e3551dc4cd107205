import type { ItemOutcome } from './outcomes.ts'
import { pairedChange, pairedTest, pairsOf } from './pairs.ts'
import type { RowVariant } from './rows.ts'
import type { LabelScores } from './scores.ts'
import type { Estimate } from './statistics/intervals.ts'
import { holm } from './statistics/paired-tests.ts'
import { seededRandom } from './statistics/random.ts'

/** A row of a data set beside each other row: the one with the highest accuracy, or the protocol's. */
export interface BestRow {
  readonly data: string
  readonly row: string
  /** Pairs of rows whose p-values are adjusted together (Holm); all of them for the best row, since the items themselves chose it. */
  readonly pairs: number
  readonly against: readonly BeatenRow[]
}

interface BeatenRow {
  readonly row: string
  /** Items that both judged. */
  readonly items: number
  /** The best row's accuracy less this one's, on these items. */
  readonly change: Estimate
  /** That neither is right more often (McNemar's exact test; of several judgings of an item by their shares). */
  readonly pValue: number
  readonly adjusted: number
}

interface LabelledCell {
  readonly row: string
  readonly data: string
  readonly labels: Pick<LabelScores, 'accuracy'> | null
  readonly outcomes: readonly ItemOutcome[]
  readonly variant?: RowVariant
}

/** A difference with a smaller adjusted p-value is more than chance. */
const LEVEL = 0.05

/** Of each data set on which two rows at least have labels. Of equal rows the first is the best. */
export function bestRows(cells: readonly LabelledCell[], seed: string): BestRow[] {
  const scored = cells.filter(({ labels }) => labels !== null)
  return [...Map.groupBy(scored, ({ data }) => data).values()].flatMap((rows) => bestOf(rows, seed) ?? [])
}

function bestOf(rows: readonly LabelledCell[], seed: string): BestRow | null {
  const accuracyOf = ({ labels }: LabelledCell) => labels?.accuracy.value ?? 0
  const best = rows.toSorted((one, other) => accuracyOf(other) - accuracyOf(one))[0]
  if (best === undefined || rows.length < 2) return null
  return besideOthers(
    best,
    rows.flatMap((first, at) => rows.slice(at + 1).map((second) => ({ first, second }))),
    { rows, seed },
  )
}

/** The protocol's row of each data set and model beside those without one of its parts. Holm is over these alone. */
export function partRows(
  cells: readonly LabelledCell[],
  isWhole: (cell: LabelledCell) => boolean,
  seed: string,
): BestRow[] {
  const scored = cells.filter(({ labels }) => labels !== null)
  const groups = Map.groupBy(scored, ({ data, variant }) => JSON.stringify([data, variant?.model]))
  return [...groups.values()].flatMap((rows) => {
    const whole = rows.find(isWhole)
    if (whole === undefined || rows.length < 2) return []
    const others = rows.filter((row) => row !== whole)
    return [
      besideOthers(
        whole,
        others.map((second) => ({ first: whole, second })),
        { rows, seed },
      ),
    ]
  })
}

/** A row beside each other one, its p-values adjusted over these pairs of rows. */
function besideOthers(
  best: LabelledCell,
  pairsOfRows: readonly { readonly first: LabelledCell; readonly second: LabelledCell }[],
  { rows, seed }: { rows: readonly LabelledCell[]; seed: string },
): BestRow {
  const tested = pairsOfRows.map(({ first, second }) => ({
    first,
    second,
    pValue: pairedTest(pairsOf(second.outcomes, first.outcomes).pairs),
  }))
  const adjusted = holm(tested.map(({ pValue }) => pValue))
  const against = rows.flatMap((row): BeatenRow[] => {
    const at = tested.findIndex(({ first, second }) => [first, second].includes(best) && [first, second].includes(row))
    const pair = row === best ? undefined : tested[at]
    if (pair === undefined) return []
    const { pairs } = pairsOf(row.outcomes, best.outcomes)
    const { change } = pairedChange(pairs, seededRandom(`${seed} ${row.row} ${best.row}`))
    return [{ row: row.row, items: pairs.length, change, pValue: pair.pValue, adjusted: adjusted[at] ?? 1 }]
  })
  return { data: best.data, row: best.row, pairs: tested.length, against }
}

/** The finding, in a sentence. */
export function bestSays({ data, row, pairs, against }: BestRow, many: boolean): string {
  const isBeaten = ({ adjusted, change }: BeatenRow) => adjusted < LEVEL && (change.value ?? 0) > 0
  const isEqual = ({ change }: BeatenRow) => change.value === 0
  const named = (rows: readonly BeatenRow[]) => rows.map((one) => one.row).join('; ')
  const [beaten, equal] = [against.filter(isBeaten), against.filter(isEqual)]
  const others = against.filter((one) => !isBeaten(one) && !isEqual(one))
  const found = [
    ...(beaten.length === 0 ? [] : [`beats ${named(beaten)}`]),
    ...(others.length === 0 ? [] : [`is not shown to beat ${named(others)}`]),
  ]
  const over = pairs === 1 ? '' : ` (Holm, over all ${pairs} pairs of rows)`
  const first = `${many ? `${data}: ` : ''}${row} has the highest accuracy${equal.length === 0 ? '' : `, and so ${equal.length === 1 ? 'has' : 'have'} ${named(equal)}`}.`
  return found.length === 0 ? first : `${first} It ${found.join(', and ')}${over}.`
}
