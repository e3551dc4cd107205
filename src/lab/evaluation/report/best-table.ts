import type { BestRow } from '../best-row.ts'
import type { Evaluation } from '../evaluation.ts'
import { pText, withInterval } from '../summary.ts'
import type { TextTable } from './cells.ts'

export const BEST_HEADING = 'Which row is best'
export const BEST_NOTE =
  'Points of accuracy that the best row has more, with 95 % intervals. p is of McNemar’s exact test; where items were judged several times, of the exact paired permutation test over each item’s share of right answers. p (Holm) is adjusted over all pairs of rows on these data, and not over the best one’s alone: the items themselves chose which row that is. The intervals are not adjusted. If items share units, both are too small; use the interval.'

export const PARTS_HEADING = 'What each part is worth'
export const PARTS_NOTE =
  'Points of accuracy that the protocol has more than without a part, or otherwise set, with 95 % intervals; p as above, and p (Holm) adjusted over these rows alone: they were planned.'

/** The best row of each data set beside the others; null where no two rows have labels. */
export function bestTable({ best = [] }: Pick<Evaluation, 'best'>): TextTable | null {
  return besideTable(best, 'best row')
}

/** The protocol beside its rows without a part; null without such rows. */
export function partsTable({ parts = [] }: Pick<Evaluation, 'parts'>): TextTable | null {
  return besideTable(parts, 'row')
}

function besideTable(best: readonly BestRow[], called: string): TextTable | null {
  if (best.length === 0) return null
  const many = new Set(best.map(({ data }) => data)).size > 1
  return {
    head: [called, ...(many ? ['data'] : []), 'against', 'items', 'points more', 'p', 'p (Holm)'],
    rows: best.flatMap(({ row, data, against }) =>
      against.map(({ row: other, items, change, pValue, adjusted }) => [
        row,
        ...(many ? [data] : []),
        other,
        String(items),
        withInterval(change),
        pText(pValue),
        pText(adjusted),
      ]),
    ),
  }
}
