import type { ItemOutcome } from './outcomes.ts'

/** A row beside the best one. */
export interface CurveRow {
  readonly row: string
  readonly macroF1: number
  readonly perItem: ItemOutcome['usage']
  /** Its macro-F1 less that of the best row, on the same items, with a 95 % interval; 0 for the best itself. */
  readonly difference: number
  readonly low: number
  readonly high: number
  /** `open`: the sample does not say. */
  readonly is: 'best' | 'as-good' | 'worse' | 'open'
}

/** What quality costs on one data set. */
export interface CostCurve {
  readonly data: string
  /** The rows that models judged, the cheapest first. */
  readonly rows: readonly CurveRow[]
  /** The cheapest row that is as good as the best: the best itself where every cheaper one is worse; null where that is open. */
  readonly cheapest: string | null
  /**
   * Where it is open, and differences stay as they are: about so many items more would show that this row is as good, or with null that
   * no cheaper one is.
   */
  readonly more: { readonly row: string | null; readonly items: number } | null
}
