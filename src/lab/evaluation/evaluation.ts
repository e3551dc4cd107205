import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { Format } from '../../data-files/formats.ts'
import type { OwnReading } from '../../data-files/own-rows.ts'
import type { BestRow } from './best-row.ts'
import type { CostCurve } from './curve-rows.ts'
import { type DebateEffect, debateEffects } from './debate-effects.ts'
import type { EqualCoverage } from './equal-coverage.ts'
import type { GoldItem } from './gold-item.ts'
import { type ItemOutcome, isWithoutExamples, NO_VERDICT } from './outcomes.ts'
import type { AspectMeasure, Measure } from './presets/preset.ts'
import { type AspectScores, ratingScores } from './rating-scores.ts'
import { kappaOfVotes, type RepeatScores, repeatScores } from './repeat-scores.ts'
import type { RowPlan, RowVariant } from './rows.ts'
import { itemsIn, type LabelScores, labelScores } from './scores.ts'
import { meanOf } from './statement-scores.ts'
import type { Estimate } from './statistics/intervals.ts'
import { isUnanswered, whatWasNotAnswered } from './unanswered.ts'
import type { WayChoice } from './ways.ts'

/** A labelled file, and which of its items are judged. */
export interface DataSet {
  /** As the table names it: the file's name, or the paper's name of the data set. */
  readonly name: string
  readonly file: string
  readonly format: Format
  readonly items: readonly GoldItem[]
  /** Items that are not judged, by the reason: `unverified`, `not in the sample`, … */
  readonly leftOut: Readonly<Record<string, number>>
  /** Lines that could not be read. */
  readonly unreadable: number
  /** Ratings that are missing, or outside their scale. */
  readonly ratingsLeftOut?: number
  readonly reading?: OwnReading
}

/** What was read, shown and lost in one cell: numbers that must not change unnoticed. */
export interface Counts {
  /** An item that was judged several times is one; all that follows is over all its judgings. */
  readonly items: number
  /** Comments of the items in the file. */
  readonly comments: number
  /** Comments on which the verdicts rest; the rest was left out, by reason. */
  readonly commentsJudged: number
  readonly commentsLeftOut: Readonly<Record<string, number>>
  readonly unreadable: number
  readonly refused: number
  /** Verdicts with something in `degraded`, and judgings without a verdict. */
  readonly degraded: number
  readonly noVerdict: number
  /** Items of shelves that were passed over because they are the judged item, or nearly its text. */
  readonly heldOutOwn: number
  readonly heldOutNearDuplicates: number
  /** Judgings that were to be shown examples; and those of them that were shown none. */
  readonly wantedExamples: number
  readonly withoutExamples: number
}

/** One row of a table on one data set. */
export interface EvaluationCell {
  readonly row: string
  readonly data: string
  /** What tells it from the table's own rows; left out for these. */
  readonly variant?: RowVariant
  /** Why nothing was judged; null where it was. */
  readonly why: string | null
  /** The row above it that asked the very same questions: what this one leaves out was not there. */
  readonly sameAs?: string
  /** Judgings without a label that are in no figure and in no outcome, where they are left out. */
  readonly withoutLabel?: number
  /** Chains of thought that self-consistency drew; null elsewhere. */
  readonly draws: number | null
  readonly counts: Counts
  readonly labels: LabelScores | null
  readonly aspects: readonly AspectScores[]
  /** Null for a row that was judged once. */
  readonly repeats: RepeatScores | null
  /** Fleiss' kappa of the voters of each verdict; null where nobody votes. */
  readonly kappaOfVotes: number | null
  /** How long its calls took, one after the other, in ms; null where no measure asks for it, or an answer's time is not known. */
  readonly tookMs: number | null
  /** How many calls each stage made that were answered, repairs of answers among them; left out where no model was asked. */
  readonly callsByStage?: Readonly<Record<string, number>>
  /** What its debates changed, in all and by cause; left out where it has none. */
  readonly debates?: readonly DebateEffect[]
  /** What an item costs on average: answered calls, tokens of prompts and answers, US dollars by the settings' prices; calls in sequence. */
  readonly perItem: ItemOutcome['usage']
  /** What the paper prints, where the row is a paper's. */
  readonly paper: Readonly<Partial<Record<Measure, number>>>
  /** The models that answered, as their endpoints name them. */
  readonly models: readonly string[]
  /** Of each model that was asked and answered, as the settings or the preset name it: by which names its endpoint did. */
  readonly answered: readonly { readonly asked: string; readonly by: readonly string[] }[]
  /** The models that were asked and that the settings have no price for, as they name them: in `costUsd` these are free. */
  readonly unpriced: readonly string[]
  readonly outcomes: readonly ItemOutcome[]
}

/** A whole evaluation, as the report shows it and `--against` reads it. */
export interface Evaluation {
  readonly schema: 1
  /** What it is, guards that are off included. */
  readonly title: string
  readonly protocol: string
  readonly seed: string
  /** A paper's table, if it is one. */
  readonly preset: string | null
  readonly data: readonly (Omit<DataSet, 'items' | 'file' | 'reading'> & { readonly items: number })[]
  /** The first cell's accuracy and macro-F1, or its correlations, by name. */
  readonly metrics: Readonly<Record<string, Estimate>>
  /** The first cell's. */
  readonly counts: Counts
  readonly table: readonly EvaluationCell[]
  /** What quality costs, by data set; of an evaluation with the rows of `thrifty`. */
  readonly costCurves?: readonly CostCurve[]
  /** Which way to decide is the default, by data set; of an evaluation with the rows of `gates`. */
  readonly choices?: readonly WayChoice[]
  /** The row with the highest accuracy beside each other row, by data set; left out where no two rows have labels. */
  readonly best?: readonly BestRow[]
  /** The protocol's row beside each without a part, by data set and model; with the rows of `all`. */
  readonly parts?: readonly BestRow[]
  /** Accuracy of all rows where the first decides, and each row's coverage; left out where no row has labels. */
  readonly equalCoverage?: readonly EqualCoverage[]
  /** What the numbers say and what they can't, a sentence each, the most telling first. */
  readonly summary: readonly string[]
}

/** What was judged for a cell. */
export interface CellInput {
  readonly row: RowPlan
  readonly data: DataSet
  readonly draws: number | null
  readonly paper?: EvaluationCell['paper']
  readonly outcomes: readonly ItemOutcome[]
  readonly tookMs?: number | null
  readonly callsByStage?: Readonly<Record<string, number>>
  readonly models: readonly string[]
  readonly answered?: EvaluationCell['answered']
  readonly unpriced?: readonly string[]
  readonly refused: number
  readonly comments: number
  readonly unlabelled?: UnlabelledReading
}

/** Whether an item without a label counts as wrong, or is left out as if nobody had judged it. */
export const UNLABELLED_READINGS = ['wrong', 'leave-out'] as const
export type UnlabelledReading = (typeof UNLABELLED_READINGS)[number]

/** Scores a cell; one whose calls were not answered has no figures. Labels are the protocol's; none where it gives scores instead. */
export function cellOf(input: CellInput, labels: readonly string[], seed: string): EvaluationCell {
  const { row, data, draws, outcomes: all, models, answered = [], unpriced = [], paper = {}, tookMs = null } = input
  const ratings = new Map(data.items.flatMap(({ id, ratings: given }) => (given === undefined ? [] : [[id, given]])))
  if (isUnanswered(all))
    return {
      ...emptyCell(row.name, data.name, whatWasNotAnswered(all) ?? '', paper),
      draws,
      models,
      answered,
      unpriced,
      outcomes: all,
      counts: countsOf(input),
    }
  const left = input.unlabelled === 'leave-out'
  const outcomes = left ? all.filter(({ gold, label }) => gold === null || label !== null) : all
  const debates = debateEffects(outcomes)
  const mean = (of: (usage: ItemOutcome['usage']) => number) =>
    all.length === 0 ? 0 : all.reduce((sum, { usage }) => sum + of(usage), 0) / all.length
  return {
    row: row.name,
    data: data.name,
    why: null,
    draws,
    paper,
    models,
    answered,
    unpriced,
    outcomes,
    ...(left ? { withoutLabel: all.length - outcomes.length } : {}),
    tookMs,
    ...(input.callsByStage === undefined ? {} : { callsByStage: input.callsByStage }),
    counts: countsOf(input),
    labels: outcomes.some(({ gold }) => gold !== null) ? labelScores(outcomes, labels, seed) : null,
    aspects: ratings.size === 0 ? [] : ratingScores(outcomes, ratings, seed),
    repeats: repeatScores(all, labels, left),
    kappaOfVotes: kappaOfVotes(outcomes),
    ...(debates.length === 0 ? {} : { debates }),
    perItem: {
      calls: mean(({ calls }) => calls),
      tokens: mean(({ tokens }) => tokens),
      costUsd: mean(({ costUsd }) => costUsd),
      sequence: mean(({ sequence }) => sequence),
    },
  }
}

/** A cell that nothing was judged for. */
export function emptyCell(row: string, data: string, why: string, paper: EvaluationCell['paper'] = {}): EvaluationCell {
  return {
    row,
    data,
    why,
    draws: null,
    labels: null,
    aspects: [],
    repeats: null,
    kappaOfVotes: null,
    paper,
    models: [],
    answered: [],
    unpriced: [],
    outcomes: [],
    tookMs: null,
    counts: countsOf({ outcomes: [], refused: 0, comments: 0, data: { unreadable: 0 } }),
    perItem: { calls: 0, tokens: 0, costUsd: 0, sequence: 0 },
  }
}

function countsOf({
  outcomes,
  refused,
  comments,
  data: { unreadable },
}: Pick<CellInput, 'outcomes' | 'refused' | 'comments'> & { data: Pick<DataSet, 'unreadable'> }): Counts {
  const sum = (of: (outcome: ItemOutcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0)
  const reasons = ['cap', 'late', 'folded', 'author', 'unscored', 'load'] as const
  return {
    items: itemsIn(outcomes),
    comments,
    unreadable,
    refused,
    commentsJudged: sum(({ comments: { judged } }) => judged),
    commentsLeftOut: Object.fromEntries(
      reasons.map((reason) => [reason, sum(({ comments: { leftOut } }) => leftOut[reason])]),
    ),
    degraded: outcomes.filter(({ degraded }) => degraded.length > 0).length,
    noVerdict: outcomes.filter(({ degraded }) => degraded.includes(NO_VERDICT)).length,
    heldOutOwn: sum(({ heldOut }) => heldOut.own),
    heldOutNearDuplicates: sum(({ heldOut }) => heldOut.nearDuplicates),
    wantedExamples: outcomes.filter(({ shelves }) => shelves.searched > 0).length,
    withoutExamples: outcomes.filter(isWithoutExamples).length,
  }
}

/**
 * An estimate of a cell by the name that presets and reports use; null where the cell has none. `table` has the cells above it,
 * for what is measured against them.
 */
export function estimateOf(
  cell: EvaluationCell,
  measure: Measure,
  table: readonly EvaluationCell[] = [],
): Estimate | null {
  const { labels, aspects, repeats, kappaOfVotes: ofVotes } = cell
  const [name, of = ''] = measure.split(':') as [string, string | undefined]
  if (measure === 'seconds') return plain(cell.tookMs === null ? null : cell.tookMs / 1000)
  if (measure === 'secondsEach')
    return plain(cell.tookMs === null || cell.counts.items === 0 ? null : cell.tookMs / 1000 / cell.counts.items)
  if (measure === 'tokensEach') return plain(cell.perItem.tokens)
  if (name === 'calls' || name === 'callShare') return plain(callsOf(cell, name, of.split('+')))
  if (measure === 'timeIncrease') return plain(timeIncrease(cell, table))
  if (measure === 'accuracySd' || measure === 'macroF1Sd')
    return plain(entryOf(repeats?.sd ?? {}, measure.slice(0, -2)) ?? null)
  if (name === 'spearmanSd') return plain(entryOf(repeats?.sd ?? {}, `spearman:${of}`) ?? null)
  if (measure === 'kappa:repeats') return plain(repeats?.kappa ?? null)
  if (measure === 'kappa:perspectives') return plain(ofVotes)
  if (measure === 'accuracy' || measure === 'macroF1') return labels?.[measure] ?? null
  const scores = labels?.classes.find(({ label }) => label === of)
  if (scores !== undefined)
    return name === 'precision' ? scores.precision : name === 'recall' ? scores.recall : scores.f1
  if (of === 'mean' && (name === 'spearman' || name === 'kendall')) return meanOverAspects(aspects, name)
  const aspect = aspects.find((one) => one.aspect === of)
  if (aspect === undefined) return null
  return ofAspect(aspect, name as AspectMeasure, () => bestTrialAbove(cell, of, table))
}

function ofAspect(aspect: AspectScores, measure: AspectMeasure, best: () => number | null): Estimate | null {
  const { byStatement, trials } = aspect
  switch (measure) {
    case 'spearman':
      return aspect.spearman
    case 'kendall':
      return aspect.kendall
    case 'ndcg':
      return plain(aspect.ndcg)
    case 'spearmanP':
      return plain(aspect.spearmanP)
    case 'kendallP':
      return plain(aspect.kendallP)
    case 'statementSpearman':
      return byStatement?.spearman ?? null
    case 'statementNdcg':
      return byStatement?.ndcg ?? null
    case 'statementNdcgRandom':
      return plain(byStatement?.randomNdcg ?? null)
    case 'trialMean':
      return plain(trials?.mean ?? null)
    case 'trialSd':
      return plain(trials?.sd ?? null)
    case 'trialGain': {
      const above = best()
      return above === null ? null : plain(trials === null ? null : trials.mean - above)
    }
  }
}

function callsOf(
  { callsByStage }: EvaluationCell,
  as: 'calls' | 'callShare',
  stages: readonly string[],
): number | null {
  if (callsByStage === undefined) return null
  const theirs = stages.reduce((sum, stage) => sum + (entryOf(callsByStage, stage) ?? 0), 0)
  const all = Object.values(callsByStage).reduce((sum, calls) => sum + calls, 0)
  return as === 'calls' ? theirs : all === 0 ? null : theirs / all
}

/** How much more time a cell's calls took than those of the first row that was judged on the same data, as a share of it. */
function timeIncrease({ row, data, tookMs }: EvaluationCell, table: readonly EvaluationCell[]): number | null {
  const first = table.find((cell) => cell.data === data && cell.why === null)
  if (first === undefined || first.row === row || first.tookMs === null || tookMs === null) return null
  return first.tookMs === 0 ? null : tookMs / first.tookMs - 1
}

/** The highest mean over trials of the rows above a cell on the same data; null where none has one. */
function bestTrialAbove({ row, data }: EvaluationCell, of: string, table: readonly EvaluationCell[]): number | null {
  const on = table.filter((cell) => cell.data === data)
  const above = on.slice(
    0,
    on.findIndex((cell) => cell.row === row),
  )
  const means = above.flatMap(({ aspects }) => aspects.find(({ aspect }) => aspect === of)?.trials?.mean ?? [])
  return means.length === 0 ? null : Math.max(...means)
}

/** The rating of a reply as a whole, which is no aspect of its own. */
const WHOLE = 'unified'

/** The mean of a correlation over all aspects; none where one has none. */
function meanOverAspects(aspects: readonly AspectScores[], name: 'spearman' | 'kendall'): Estimate {
  const single = aspects.filter(({ aspect }) => aspect !== WHOLE)
  const values = single.flatMap((aspect) => aspect[name].value ?? [])
  return plain(values.length < single.length ? null : meanOf(values))
}

function plain(value: number | null): Estimate {
  return { value, interval: null, why: value === null ? 'cannot be computed' : null }
}

/** The first cell's estimates, by name. */
export function metricsOf({ labels, aspects }: EvaluationCell): Record<string, Estimate> {
  const correlations = aspects.flatMap(({ aspect, spearman, kendall }) => [
    [`spearman:${aspect}`, spearman] as const,
    [`kendall:${aspect}`, kendall] as const,
  ])
  const f1 = labels?.classes.map(({ label, f1: of }) => [`f1:${label}`, of] as const) ?? []
  const whole = labels === null ? {} : { accuracy: labels.accuracy, macroF1: labels.macroF1 }
  return { ...whole, ...Object.fromEntries([...f1, ...correlations]) }
}
