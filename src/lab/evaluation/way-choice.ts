import { UNVERIFIED } from '../../contracts/facts/verdict-fields.ts'
import { isDecided } from './decided.ts'
import type { EvaluationCell } from './evaluation.ts'
import type { ItemOutcome } from './outcomes.ts'
import { keyOf, pairedMacroF1 } from './paired-macro-f1.ts'
import { confusionOf, macroF1Of } from './statistics/confusion.ts'
import type { ComparedWay, WayChoice } from './ways.ts'

/** So much less macro-F1 than another way's is as good (docs/readers.md). */
const AS_GOOD = 0.03
/** Beyond a one-sided bound of 80 %. */
const TAIL = 0.2

/** The choice among the rows of these names, on one data set; null where a row is missing or was not judged. */
export function wayChoice(cells: readonly EvaluationCell[], names: readonly string[], seed: string): WayChoice | null {
  const ways = names.flatMap((name) => cells.filter(({ row, labels }) => row === name && labels !== null))
  const [first] = ways
  if (first === undefined || ways.length < names.length) return null
  const gold = first.outcomes.filter((one) => one.gold !== null)
  const decided = gold.filter((one) => isDecided(one.gold))
  const decidedBy = ways.map(({ outcomes }) => new Set(outcomes.filter((one) => isDecided(one.label)).map(keyOf)))
  const compared = new Set(decided.map(keyOf).filter((key) => decidedBy.every((all) => all.has(key))))
  const labels = (first.labels?.confusion.labels ?? []).filter(isDecided)
  const shared = ways.map(({ outcomes }) => outcomes.filter((one) => compared.has(keyOf(one))))
  const differenceOf = pairedMacroF1(labels, `${seed} ways`, TAIL)
  const rows = ways.map((cell, at): ComparedWay => {
    const own = shared[at] ?? []
    const against = ways.flatMap(({ row }, other) =>
      other === at ? [] : [{ row, ...differenceOf(own, shared[other] ?? []) }],
    )
    const isWorse = against.some(({ high }) => high < -AS_GOOD)
    const isAsGood = against.every(({ low }) => low > -AS_GOOD)
    return {
      row: cell.row,
      decided: decided.filter((one) => decidedBy[at]?.has(keyOf(one))).length,
      calledUnverified: cell.outcomes.filter((one) => one.gold === UNVERIFIED && one.label === UNVERIFIED).length,
      macroF1: f1Of(own, labels),
      costUsd: cell.perItem.costUsd,
      against,
      is: isWorse ? 'worse' : isAsGood ? 'as-good' : 'open',
    }
  })
  const cheapest = rows.find(({ is }) => is !== 'worse')
  return {
    data: first.data,
    items: { decided: decided.length, compared: compared.size, unverified: gold.length - decided.length },
    ways: rows,
    chosen: cheapest?.is === 'as-good' ? cheapest.row : null,
    open: cheapest?.is === 'open' ? cheapest.row : null,
  }
}

function f1Of(outcomes: readonly ItemOutcome[], labels: readonly string[]): number | null {
  const pairs = outcomes.map(({ gold, label }) => ({ gold: gold ?? '', predicted: label }))
  return macroF1Of(confusionOf(labels, pairs))
}

/** The finding of a choice, in a sentence. */
export function choiceSays({ data, items, ways, chosen, open }: WayChoice, many: boolean): string {
  const of = many ? `${data}: ` : ''
  const on = `on ${items.compared} items that every way decides`
  if (chosen !== null) return `${of}By the rule of docs/readers.md the default is ${chosen}, ${on}.`
  if (open !== null) return `${of}Whether ${open} is as good as the others is open, ${on}: another step tells.`
  return `${of}Each of ${ways.map(({ row }) => row).join(', ')} is worse than another, ${on}.`
}
