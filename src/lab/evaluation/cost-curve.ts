import type { CostCurve, CurveRow } from './curve-rows.ts'
import type { EvaluationCell } from './evaluation.ts'
import { pairedMacroF1 } from './paired-macro-f1.ts'

/** So much less macro-F1 than the best row's is as good. */
const AS_GOOD = 0.02
/** Beyond each end of a 95 % interval. */
const TAIL = 0.025

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
  const differenceOf = pairedMacroF1(labels, `${seed} cost curve`, TAIL)
  const rows = judged
    .map((cell): CurveRow => {
      const base = { row: cell.row, macroF1: f1Of(cell), perItem: cell.perItem }
      if (cell === best) return { ...base, difference: 0, low: 0, high: 0, is: 'best' }
      const { difference, low, high } = differenceOf(cell.outcomes, best.outcomes)
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
