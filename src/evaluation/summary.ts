import type { Cell, DataSet } from './evaluation.ts'
import type { Outcome } from './outcomes.ts'
import { mcNemar, pairedDifference } from './statistics/compare.ts'
import type { Estimate } from './statistics/intervals.ts'
import { seededRandom } from './statistics/random.ts'

/** A share in hundredths, as people compare them; `–` where there is none. */
export function points(share: number | null): string {
  return share === null ? '–' : (share * 100).toFixed(1)
}

/** An estimate with its interval: `71.2 [64.0, 77.4]`. */
export function withInterval({ value, interval }: Estimate): string {
  if (value === null) return '–'
  return interval === null ? points(value) : `${points(value)} [${points(interval.low)}, ${points(interval.high)}]`
}

/**
 * What the numbers say and what they can't, a sentence each: first whether the debate earns its cost against each cheaper
 * row, for each data set; then what the sample can show, who answered, and what was left out.
 */
export function summaryOf(cells: readonly Cell[], data: readonly DataSet[], seed: string): string[] {
  const sets = Map.groupBy(cells, (cell) => cell.data)
  const many = sets.size > 1
  const verdicts = [...sets].flatMap(([name, of]) => {
    const says = debateAgainst(of, seed)
    return says === null ? [] : [many ? `${name}: ${says}` : says]
  })
  return [...verdicts, ...whoAnswered(cells), ...data.flatMap((set) => aboutSample(set, sets.get(set.name) ?? []))]
}

/** Of the rows that cost fewer tokens than this one, the one with the best accuracy; undefined where none does. */
export function bestCheaper({ perItem }: Cell, others: readonly Cell[]): Cell | undefined {
  const cheaper = others.filter(({ labels, perItem: { tokens } }) => labels !== null && tokens < perItem.tokens)
  return cheaper.sort((one, other) => accuracyOf(other) - accuracyOf(one))[0]
}

function accuracyOf({ labels }: Cell): number {
  return labels?.accuracy.value ?? 0
}

/** The first row against the best of those that cost fewer tokens. */
function debateAgainst(cells: readonly Cell[], seed: string): string | null {
  const [debate, ...others] = cells.filter(({ labels }) => labels !== null)
  if (debate === undefined) return null
  const best = bestCheaper(debate, others)
  if (best === undefined) return null
  const { change, pValue, items } = paired(best, debate, seed)
  const named = (cell: Cell) =>
    `${cell.row} (${points(accuracyOf(cell))} % right, ${Math.round(cell.perItem.tokens)} tokens an item)`
  const by = change.interval === null ? '' : ` [${signed(change.interval.low)}, ${signed(change.interval.high)}]`
  const difference = `${signed(change.value ?? 0)} points${by}, McNemar p = ${pValue.toFixed(3)}, ${items} items`
  const pays = (change.value ?? 0) > 0 && pValue < 0.05
  const loses = (change.value ?? 0) < 0 && pValue < 0.05
  const says = pays ? 'beats' : loses ? 'is worse than' : 'is not shown to beat'
  return `${pays ? 'The debate pays' : 'The debate does not pay'}: ${named(debate)} ${says} the best cheaper row, ${named(best)}: ${difference}.`
}

function signed(share: number): string {
  return `${share > 0 ? '+' : ''}${points(share)}`
}

/** The second row less the first, item by item. */
function paired(first: Cell, second: Cell, seed: string): { change: Estimate; pValue: number; items: number } {
  const earlier = new Map(first.outcomes.map((outcome) => [outcome.id, outcome]))
  const pairs = second.outcomes.flatMap((outcome) => {
    const other = earlier.get(outcome.id)
    return other === undefined || outcome.gold === null ? [] : [{ one: other, two: outcome }]
  })
  type Pair = (typeof pairs)[number]
  const share = (of: (pair: Pair) => Outcome) => (sample: readonly Pair[][]) => {
    const all = sample.flat()
    return all.length === 0 ? null : all.filter((pair) => isRight(of(pair))).length / all.length
  }
  const change = pairedDifference(
    [...Map.groupBy(pairs, ({ two }) => two.unit).values()],
    { first: share(({ one }) => one), second: share(({ two }) => two) },
    { random: seededRandom(`${seed} ${first.row} ${second.row}`), absent: 'no items in common' },
  )
  const pValue = mcNemar({
    onlyFirst: pairs.filter(({ one, two }) => isRight(one) && !isRight(two)).length,
    onlySecond: pairs.filter(({ one, two }) => !isRight(one) && isRight(two)).length,
  })
  return { change, pValue, items: pairs.length }
}

function isRight({ gold, label }: Outcome): boolean {
  return gold === label
}

function whoAnswered(cells: readonly Cell[]): string[] {
  const models = [...new Set(cells.flatMap((cell) => cell.models))].sort()
  if (models.length === 0) return []
  const understudy = models.some((name) => name === 'understudy')
  return [
    `Answers are by ${models.join(', ')}.`,
    ...(understudy
      ? ['The understudy is no language model: its numbers show that everything runs, and no quality.']
      : []),
  ]
}

function aboutSample({ name, items, leftOut, unreadable }: DataSet, cells: readonly Cell[]): string[] {
  const scored = cells.find(({ labels }) => labels !== null)?.labels
  const counts = cells.find(({ why }) => why === null)?.counts
  const out = Object.entries(leftOut).map(([why, count]) => `${count} ${why}`)
  const passedOver = (counts?.heldOutOwn ?? 0) + (counts?.heldOutNearDuplicates ?? 0)
  return [
    ...(scored?.reach == null
      ? []
      : [`${name}: ${scored.items} items can show a share to ± ${points(scored.reach)} points at best.`]),
    ...(scored !== null && scored !== undefined && scored.units.are === 'groups'
      ? [`Intervals are over ${scored.units.count} groups that were sampled together, not over single items.`]
      : []),
    ...(scored?.accuracy.why == null ? [] : [`${name}: ${scored.accuracy.why}.`]),
    ...(out.length === 0 && unreadable === 0
      ? []
      : [
          `${name}: left out ${[...out, ...(unreadable > 0 ? [`${unreadable} unreadable lines`] : [])].join(', ')}; ${items.length} judged.`,
        ]),
    ...(passedOver > 0
      ? [
          `${passedOver} items of shelves were passed over: ${counts?.heldOutOwn} the judged item itself, ${counts?.heldOutNearDuplicates} nearly its text.`,
        ]
      : []),
    ...((counts?.noVerdict ?? 0) > 0 ? [`${name}: ${counts?.noVerdict} items got no verdict and count as wrong.`] : []),
  ]
}
