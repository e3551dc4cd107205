import type { CostCurve, CurveRow } from './curve-rows.ts'
import type { EvaluationCell } from './evaluation.ts'
import type { ItemOutcome } from './outcomes.ts'
import { type Confusion, confusionOf, macroF1Of, resampledSums } from './statistics/confusion.ts'
import { FEWEST_UNITS, quantileOf, RESAMPLES } from './statistics/intervals.ts'
import { matchedRecallInterval } from './statistics/matched-recall.ts'
import { seededRandom } from './statistics/random.ts'

/** So much less macro-F1 than the best row's is as good. */
const AS_GOOD = 0.02

/**
 * Which row is the cheapest that is as good as the best: whose paired difference of macro-F1 to the best has a lower 95 % bound
 * above −0.02. The bounds are the wider of two: of a bootstrap over what was sampled together, and of the recalls of
 * matched items. The best does not count for itself unless every cheaper row is shown to be worse. Null without two rows that
 * models judged and that have a macro-F1.
 */
export function costCurve(cells: readonly EvaluationCell[], seed: string): CostCurve | null {
  const judged = cells.filter(({ labels, perItem }) => labels?.macroF1.value != null && perItem.calls > 0)
  const priced = judged.some(({ perItem }) => perItem.costUsd > 0)
  const costOf = ({ perItem }: Pick<EvaluationCell, 'perItem'>) => (priced ? perItem.costUsd : perItem.tokens)
  const [best] = judged.toSorted((one, other) => f1Of(other) - f1Of(one))
  if (best === undefined || judged.length < 2) return null
  const labels = best.labels?.confusion.labels ?? []
  const sums = (cell: EvaluationCell) => sumsOf(cell.outcomes, labels, seed)
  const bestSums = sums(best)
  const rows = judged
    .map((cell): CurveRow => {
      const base = { row: cell.row, macroF1: f1Of(cell), perItem: cell.perItem }
      if (cell === best) return { ...base, difference: 0, low: 0, high: 0, is: 'best' }
      const difference = f1Of(cell) - f1Of(best)
      const { low, high } = boundsOf(
        difference,
        [sums(cell), bestSums],
        matchedRecallInterval(matched(best, cell, labels)),
      )
      const is = low > -AS_GOOD ? 'as-good' : high < -AS_GOOD ? 'worse' : 'open'
      return { ...base, difference, low, high, is }
    })
    .sort((one, other) => costOf(one) - costOf(other))
  const cheaper = rows.slice(
    0,
    rows.findIndex(({ is }) => is === 'best'),
  )
  const asGood = cheaper.find(({ is }) => is === 'as-good')
  const isSettled = cheaper.every(({ is }) => is === 'worse')
  const cheapest = asGood?.row ?? (isSettled ? best.row : null)
  return { data: best.data, rows, cheapest, more: cheapest === null ? moreItems(cheaper, best.counts.items) : null }
}

function f1Of({ labels }: EvaluationCell): number {
  return labels?.macroF1.value ?? 0
}

type Labelled = ItemOutcome & { readonly gold: string }

function labelled(outcomes: readonly ItemOutcome[]): Labelled[] {
  return outcomes.flatMap((outcome) => (outcome.gold === null ? [] : [{ ...outcome, gold: outcome.gold }]))
}

/** The same draws for each row, since its items are in the same order: so differences of two are paired. */
function sumsOf(outcomes: readonly ItemOutcome[], labels: readonly string[], seed: string): readonly Confusion[] {
  const groups = [...Map.groupBy(labelled(outcomes), ({ unit }) => unit).values()]
  if (groups.length < FEWEST_UNITS) return []
  const matrices = groups.map((group) =>
    confusionOf(
      labels,
      group.map(({ gold, label }) => ({ gold, predicted: label })),
    ),
  )
  return resampledSums(labels, matrices, { random: seededRandom(`${seed} cost curve`), resamples: RESAMPLES })
}

/** The wider of both intervals; where too few units were sampled for a bootstrap, the sample shows nothing. */
function boundsOf(
  difference: number,
  [row, best]: readonly [readonly Confusion[], readonly Confusion[]],
  recall: { readonly low: number; readonly high: number },
): { low: number; high: number } {
  const drawn = row
    .map((sum, at) => (macroF1Of(sum) ?? 0) - (macroF1Of(best[at] as Confusion) ?? 0))
    .sort((one, other) => one - other)
  if (drawn.length === 0) return { low: -1, high: 1 }
  return {
    low: Math.min(difference, quantileOf(drawn, 0.025), recall.low),
    high: Math.max(difference, quantileOf(drawn, 0.975), recall.high),
  }
}

/** By class, how often only the best was right, and only the row. */
function matched(best: EvaluationCell, cell: EvaluationCell, labels: readonly string[]) {
  const said = new Map(labelled(cell.outcomes).map((outcome) => [keyOf(outcome), outcome.label]))
  return labels.flatMap((label) => {
    const items = labelled(best.outcomes).filter(({ gold }) => gold === label)
    const rightIn = (outcome: Labelled) => [outcome.label === label, said.get(keyOf(outcome)) === label]
    const pairs = items.map(rightIn)
    if (items.length === 0) return []
    return [
      {
        items: items.length,
        onlyFirst: pairs.filter(([first, second]) => first && !second).length,
        onlySecond: pairs.filter(([first, second]) => second && !first).length,
      },
    ]
  })
}

function keyOf({ id, repeat = 1 }: ItemOutcome): string {
  return `${repeat} ${id}`
}

/**
 * How many items more would tell, if differences stay as they are, since an interval narrows with their root: of the open row that
 * needs the fewest to be shown as good, or else of all open rows that they are worse.
 */
function moreItems(cheaper: readonly CurveRow[], items: number): CostCurve['more'] {
  const open = cheaper.filter(({ is }) => is === 'open')
  const beyond = (reach: number, room: number) => Math.max(1, Math.ceil(items * (reach / room) ** 2) - items)
  const [soonest] = open
    .filter(({ difference }) => difference > -AS_GOOD)
    .map(({ row, difference, low }) => ({ row, items: beyond(difference - low, difference + AS_GOOD) }))
    .sort((one, other) => one.items - other.items)
  if (soonest !== undefined) return soonest
  const worse = open.map(({ difference, high }) => beyond(high - difference, -AS_GOOD - difference))
  const all = Math.max(...worse)
  return Number.isFinite(all) ? { row: null, items: all } : null
}

/** The finding of a curve, in a sentence. */
export function curveSays({ data, rows, cheapest, more }: CostCurve, many: boolean): string {
  const best = rows.find(({ is }) => is === 'best')
  const named = rows.find(({ row }) => row === cheapest)
  const of = many ? `${data}: ` : ''
  const hundredths = (share: number) => (share * 100).toFixed(1)
  if (named !== undefined && named !== best)
    return `${of}The cheapest row as good as the best (${best?.row}) is ${named.row}: ${hundredths(named.difference)} points of macro-F1 [${hundredths(named.low)}, ${hundredths(named.high)}], a lower bound above −${hundredths(AS_GOOD)}, for ${share(named, best)} of its cost.`
  if (named !== undefined) return `${of}No cheaper row is as good as the best, ${named.row}.`
  const few = `${of}Too few items to name the cheapest row that is as good as the best (${best?.row})`
  if (more === null) return `${few}.`
  const tells = more.row === null ? 'that no cheaper row is' : `that ${more.row} is`
  return `${few}: about ${more.items} more would show ${tells}, if differences stay as they are.`
}

function share(row: CurveRow, best: CurveRow | undefined): string {
  const of = (one: CurveRow | undefined) => one?.perItem.costUsd || one?.perItem.tokens || 0
  return `${Math.round((100 * of(row)) / (of(best) || 1))} %`
}
