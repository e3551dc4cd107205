import type { Evaluation, EvaluationCell } from '../evaluation.ts'
import type { ItemOutcome } from '../outcomes.ts'
import { bestCheaper } from '../summary.ts'
import type { DebateLinks } from './items.ts'
import { foreign, html, type Markup } from './markup.ts'

/** A wrong verdict of at least this confidence is worth a look. */
const SURE = 0.8
/** So many items are shown. */
const MOST = 20

/** An item that is judged other than people say, and why it is worth a look. */
export interface Disagreement {
  readonly outcome: ItemOutcome
  /** The same item in the row that is compared with, where that row has another label. */
  readonly other: ItemOutcome | null
  readonly sure: boolean
}

/**
 * What is most telling of where the verdicts of a row and people disagree: items for which `beside` has another label, and items
 * of which the verdict was sure; those that are both first, then the former, the surest first. Every item once, also
 * if it was judged several times. `wrong` are all disagreements.
 */
export function disagreementsOf(
  cell: EvaluationCell,
  beside: EvaluationCell | null,
): { wrong: number; telling: Disagreement[] } {
  const others = new Map(beside?.outcomes.map((outcome) => [keyOf(outcome), outcome]))
  const wrong = cell.outcomes.filter(({ gold, label }) => gold !== null && label !== gold)
  const found = wrong.map((outcome): Disagreement => {
    const other = others.get(keyOf(outcome))
    const differs = other !== undefined && other.label !== outcome.label
    return { outcome, other: differs ? other : null, sure: (outcome.confidence ?? 0) >= SURE }
  })
  const telling = found.filter(({ other, sure }) => other !== null || sure).sort(byInterest)
  const once = new Map(telling.toReversed().map((one) => [one.outcome.id, one]))
  return { wrong: new Set(wrong.map(({ id }) => id)).size, telling: [...once.values()].reverse() }
}

/** The row that a row's disagreements are looked at beside: the best that is cheaper, else the first other one with labels. */
export function rowBeside(first: EvaluationCell, others: readonly EvaluationCell[]): EvaluationCell | null {
  return bestCheaper(first, others) ?? others.find(({ labels }) => labels !== null) ?? null
}

/** The items that a report names as the most telling, of each data set in its order. */
export function itemsNamed({ table }: Pick<Evaluation, 'table'>): { readonly data: string; readonly id: string }[] {
  const judged = table.filter(({ why }) => why === null)
  return [...Map.groupBy(judged, ({ data }) => data)].flatMap(([data, [first, ...others]]) => {
    if (first === undefined || first.labels === null) return []
    const { telling } = disagreementsOf(first, rowBeside(first, others))
    return telling.slice(0, MOST).map(({ outcome: { id } }) => ({ data, id }))
  })
}

function keyOf({ id, repeat = 1 }: ItemOutcome): string {
  return `${repeat} ${id}`
}

function byInterest(one: Disagreement, other: Disagreement): number {
  const rank = ({ other, sure }: Disagreement) => (other !== null ? 2 : 0) + (sure ? 1 : 0)
  const confidence = ({ outcome }: Disagreement) => outcome.confidence ?? 0
  return rank(other) - rank(one) || confidence(other) - confidence(one) || (one.outcome.id < other.outcome.id ? -1 : 1)
}

/** The disagreements as a section, each folded away, with how many there are and how many are shown. */
export function disagreementSection(
  cell: EvaluationCell,
  beside: EvaluationCell | null,
  { texts, debates }: { texts: ReadonlyMap<string, string> | null; debates: DebateLinks },
): Markup {
  const { wrong, telling } = disagreementsOf(cell, beside)
  const shown = telling.slice(0, MOST)
  const differing = telling.filter(({ other }) => other !== null).length
  const sure = telling.filter((one) => one.sure).length
  return html`
<p>${foreign(cell.row, 120)} and people disagree on ${wrong} items.${beside === null ? '' : html` On ${differing} of them ${foreign(beside.row, 120)} says something else than ${foreign(cell.row, 120)}.`}${
    cell.labels?.confidence == null ? '' : ` On ${sure} of them the verdict was at least ${SURE * 100} % sure.`
  } Shown are ${shown.length}, left out ${wrong - shown.length}. <a href="items.html">All items of all rows</a>. ${texts === null ? 'The texts are in the data set, under these ids; --texts shows them here.' : ''}</p>
${shown.map((one) => {
  const { id, repeat } = one.outcome
  const debate = debates({ row: cell.row, data: cell.data, id, ...(repeat === undefined ? {} : { repeat }) })
  return entry(one, beside, { text: texts?.get(id) ?? null, debate })
})}`
}

function entry(
  { outcome, other, sure }: Disagreement,
  beside: EvaluationCell | null,
  { text, debate: page }: { text: string | null; debate: string | null },
): Markup {
  const { id, gold, label, confidence, rationale, annotations, scores, slices, degraded, repeat, debate = [] } = outcome
  const facts: [string, string][] = [
    ...(other === null || beside === null
      ? []
      : [[beside.row, `${other.label ?? 'no label'}. ${other.rationale}`] as [string, string]]),
    ...(annotations === undefined ? [] : [['annotators', annotations.join(', ')] as [string, string]]),
    ...pairs('scores', scores),
    ...pairs('slices', slices),
    ...(repeat === undefined ? [] : [['repeat', String(repeat)] as [string, string]]),
    ...(degraded.length === 0 ? [] : [['degraded', degraded.join('; ')] as [string, string]]),
  ]
  return html`
<details class="case"><summary>${foreign(id, 80)}: people say <b>${foreign(gold ?? '', 60)}</b>, judged <b>${foreign(label ?? 'no label', 60)}</b>${confidence === null ? '' : html`, <span class="${sure ? 'alarm' : ''}">${Math.round(confidence * 100)} % sure</span>`}</summary>
${text === null ? '' : html`<p>${foreign(text)}</p>`}<blockquote>${rationale === '' ? 'The verdict gives no rationale.' : foreign(rationale)}</blockquote>
${debate.length === 0 ? '' : html`<ol>${debate.map(({ who, says }) => html`<li><b>${foreign(who, 60)}</b>: ${foreign(says, 500)}</li>`)}</ol>`}
<dl>${facts.map(([name, text]) => html`<dt>${foreign(name, 60)}</dt><dd>${foreign(text, 600)}</dd>`)}</dl>${page === null ? '' : html`<p><a href="${page}">The whole debate</a></p>`}</details>`
}

function pairs(name: string, values: Readonly<Record<string, string | number>>): [string, string][] {
  const said = Object.entries(values).map(([key, value]) => `${key} ${value}`)
  return said.length === 0 ? [] : [[name, said.join(', ')]]
}
