import type { ItemOutcome } from './outcomes.ts'
import { fleissKappa } from './statistics/agreement.ts'

/** What judging the same items several times tells: how far the row agrees with itself. */
export interface RepeatScores {
  readonly repeats: number
  /** Standard deviation of the repeats' accuracies, with one degree of freedom less than there are repeats. */
  readonly accuracySd: number
  /** Fleiss' kappa of the repeats' labels, no label being one more category; null where all agree on one label. */
  readonly kappa: number | null
}

/** Null for a row that was judged once. With `leftOut` no accuracy is of what got no label. */
export function repeatScores(
  outcomes: readonly ItemOutcome[],
  labels: readonly string[],
  leftOut = false,
): RepeatScores | null {
  const repeats = [...Map.groupBy(outcomes, ({ repeat = 1 }) => repeat).values()]
  if (repeats.length < 2) return null
  const accuracies = repeats.map((all) => {
    const of = leftOut ? all.filter(({ label }) => label !== null) : all
    return of.filter(({ gold, label }) => gold === label).length / of.length
  })
  const mean = accuracies.reduce((sum, accuracy) => sum + accuracy, 0) / accuracies.length
  const squares = accuracies.reduce((sum, accuracy) => sum + (accuracy - mean) ** 2, 0)
  const items = [...Map.groupBy(outcomes, ({ id }) => id).values()]
  return {
    repeats: repeats.length,
    accuracySd: Math.sqrt(squares / (accuracies.length - 1)),
    kappa: fleissKappa(
      items.map((of) => [null, ...labels].map((label) => of.filter((one) => one.label === label).length)),
    ),
  }
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
