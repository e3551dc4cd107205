import { entryOf } from '../../../contracts/facts/entry-of.ts'
import type { RowMethod, RowPlan } from '../rows.ts'

/** What a paper's table prints in one cell. */
export type Measure =
  | 'accuracy'
  | 'macroF1'
  /** Standard deviations over a row's repeats. */
  | 'accuracySd'
  | 'macroF1Sd'
  /** Fleiss' kappa: of a row's repeats, or of the perspectives that vote on one text. */
  | `kappa:${'repeats' | 'perspectives'}`
  /** How long a row's calls took, one after the other; and how much more that is than the first row's, as a share of it. */
  | 'seconds'
  | 'timeIncrease'
  /** The same of one item, and its tokens. */
  | 'secondsEach'
  | 'tokensEach'
  /** Calls of some stages, joined by +, and their share of all: `calls:strict+loose`. */
  | `${'calls' | 'callShare'}:${string}`
  /** Of one label: `f1:rumor`. */
  | `${'precision' | 'recall' | 'f1'}:${string}`
  /** Of one aspect: `spearman:relevance`; of correlations also their mean over the aspects: `spearman:mean`. */
  | `${AspectMeasure}:${string}`
  /** Standard deviation of an aspect's ρ over a row's repeats. */
  | `spearmanSd:${string}`

export type AspectMeasure =
  | 'spearman'
  | 'kendall'
  | 'ndcg'
  | 'spearmanP'
  | 'kendallP'
  /** Over the replies to each statement, and then their mean (equation 3 of Auto-CSEval); NDCG beside a random order's. */
  | 'statementSpearman'
  | 'statementNdcg'
  | 'statementNdcgRandom'
  /** Of Spearman's ρ over random samples; and how much more a row's mean is than that of the rows above it. */
  | 'trialMean'
  | 'trialSd'
  | 'trialGain'

/** A table or figure of a paper, as rows that can be judged. */
export interface PresetTable {
  /** As `--preset` takes it: `s2mad-table-1`. */
  readonly name: string
  /** The paper and the table, with its subject: `S2MAD, Table 1: …`. */
  readonly of: string
  readonly protocol: string
  /** The protocol's switches in every row, beneath the row's own: `preset: paper`, a temperature. */
  readonly switches: Switches
  /** The data sets that the paper judged, each a column or a block of the table. */
  readonly data: readonly PresetData[]
  /** What its cells hold, the first to be compared. */
  readonly measures: readonly Measure[]
  /** Where its measures are by aspect: the aspects, each printed as a line of its row. */
  readonly aspects?: readonly string[]
  /** Digits behind the point, as printed; `decimalsOf` where a measure has others. */
  readonly decimals: number
  readonly decimalsOf?: Readonly<Partial<Record<Measure, number>>>
  readonly rows: readonly PresetRow[]
  /**
   * Where the paper draws lines: what is along their axis; and of which line a row on a data set is a point, at which place, or null
   * where it is none. Places stand in the table's order.
   */
  readonly figure?: {
    readonly axis: string
    readonly pointOf: (row: string, data: string) => { readonly line: string; readonly at: string } | null
  }
  /** What the paper leaves open and how it is read, a sentence each; printed below the table. */
  readonly notes: readonly string[]
}

/** Values of a protocol's settings, by name. */
export type Switches = Readonly<Record<string, unknown>>

export interface PresetData {
  /** As the paper names it. */
  readonly name: string
  /** Formats (`--format`) in which it, or the half of it that is at hand, can be given. */
  readonly formats: readonly string[]
  /** Of a data set that is judged in parts, each as much of every class as the others: which part it is, from 1. */
  readonly batch?: { readonly nth: number; readonly of: number }
  /** The paper's sample, if it drew one: items in all, as many of each class. */
  readonly sample?: { readonly size: number; readonly balanced: boolean }
}

export interface PresetRow extends RowPlan {
  /** What the paper prints, by data set and measure; left out where it prints nothing. */
  readonly figures: Figures
  /**
   * For a row that differs by data set: the switches that it adds on each, by the data set's name. Such a row can't be judged
   * on any other.
   */
  readonly switchesOn?: Readonly<Record<string, Switches>>
  /** The part of its name that is a model’s, and that model: where another answers, the row is not called so. */
  readonly calledBy?: { readonly name: string; readonly model: string }
  /** What must be there for a row to be the paper's: evaluation steps that were calibrated, for each aspect. */
  readonly needs?: 'calibrated-steps'
}

export type Figures = Readonly<Record<string, Readonly<Partial<Record<Measure, number>>>>>

/**
 * How a table's rows are judged on one of its data sets, or, with null, on a data set that the paper did not use. A row's
 * switches are complete: the table's, over them its own, over these what it adds on that data set.
 */
export function rowsOn(table: PresetTable, data: string | null): RowPlan[] {
  return table.rows.map(({ figures: _, switchesOn, needs: __, calledBy: ___, ...plan }) => ({
    ...plan,
    how: judgingOn(plan.how, table.switches, switchesOn, data),
  }))
}

function judgingOn(
  how: RowMethod,
  ofTable: Switches,
  switchesOn: PresetRow['switchesOn'],
  data: string | null,
): RowMethod {
  if (how.by !== 'protocol') return how
  const added = switchesOn === undefined ? {} : data === null ? undefined : entryOf(switchesOn, data)
  if (added === undefined)
    return { by: 'nothing', why: 'its settings go by the data sets of the paper, and this is none of them' }
  return { by: 'protocol', switches: { ...ofTable, ...how.switches, ...added } }
}
