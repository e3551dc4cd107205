import type { CostCurve } from '../curve-rows.ts'
import { type Evaluation, type EvaluationCell, estimateOf } from '../evaluation.ts'
import { points } from '../summary.ts'
import { agreementOfVoices } from '../voices.ts'
import type { TextTable } from './cells.ts'

/** What each row of one data set costs, and what it gives for that. */
export interface SavingsTable {
  readonly data: string
  readonly table: TextTable
}

/** A table for each data set of an evaluation with the rows of `thrifty`; none of any other. */
export function savingsTables({ table, costCurves }: Pick<Evaluation, 'table' | 'costCurves'>): SavingsTable[] {
  if (costCurves === undefined) return []
  return [...Map.groupBy(table, ({ data }) => data)].map(([data, cells]) => ({
    data,
    table: savingsTable(
      cells,
      costCurves.find((curve) => curve.data === data),
    ),
  }))
}

const IS = { best: 'the best', 'as-good': 'as good', worse: 'worse', open: 'open' } as const

function savingsTable(cells: readonly EvaluationCell[], curve: CostCurve | undefined): TextTable {
  const [first] = cells
  return {
    head: [
      'row',
      'quality',
      'less the best',
      '',
      'calls',
      'in sequence',
      'tokens',
      'USD for 1,000',
      'agrees with itself asked alone',
    ],
    rows: cells.map((cell) => {
      if (cell.why !== null) return [cell.row, `– (${cell.why})`, '', '', '', '', '', '', '']
      const { calls, sequence, tokens, costUsd } = cell.perItem
      const at = curve?.rows.find(({ row }) => row === cell.row)
      return [
        cell.row,
        qualityOf(cell),
        ...(at === undefined ? ['', ''] : [differenceIn(at), IS[at.is]]),
        calls.toFixed(1),
        sequence.toFixed(1),
        tokens.toFixed(0),
        (costUsd * 1_000).toFixed(3),
        first === undefined || cell === first ? '' : voicesIn(cell, first),
      ]
    }),
  }
}

/** Macro-F1 in points, or the mean ρ over aspects. */
function qualityOf(cell: EvaluationCell): string {
  const f1 = estimateOf(cell, 'macroF1')?.value
  if (f1 != null) return points(f1)
  const rho = estimateOf(cell, 'spearman:mean')?.value
  return rho == null ? '–' : `ρ ${rho.toFixed(3)}`
}

function differenceIn({ is, difference, low, high }: CostCurve['rows'][number]): string {
  return is === 'best' ? '' : `${points(difference)} [${points(low)}, ${points(high)}]`
}

/** Only where a row's voices were asked otherwise is there anything to tell. */
function voicesIn(cell: EvaluationCell, first: EvaluationCell): string {
  return agreementOfVoices(cell, first)
    .map(({ name, same, of }) => `${name} ${points(same / of)}`)
    .join(', ')
}
