import type { Evaluation, EvaluationCell } from '../evaluation.ts'
import type { PresetTable } from '../presets/preset.ts'
import type { LabelScores, SliceScores } from '../scores.ts'
import { points, withInterval } from '../summary.ts'
import { mainTable, type TextTable } from './cells.ts'
import type { ComparedData } from './markdown.ts'
import { comparisonTable } from './markdown.ts'
import { foreign, html, Markup } from './markup.ts'

/** Longest text of a table's cell, and longest that is not broken into lines. */
const CELL = 160
const UNBROKEN = 24
const NUMBER = new Markup(' class="number"')
const SHORT = new Markup(' class="short"')

/** A table that scrolls by itself where it is too wide; the first cell of a row is its name. `marked` rows stand out. */
export function tableOf({ head, rows }: TextTable, name: string, marked: readonly number[] = []): Markup {
  return html`
<div class="wide" role="region" aria-label="${name}" tabindex="0"><table>
<thead><tr>${head.map((text, at) => html`<th scope="col"${numeric(rows, at) ? NUMBER : ''}>${foreign(text, CELL)}</th>`)}</tr></thead>
<tbody>${rows.map(
    (cells, at) => html`
<tr${marked.includes(at) ? new Markup(' class="marked"') : ''}>${cells.map(cellOf)}</tr>`,
  )}</tbody>
</table></div>`
}

function cellOf(text: string, at: number, row: readonly string[]): Markup {
  if (at === 0) return html`<th scope="row">${foreign(text, CELL)}</th>`
  // A reason takes the room of the figures that are missing for it.
  if (text === '' && isReason(row[lastWith(row, at)])) return html``
  if (isReason(text)) return html`<td class="reason" colspan="${emptyAfter(row, at) + 1}">${foreign(text, CELL)}</td>`
  const [, value, interval] = /^(\S+) (\[[^\]]*\])$/.exec(text) ?? []
  if (value !== undefined && interval !== undefined)
    return html`<td class="number">${value} <span class="interval">${interval}</span></td>`
  return html`<td${isNumber(text) ? NUMBER : text.length <= UNBROKEN ? SHORT : ''}>${foreign(text, CELL)}</td>`
}

function isNumber(text: string | undefined): boolean {
  return /^[-+]?\d[\d.]*( \[|$)|^–$/.test(text ?? '')
}

/** Whether the heads of a column stand over numbers. */
function numeric(rows: TextTable['rows'], at: number): boolean {
  return at > 0 && rows.some((row) => isNumber(row[at]))
}

function isReason(text: string | undefined): boolean {
  return text?.startsWith('– (') ?? false
}

/** The last place before `at` that holds something. */
function lastWith(row: readonly string[], at: number): number {
  return row.findLastIndex((text, place) => place < at && text !== '')
}

function emptyAfter(row: readonly string[], at: number): number {
  const next = row.findIndex((text, place) => place > at && text !== '')
  return (next === -1 ? row.length : next) - at - 1
}

/** What a set's rows cost, and what they give for it. */
export function savingsSection(data: string, table: TextTable): Markup {
  return html`
<h2>What each saving costs in quality: ${foreign(data, CELL)}</h2>
${tableOf(table, `Savings on ${data}`)}
<p class="note">Less the best: points of macro-F1 less the best row’s on the same items, with a 95 % interval; as good is a lower
bound above −2. In sequence: calls that wait for one another. The last column says how often each perspective, or aspect, said what it said
in the first row.</p>`
}

export function mainSection(evaluation: Evaluation, preset: PresetTable | null): Markup {
  return html`
<h2>All rows</h2>
${tableOf(mainTable(evaluation, preset), 'All rows')}
<p class="note">Figures are in points with their 95 % intervals, correlations as they are; calls, tokens and US dollars are an item’s.
An item without a label counts as wrong.</p>
${preset === null || preset.notes.length === 0 ? '' : html`<h3>How the paper is read</h3><ul>${preset.notes.map((note) => html`<li>${note}</li>`)}</ul>`}`
}

/** The matrix of a row, its cells the darker the greater their share of what people say. */
export function confusionMatrix({ row, labels }: EvaluationCell): Markup {
  if (labels === null) return html``
  const { labels: names, counts } = labels.confusion
  return html`
<div class="wide" role="region" aria-label="Confusion matrix of ${row}" tabindex="0"><table class="confusion">
<thead><tr><th scope="col">people say</th>${names.map((label) => html`<th scope="col" class="number">judged ${foreign(label, CELL)}</th>`)}<th scope="col" class="number">no label</th></tr></thead>
<tbody>${names.map((label, at) => {
    const row = counts[at] ?? []
    const all = row.reduce((sum, count) => sum + count, 0)
    return html`
<tr><th scope="row">${foreign(label, CELL)}</th>${row.map((count) => html`<td class="number" style="--share: ${(all === 0 ? 0 : count / all).toFixed(3)}">${count} <span class="interval">${all === 0 ? '' : `${points(count / all)} %`}</span></td>`)}</tr>`
  })}</tbody></table></div>`
}

export function classTable({ classes }: LabelScores): TextTable {
  return {
    head: ['label', 'items', 'precision', 'recall', 'F1'],
    rows: classes.map(({ label, support, precision, recall, f1 }) => [
      label,
      String(support),
      ...[precision, recall, f1].map((estimate) =>
        estimate.value === null && estimate.why !== null ? `– (${estimate.why})` : withInterval(estimate),
      ),
    ]),
  }
}

/** Statements whose replies have no ρ since scores or ratings are all alike. */
function withoutRho({ byStatement }: EvaluationCell['aspects'][number]): string {
  if (byStatement === null || byStatement.alike === 0) return ''
  return ` (without ${byStatement.alike} of ${byStatement.statements}, all alike)`
}

export function aspectTable({ aspects }: EvaluationCell): TextTable {
  const three = (value: number | null) => (value === null ? '–' : value.toFixed(3))
  return {
    head: [
      'aspect',
      'items',
      'no score',
      'Spearman',
      'p',
      'Kendall',
      'p',
      'NDCG',
      'NDCG of a random order',
      'Spearman by statement',
      'NDCG by statement',
      'of a random order',
      'raters’ alpha',
    ],
    rows: aspects.map((of) => [
      of.aspect,
      String(of.items),
      String(of.unscored),
      three(of.spearman.value),
      three(of.spearmanP),
      ...[of.kendall.value, of.kendallP, of.ndcg, of.randomNdcg].map(three),
      three(of.byStatement?.spearman.value ?? null) + withoutRho(of),
      three(of.byStatement?.ndcg.value ?? null),
      ...[of.byStatement?.randomNdcg ?? null, of.alpha].map(three),
    ]),
  }
}

export function peopleSection({ people }: LabelScores): Markup {
  if (people === null) return html``
  const { items, alpha, oneAgainstOthers, best, verdicts } = people
  const rows = [
    ['Krippendorff’s alpha between annotators', alpha === null ? '–' : alpha.toFixed(3)],
    ['one annotator says what most others say', `${points(oneAgainstOthers)} %`],
    ['annotators that the best labels could agree with', `${points(best)} %`],
    ['annotators that the verdicts agree with', `${points(verdicts)} %`],
  ]
  return html`<h3>How far people agree</h3>${tableOf({ head: [`over ${items} items with several annotators`, ''], rows }, 'Agreement of people')}`
}

/** Slices with enough items as bars with their intervals; of the others how many they are. */
export function sliceSection({ slices, accuracy }: LabelScores): Markup {
  if (slices.length === 0) return html``
  return html`<h3>Slices</h3>
${[...Map.groupBy(slices, ({ by }) => by)].map(([by, all]) => sliceGroup(by, all, accuracy.value))}
<p class="note">Bars are 95 % intervals, the upright lines in them accuracies; the line through all is that of all items. Where items were
sampled in groups, a slice has no interval.</p>`
}

function sliceGroup(by: string, all: readonly SliceScores[], whole: number | null): Markup {
  const scored = all.filter(({ accuracy }) => accuracy !== null)
  const few = all.filter(({ accuracy }) => accuracy === null)
  return html`
<h4>${foreign(by, CELL)}</h4>
${
  scored.length === 0
    ? ''
    : html`<table class="slices">
<thead><tr><th scope="col">value</th><th scope="col" class="number">items</th><th scope="col" class="number">accuracy</th><th scope="col">0 to 100</th></tr></thead>
<tbody>${scored.map((slice) => sliceRow(slice, whole))}</tbody></table>`
}
${
  few.length === 0
    ? ''
    : html`<details><summary>${few.length} of ${all.length} values have too few items for a figure.</summary>
<ul class="values">${few.map(({ value, items }) => html`<li>${foreign(value, CELL)}: ${items}</li>`)}</ul></details>`
}`
}

function sliceRow({ value, items, accuracy, interval }: SliceScores, whole: number | null): Markup {
  const mark = (name: string, share: number) =>
    html`<rect class="${name}" x="${(share * 100 - 0.4).toFixed(2)}" y="0" width="0.8" height="10"/>`
  const { low, high } = interval ?? { low: accuracy ?? 0, high: accuracy ?? 0 }
  return html`
<tr><th scope="row">${foreign(value, CELL)}</th><td class="number">${items}</td><td class="number">${points(accuracy)} <span class="interval">${interval === null ? '' : `[${points(low)}, ${points(high)}]`}</span></td>
<td><svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">${whole === null ? '' : mark('whole', whole)}<rect class="reach" x="${(low * 100).toFixed(2)}" y="2" width="${((high - low) * 100).toFixed(2)}" height="6"/>${mark('value', accuracy ?? 0)}</svg></td></tr>`
}

export function comparisonSection({ data, comparison }: ComparedData): Markup {
  const { margin, onlyBefore, onlyNow, shown, differences, alarm } = comparison
  const marked = differences.flatMap((difference, at) => (difference.alarm ? [at] : []))
  return html`
<h2>What changed: ${foreign(data, CELL)}</h2>
<p class="${alarm ? 'alarm' : ''}">${alarm ? 'Something changed beyond chance and the margin, or other things were shown to the judges than before.' : 'Nothing changed beyond chance and the margin.'}</p>
<p>The margin is ${points(margin)} points. Only the earlier run has ${onlyBefore} items, only this one ${onlyNow}; nothing is said of them.</p>
${shown.length === 0 ? '' : html`<ul>${shown.map((change) => html`<li class="alarm">Shown differently: ${foreign(change, CELL)}</li>`)}</ul>`}
${tableOf(comparisonTable(comparison), `What changed: ${data}`, marked)}`
}
