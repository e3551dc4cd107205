import { isDecided } from './decided.ts'
import type { ItemOutcome } from './outcomes.ts'
import { bootstrap, type Estimate } from './statistics/intervals.ts'
import { seededRandom } from './statistics/random.ts'

/** A row's verdicts on one data set. */
interface JudgedCell {
  readonly row: string
  readonly data: string
  /** Null where it gives none. */
  readonly labels: object | null
  readonly outcomes: readonly ItemOutcome[]
}

/** How right a row is where the first row decides: a row that withholds is compared on what it does not withhold. */
export interface EqualCoverage {
  readonly row: string
  readonly data: string
  /** Share of the row's own items that it decides. */
  readonly coverage: number
  /** The first row that gives labels on this data, and how many items it decides. */
  readonly where: string
  readonly items: number
  /** On these items; one that this row does not decide counts as wrong. */
  readonly accuracy: Estimate
}

/** Of every row with labels, by data set. By the seed of the rows' accuracy: where all is decided, both have the same interval. */
export function equalCoverage(cells: readonly JudgedCell[], seed: string): EqualCoverage[] {
  const scored = cells.filter(({ labels }) => labels !== null)
  return [...Map.groupBy(scored, ({ data }) => data).values()].flatMap(([first, ...others]) => {
    if (first === undefined) return []
    const where = new Set(labelled(first).flatMap((one) => (isDecided(one.label) ? [one.id] : [])))
    return [first, ...others].map((cell): EqualCoverage => {
      const all = labelled(cell)
      return {
        row: cell.row,
        data: cell.data,
        coverage: all.filter(({ label }) => isDecided(label)).length / all.length,
        where: first.row,
        items: where.size,
        accuracy: accuracyOf(
          all.filter(({ id }) => where.has(id)),
          seed,
        ),
      }
    })
  })
}

function labelled({ outcomes }: JudgedCell): ItemOutcome[] {
  return outcomes.filter(({ gold }) => gold !== null)
}

function accuracyOf(outcomes: readonly ItemOutcome[], seed: string): Estimate {
  const units = [...Map.groupBy(outcomes, ({ unit }) => unit).values()]
  const share = (sample: readonly (readonly ItemOutcome[])[]) => {
    const all = sample.flat()
    return all.length === 0 ? null : all.filter(({ gold, label }) => gold === label).length / all.length
  }
  const how = {
    random: seededRandom(seed),
    absent: 'nothing was decided',
    kind: 'share',
    answers: outcomes.length,
  } as const
  return bootstrap(units, share, how)
}
