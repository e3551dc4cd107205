import { isDecided } from '../decided.ts'
import type { EqualCoverage } from '../equal-coverage.ts'
import { type Evaluation, type EvaluationCell, estimateOf } from '../evaluation.ts'
import type { Measure, PresetTable } from '../presets/preset.ts'
import { kappaInWords } from '../statistics/agreement.ts'
import { points, withInterval } from '../summary.ts'

/** A table as texts: one row a cell of the evaluation. */
export interface TextTable {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/**
 * The main table: for each row its figures with their 95 % intervals in points, what it costs, and beside a paper's row what the
 * paper prints, in points as well. `preset` is the paper's table, if it is one; where its measures are by aspect, a row has a
 * line for each.
 */
export function mainTable(evaluation: Evaluation, preset: PresetTable | null): TextTable {
  const { table, data, equalCoverage = [] } = evaluation
  const many = data.length > 1 || preset !== null
  const { aspects } = preset ?? {}
  const all = preset?.measures ?? ownMeasures(table)
  const measures = aspects === undefined ? all : [...new Set(all.map((measure) => measure.split(':')[0] ?? ''))]
  // A paper's table has the paper's columns.
  const [covered] = preset === null ? equalCoverage : []
  const printed = preset === null ? [] : measures.map((measure) => `paper: ${measure}`)
  const line = (cell: EvaluationCell, aspect: string | null, at: number) => {
    const named = measures.map((measure) => (aspect === null ? measure : `${measure}:${aspect}`) as Measure)
    return [
      nameOf(cell),
      ...(many ? [cell.data] : []),
      ...(aspect === null ? [] : [aspect]),
      cell.why === null ? scoredIn(cell, aspect) : at === 0 ? `– (${cell.why})` : '–',
      ...named.map((measure) => estimateIn(cell, measure, table)),
      ...(preset === null ? [] : named.map((measure) => paperFigure(cell, measure, preset))),
      ...(covered === undefined ? [] : coverageIn(equalCoverage, cell)),
      ...(cell.why === null ? costsOf(cell) : ['', '', '', '']),
    ]
  }
  return {
    head: [
      'row',
      ...(many ? ['data'] : []),
      ...(aspects === undefined ? [] : ['aspect']),
      'items',
      ...measures,
      ...printed,
      ...(covered === undefined ? [] : ['coverage', `accuracy where ${covered.where} decides`]),
      'no label',
      'calls',
      'tokens',
      'USD',
    ],
    rows: table.flatMap((cell) => (aspects ?? [null]).map((aspect, at) => line(cell, aspect, at))),
  }
}

/** A row's coverage, and how right it is where the first row decides. */
function coverageIn(all: readonly EqualCoverage[], { row, data, why }: EvaluationCell): string[] {
  const of = all.find((one) => one.row === row && one.data === data)
  return of === undefined || why !== null ? ['', ''] : [points(of.coverage), withInterval(of.accuracy)]
}

/** A row's name, with what tells it from the row of this name that it is not. */
function nameOf({ row, sameAs, withoutLabel = 0, draws, counts }: EvaluationCell): string {
  const { wantedExamples, withoutExamples } = counts
  const notes = [
    ...(sameAs === undefined ? [] : [`asks what ${sameAs} asks`]),
    ...(withoutLabel === 0 ? [] : [`${withoutLabel} without a label left out`]),
    ...(draws === null ? [] : [`${draws} draws`]),
    ...(withoutExamples === 0
      ? []
      : [`without examples${withoutExamples === wantedExamples ? '' : `: ${withoutExamples} of ${wantedExamples}`}`]),
  ]
  return notes.length === 0 ? row : `${row} (${notes.join(', ')})`
}

/** The items that a line's figures rest on: of ratings those that got a score. */
function scoredIn({ counts, labels, aspects }: EvaluationCell, aspect: string | null): string {
  if (labels !== null) return String(labels.items)
  if (aspects.length === 0) return String(counts.items)
  const of = aspects.filter((one) => aspect === null || aspect === 'mean' || one.aspect === aspect)
  const scored = of.map(({ items }) => items)
  const [least, most] = [Math.min(...scored), Math.max(...scored)]
  return of.length === 0 ? '0' : least === most ? String(least) : `${least} to ${most}`
}

function ownMeasures(table: readonly EvaluationCell[]): Measure[] {
  const labels = table.find((cell) => cell.labels !== null)?.labels
  const classes = labels?.classes.filter(({ label, support }) => isDecided(label) || support > 0) ?? []
  const aspects = table.find((cell) => cell.aspects.length > 0)?.aspects ?? []
  const isRepeated = table.some(({ repeats }) => repeats !== null)
  return [
    ...(labels == null ? [] : (['accuracy', 'macroF1', ...classes.map(({ label }) => `f1:${label}`)] as Measure[])),
    ...(isRepeated && labels != null ? (['accuracySd', 'macroF1Sd', 'kappa:repeats'] as Measure[]) : []),
    ...aspects.flatMap(({ aspect }) => [
      `spearman:${aspect}` as const,
      ...(isRepeated ? [`spearmanSd:${aspect}` as const] : []),
      `kendall:${aspect}` as const,
    ]),
  ]
}

function estimateIn(cell: EvaluationCell, measure: Measure, table: readonly EvaluationCell[]): string {
  const estimate = cell.why === null ? estimateOf(cell, measure, table) : null
  if (estimate === null) return ''
  if (isPValue(measure)) return estimate.value === null ? '–' : estimate.value.toExponential(2)
  const digits = plainDigits(measure)
  if (digits !== null) return estimate.value === null ? '–' : estimate.value.toFixed(digits)
  if (!isCorrelation(measure)) return withInterval(estimate)
  const { value, interval } = estimate
  if (value === null) return '–'
  if (measure.startsWith('kappa:')) return `${value.toFixed(3)} (${kappaInWords(value)})`
  return interval === null
    ? value.toFixed(3)
    : `${value.toFixed(3)} [${interval.low.toFixed(3)}, ${interval.high.toFixed(3)}]`
}

function isCorrelation(measure: Measure): boolean {
  return /^(spearman|spearmanSd|kendall|ndcg|kappa|statement\w+|trial\w+):/.test(measure)
}

/** Digits of a number that is no share and no correlation; null for those. */
function plainDigits(measure: Measure): number | null {
  if (measure === 'seconds') return 1
  if (measure === 'secondsEach') return 2
  return measure === 'tokensEach' || measure.startsWith('calls:') ? 0 : null
}

function isPValue(measure: Measure): boolean {
  return /^(spearmanP|kendallP):/.test(measure)
}

/** Whether a measure is a share of items, or the deviation of one: in points, here as in the paper's column. */
function isShare(measure: Measure): boolean {
  return /^(accuracy|accuracySd|macroF1|macroF1Sd|timeIncrease|callShare:.*|precision:.*|recall:.*|f1:.*)$/.test(
    measure,
  )
}

function paperFigure({ paper }: EvaluationCell, measure: Measure, { decimals, decimalsOf }: PresetTable): string {
  const figure = paper[measure]
  if (figure === undefined) return ''
  if (isPValue(measure)) return figure.toExponential(2)
  const digits = decimalsOf?.[measure] ?? decimals
  return isShare(measure) ? (figure * 100).toFixed(Math.max(0, digits - 2)) : figure.toFixed(digits)
}

/** Share without a label in points; calls, tokens and US dollars an item. */
function costsOf({ labels, perItem }: EvaluationCell): string[] {
  const none = labels === null || labels.coverage === null ? '' : points(1 - labels.coverage)
  return [none, perItem.calls.toFixed(1), perItem.tokens.toFixed(0), perItem.costUsd.toFixed(6)]
}

export const DRAWN_HEADING = 'What was drawn at random'
export const DRAWN_NOTE =
  'Accuracy over the items whose file says by which chance they were drawn, each weighted by its inverse: that of all verdicts from which they were drawn. The items that people chose are not in it.'

/** Each row's accuracy over what chance drew, weighted; null where no item says how it was drawn. */
export function drawnTable({ table, data }: Evaluation): TextTable | null {
  const rows = table.flatMap(({ row, data: of, labels }) => {
    if (labels?.drawn == null) return []
    const { items, accuracy, interval, effective } = labels.drawn
    const estimate = `${points(accuracy)} [${points(interval.low)}, ${points(interval.high)}]`
    return [[row, ...(data.length > 1 ? [of] : []), String(items), effective.toFixed(1), estimate]]
  })
  const head = ['row', ...(data.length > 1 ? ['data'] : []), 'drawn items', 'as many equal draws', 'weighted accuracy']
  return rows.length === 0 ? null : { head, rows }
}

/** The slices of a cell that have enough items, and the number of those that have not. */
export function sliceTable({ labels }: EvaluationCell): TextTable {
  return {
    head: ['slice', 'value', 'items', 'accuracy'],
    rows: (labels?.slices ?? []).map(({ by, value, items, accuracy, interval }) => [
      by,
      value,
      String(items),
      accuracy === null ? 'too few' : withInterval({ value: accuracy, interval, why: null }),
    ]),
  }
}

/** The confusion matrix of a cell: a row for each true label, a column for each that was given, and one for none. */
export function confusionTable({ labels }: EvaluationCell): TextTable {
  if (labels === null) return { head: [], rows: [] }
  const { confusion } = labels
  return {
    head: ['people say', ...confusion.labels.map((label) => `judged ${label}`), 'no label'],
    rows: confusion.labels.map((label, at) => [label, ...(confusion.counts[at] ?? []).map(String)]),
  }
}
