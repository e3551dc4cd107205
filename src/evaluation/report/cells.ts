import { type Cell, type Evaluation, measured } from '../evaluation.ts'
import type { Measure, PresetTable } from '../presets/preset.ts'
import { points, withInterval } from '../summary.ts'

/** A table as texts: one row a cell of the evaluation. */
export interface TextTable {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/**
 * The main table: for each row its figures with their 95 % intervals in points, what it costs, and beside a paper's row what the
 * paper prints, in points as well. `preset` is the paper's table, if it is one.
 */
export function mainTable({ table, data }: Evaluation, preset: PresetTable | null): TextTable {
  const many = data.length > 1 || preset !== null
  const measures = preset?.measures ?? ownMeasures(table)
  const printed = preset === null ? [] : measures.map((measure) => `paper: ${measure}`)
  return {
    head: ['row', ...(many ? ['data'] : []), 'items', ...measures, ...printed, 'no label', 'calls', 'tokens', 'USD'],
    rows: table.map((cell) => [
      cell.draws === null ? cell.row : `${cell.row} (${cell.draws} draws)`,
      ...(many ? [cell.data] : []),
      ...(cell.why === null ? [String(cell.counts.items)] : [`– (${cell.why})`]),
      ...measures.map((measure) => estimateIn(cell, measure)),
      ...(preset === null ? [] : measures.map((measure) => paperFigure(cell, measure, preset))),
      ...(cell.why === null ? costsOf(cell) : ['', '', '', '']),
    ]),
  }
}

function ownMeasures(table: readonly Cell[]): Measure[] {
  const labels = table.find((cell) => cell.labels !== null)?.labels
  const aspects = table.find((cell) => cell.aspects.length > 0)?.aspects ?? []
  return [
    ...(labels == null
      ? []
      : (['accuracy', 'macroF1', ...labels.classes.map(({ label }) => `f1:${label}`)] as Measure[])),
    ...aspects.flatMap(({ aspect }) => [`spearman:${aspect}`, `kendall:${aspect}`] as Measure[]),
  ]
}

function estimateIn(cell: Cell, measure: Measure): string {
  const estimate = cell.why === null ? measured(cell, measure) : null
  if (estimate === null) return ''
  if (!isCorrelation(measure)) return withInterval(estimate)
  const { value, interval } = estimate
  if (value === null) return '–'
  return interval === null
    ? value.toFixed(3)
    : `${value.toFixed(3)} [${interval.low.toFixed(3)}, ${interval.high.toFixed(3)}]`
}

function isCorrelation(measure: Measure): boolean {
  return /^(spearman|kendall|ndcg|kappa):?/.test(measure)
}

/** Whether a measure is a share of items, or the deviation of one: in points, here as in the paper's column. */
function isShare(measure: Measure): boolean {
  return /^(accuracy|accuracySd|macroF1|precision:.*|recall:.*|f1:.*)$/.test(measure)
}

function paperFigure({ paper }: Cell, measure: Measure, { decimals, decimalsOf }: PresetTable): string {
  const figure = paper[measure]
  if (figure === undefined) return ''
  const digits = decimalsOf?.[measure] ?? decimals
  return isShare(measure) ? (figure * 100).toFixed(Math.max(0, digits - 2)) : figure.toFixed(digits)
}

/** Share without a label in points; calls, tokens and US dollars an item. */
function costsOf({ labels, perItem }: Cell): string[] {
  const none = labels === null || labels.coverage === null ? '' : points(1 - labels.coverage)
  return [none, perItem.calls.toFixed(1), perItem.tokens.toFixed(0), perItem.costUsd.toFixed(6)]
}

/** The slices of a cell that have enough items, and the number of those that have not. */
export function sliceTable({ labels }: Cell): TextTable {
  return {
    head: ['slice', 'value', 'items', 'accuracy'],
    rows: (labels?.slices ?? []).map(({ by, value, items, accuracy, interval }) => [
      ...[by, value, String(items)],
      accuracy === null ? 'too few' : withInterval({ value: accuracy, interval, why: null }),
    ]),
  }
}

/** The confusion matrix of a cell: a row for each true label, a column for each that was given, and one for none. */
export function confusionTable({ labels }: Cell): TextTable {
  if (labels === null) return { head: [], rows: [] }
  const { confusion } = labels
  return {
    head: ['people say', ...confusion.labels.map((label) => `judged ${label}`), 'no label'],
    rows: confusion.labels.map((label, at) => [label, ...(confusion.counts[at] ?? []).map(String)]),
  }
}
