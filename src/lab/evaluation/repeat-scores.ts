import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { ItemOutcome } from './outcomes.ts'
import { meanOf } from './statement-scores.ts'
import { fleissKappa } from './statistics/agreement.ts'
import { accuracyOf, confusionOf, macroF1Of } from './statistics/confusion.ts'
import { spearman } from './statistics/correlation.ts'

/** What judging the same items several times tells: how far the row's figures vary, and how far it agrees with itself. */
export interface RepeatScores {
  readonly repeats: number
  /** Of each figure over the repeats: `accuracy` and `macroF1`, or `spearman:ASPECT`; none where a repeat has it not. */
  readonly mean: Readonly<Record<string, number>>
  /** Their standard deviations, with one degree of freedom less than there are repeats. */
  readonly sd: Readonly<Record<string, number>>
  /** Fleiss' kappa of the repeats' labels, no label being one more category; null where all agree on one label, or there are none. */
  readonly kappa: number | null
}

/** Null for a row that was judged once. With `leftOut` no figure of labels is of what got none. */
export function repeatScores(
  outcomes: readonly ItemOutcome[],
  labels: readonly string[],
  leftOut = false,
): RepeatScores | null {
  const repeats = [...Map.groupBy(outcomes, ({ repeat = 1 }) => repeat).values()]
  if (repeats.length < 2) return null
  const aspects = [...new Set(outcomes.flatMap(({ ratings = {} }) => Object.keys(ratings)))].sort()
  const figures = [
    ...(labels.length === 0 ? [] : labelFigures(labels, leftOut)),
    ...aspects.map((aspect) => [`spearman:${aspect}`, (of: readonly ItemOutcome[]) => rhoOf(of, aspect)] as const),
  ].flatMap(([name, figure]) => {
    const values = repeats.map(figure).filter((value) => value !== null)
    const mean = meanOf(values)
    return mean === null || values.length < repeats.length ? [] : [{ name, mean, sd: deviationOf(values, mean) }]
  })
  const items = [...Map.groupBy(outcomes, ({ id }) => id).values()]
  return {
    repeats: repeats.length,
    mean: Object.fromEntries(figures.map(({ name, mean }) => [name, mean])),
    sd: Object.fromEntries(figures.map(({ name, sd }) => [name, sd])),
    kappa:
      labels.length === 0
        ? null
        : fleissKappa(
            items.map((of) => [null, ...labels].map((label) => of.filter((one) => one.label === label).length)),
          ),
  }
}

function labelFigures(labels: readonly string[], leftOut: boolean) {
  const matrix = (of: readonly ItemOutcome[]) =>
    matrixOf(leftOut ? of.filter(({ label }) => label !== null) : of, labels)
  return [
    ['accuracy', (of: readonly ItemOutcome[]) => accuracyOf(matrix(of))] as const,
    ['macroF1', (of: readonly ItemOutcome[]) => macroF1Of(matrix(of))] as const,
  ]
}

function matrixOf(of: readonly ItemOutcome[], labels: readonly string[]) {
  return confusionOf(
    labels,
    of.flatMap(({ gold, label }) => (gold === null ? [] : [{ gold, predicted: label }])),
  )
}

function rhoOf(of: readonly ItemOutcome[], aspect: string): number | null {
  const pairs = of.flatMap(({ ratings = {}, scores }) => {
    const [people, score] = [entryOf(ratings, aspect), entryOf(scores, aspect)]
    return people === undefined || score === undefined ? [] : [{ people, score }]
  })
  return spearman(
    pairs.map(({ people }) => people),
    pairs.map(({ score }) => score),
  ).value
}

function deviationOf(values: readonly number[], mean: number): number {
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1))
}

/**
 * Fleiss' kappa of the votes within one judging, such as the perspectives of PREDICT, over the items on which all of the most voters
 * voted. Null without votes.
 */
export function kappaOfVotes(outcomes: readonly ItemOutcome[]): number | null {
  const votes = outcomes.flatMap((outcome) => (outcome.votes === undefined ? [] : [outcome.votes]))
  const totals = votes.map((of) => of.reduce((sum, count) => sum + count, 0))
  const most = Math.max(0, ...totals)
  return most < 2 ? null : fleissKappa(votes.filter((_, at) => totals[at] === most))
}
