import { type BestRow, bestSays } from './best-row.ts'
import type { DataSet, EvaluationCell } from './evaluation.ts'
import { whatIsMissing } from './missing.ts'
import { pairedChange, pairedTest, pairsOf } from './pairs.ts'
import type { Estimate } from './statistics/intervals.ts'
import { seededRandom } from './statistics/random.ts'
import { whatWasNotAnswered } from './unanswered.ts'

/** A share in hundredths, as people compare them; `–` where there is none. */
export function points(share: number | null): string {
  return share === null ? '–' : (share * 100).toFixed(1)
}

/** An estimate with its interval: `71.2 [64.0, 77.4]`. */
export function withInterval({ value, interval }: Estimate): string {
  if (value === null) return '–'
  return interval === null ? points(value) : `${points(value)} [${points(interval.low)}, ${points(interval.high)}]`
}

/** A p-value with three digits; `< 0.001` below them. */
export function pText(pValue: number): string {
  return pValue < 0.001 ? '< 0.001' : pValue.toFixed(3)
}

/**
 * The findings and their limits, a sentence each. In a paper's table the first names which model stood in for which;
 * else the first states whether the debate earns its cost; before it stands how many calls were not answered, where verdicts rest on
 * none. The second states what the judges lacked. Then come the best row, the other data sets,
 * what the sample can show, who answered, and what was left out. The debate is the first row; in a paper's table, whose rows stand
 * in the paper's order, it is the dearest.
 */
export function summaryOf(
  cells: readonly EvaluationCell[],
  data: readonly DataSet[],
  seed: string,
  { paper = null, best = [] }: { paper?: { readonly stoodIn: string | null } | null; best?: readonly BestRow[] } = {},
): string[] {
  const sets = Map.groupBy(cells, (cell) => cell.data)
  const many = sets.size > 1
  const verdicts = [...sets].flatMap(([name, all]) =>
    [...Map.groupBy(all, ({ variant }) => variant?.model)].flatMap(([model, of]) => {
      const says = debateAgainst(of, seed, paper !== null)
      const about = [...(many ? [name] : []), ...(model === undefined ? [] : [model])]
      return says === null ? [] : [[...about, says].join(': ')]
    }),
  )
  const asked = cells.some(({ perItem: { calls } }) => calls > 0)
  const [first, ...others] = paper === null || !asked ? verdicts : [paper.stoodIn ?? PAPERS_OWN, ...verdicts]
  const missing = whatIsMissing(cells)
  const unanswered = whatWasNotAnswered(cells.flatMap(({ outcomes }) => outcomes))
  return [
    ...(unanswered === null ? [] : [`${unanswered}.`]),
    ...(first === undefined ? [] : [first]),
    ...(missing === null ? [] : [missing]),
    ...best.map((one) => bestSays(one, many)),
    ...others,
    ...whoAnswered(cells),
    ...data.flatMap((set) => aboutSample(set, sets.get(set.name) ?? [])),
    ...withoutPrice(cells),
  ]
}

const PAPERS_OWN = 'The paper’s own models answered.'

/** Self-consistency draws as many whole answers as the debate has tokens for; by so much its cost may come out higher. */
const AS_DEAR = 1.1

/**
 * Of the rows that a model judged and that cost no more than this one, the one with the best accuracy; undefined where there is
 * none. What people's stances say is not cheaper: people had to label them.
 */
export function bestCheaper(
  { perItem }: EvaluationCell,
  others: readonly EvaluationCell[],
): EvaluationCell | undefined {
  const cheaper = others.filter(
    ({ labels, draws, perItem: { calls, tokens } }) =>
      labels !== null && calls > 0 && (draws === null ? tokens < perItem.tokens : tokens <= perItem.tokens * AS_DEAR),
  )
  return cheaper.sort((one, other) => accuracyOf(other) - accuracyOf(one))[0]
}

function accuracyOf({ labels }: EvaluationCell): number {
  return labels?.accuracy.value ?? 0
}

/** The debate against the best of the rows that cost no more. Null where no other row was judged by a model. */
function debateAgainst(cells: readonly EvaluationCell[], seed: string, paper: boolean): string | null {
  const scored = cells.filter(({ labels }) => labels !== null)
  const byCost = scored.toSorted((one, other) => other.perItem.tokens - one.perItem.tokens)
  const [debate] = paper ? byCost : scored
  const others = scored.filter((cell) => cell !== debate)
  if (debate === undefined || !others.some(({ perItem: { calls } }) => calls > 0)) return null
  const subject = paper ? 'The dearest row' : (debate?.perItem.calls ?? 0) > 1 ? 'The debate' : 'The default'
  const best = bestCheaper(debate, others)
  if (best === undefined)
    return debate.perItem.tokens === 0
      ? `Whether ${subject.toLowerCase()} pays is unknown: the endpoint reported no tokens.`
      : `Whether ${subject.toLowerCase()} pays is unknown: every other row costs more tokens than ${debate.row}.`
  const { pairs } = pairsOf(best.outcomes, debate.outcomes)
  const { change } = pairedChange(pairs, seededRandom(`${seed} ${best.row} ${debate.row}`))
  const pValue = pairedTest(pairs)
  const named = (cell: EvaluationCell) =>
    `${cell.row} (${points(accuracyOf(cell))} % right, ${Math.round(cell.perItem.tokens)} tokens an item)`
  const by = change.interval === null ? '' : ` [${signed(change.interval.low)}, ${signed(change.interval.high)}]`
  const p = pText(pValue)
  const difference = `${signed(change.value ?? 0)} points${by}, ${pairs.every(({ parts }) => parts === 1) ? 'McNemar' : 'permutation'} p ${p.startsWith('<') ? p : `= ${p}`}, ${pairs.length} items`
  const pays = (change.value ?? 0) > 0 && pValue < 0.05
  const loses = (change.value ?? 0) < 0 && pValue < 0.05
  const says = pays ? 'beats' : loses ? 'is worse than' : 'is not shown to beat'
  return `${subject} ${pays ? 'pays' : 'does not pay'}: ${named(debate)} ${says} the best row that costs no more, ${named(best)}: ${difference}.`
}

function signed(share: number): string {
  return `${share > 0 ? '+' : ''}${points(share)}`
}

function whoAnswered(cells: readonly EvaluationCell[]): string[] {
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

function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

function withoutPrice(cells: readonly EvaluationCell[]): string[] {
  const models = [...new Set(cells.flatMap(({ unpriced }) => unpriced))].sort()
  if (models.length === 0) return []
  return [`The settings have no price for ${models.join(', ')} (models.prices): in all costs here they count as free.`]
}

function aboutSample(
  { name, items, leftOut, unreadable, ratingsLeftOut = 0 }: DataSet,
  cells: readonly EvaluationCell[],
): string[] {
  const scored = cells.find(({ labels }) => labels !== null)?.labels
  const first = cells.find(({ why }) => why === null)
  const counts = first?.counts
  const out = Object.entries(leftOut).map(([why, count]) => `${count} ${why}`)
  const passedOver = (counts?.heldOutOwn ?? 0) + (counts?.heldOutNearDuplicates ?? 0)
  return [
    ...(scored?.reach == null
      ? []
      : [`${name}: ${counted(scored.items, 'item')} can show a share to ± ${points(scored.reach)} points at best.`]),
    ...(scored?.units.are === 'groups'
      ? [
          `${name}: intervals are over ${counted(scored.units.count, 'group')} of items that were sampled together, not over single items; McNemar’s test takes items as independent all the same.`,
        ]
      : []),
    ...(scored?.accuracy.why == null ? [] : [`${name}: ${scored.accuracy.why}.`]),
    ...(out.length === 0 && unreadable === 0
      ? []
      : [
          `${name}: left out ${[...out, ...(unreadable > 0 ? [counted(unreadable, 'unreadable line')] : [])].join(', ')}; ${items.length} judged.`,
        ]),
    ...(ratingsLeftOut > 0
      ? [`${name}: ${counted(ratingsLeftOut, 'rating')} left out: missing, or outside the scale.`]
      : []),
    ...(scored?.oneClass == null
      ? []
      : [
          `${name}: all items are ${scored.oneClass}: accuracy is the share of them that got this label (recall). Other items were not tested.`,
        ]),
    ...(passedOver > 0
      ? [
          `${passedOver} items of shelves were passed over: ${counts?.heldOutOwn} the judged item itself, ${counts?.heldOutNearDuplicates} nearly its text.`,
        ]
      : []),
    ...(counts !== undefined && counts.noVerdict > 0
      ? [
          `${name}: no verdict in ${counts.noVerdict} of ${first?.outcomes.length} cases${scored == null ? '' : ', which count as wrong'}.`,
        ]
      : []),
  ]
}
