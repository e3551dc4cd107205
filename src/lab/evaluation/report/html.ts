import type { Evaluation, EvaluationCell } from '../evaluation.ts'
import type { PresetTable } from '../presets/preset.ts'
import { BEST_HEADING, BEST_NOTE, bestTable, PARTS_HEADING, PARTS_NOTE, partsTable } from './best-table.ts'
import { DRAWN_HEADING, DRAWN_NOTE, drawnTable, type TextTable } from './cells.ts'
import { CHOICE_HEADING, CHOICE_NOTE, choiceTable } from './choice-table.ts'
import { countsSection } from './counts-section.ts'
import { confidenceCurves } from './curves.ts'
import { DEBATE_HEADING, DEBATE_NOTE, debateTable } from './debate-table.ts'
import { disagreementSection, rowBeside } from './disagreements.ts'
import type { DebateLinks, Texts } from './items.ts'
import type { ComparedData } from './markdown.ts'
import { foreign, html, type Markup } from './markup.ts'
import { framedPage } from './page-frame.ts'
import { figureSection } from './paper-figure.ts'
import { qualityAgainstCost } from './quality-against-cost.ts'
import { savingsTables } from './savings-table.ts'
import {
  aspectTable,
  classTable,
  comparisonSection,
  confusionMatrix,
  mainSection,
  peopleSection,
  savingsSection,
  sliceSection,
  tableOf,
} from './sections.ts'

/**
 * An evaluation as one HTML page. `compared` is what changed since another evaluation; `texts` and links to `debates` stand beside
 * disagreements where they are given.
 */
export function htmlReport(
  evaluation: Evaluation,
  preset: PresetTable | null,
  compared: readonly ComparedData[] = [],
  { texts = null, debates = () => null }: { texts?: Texts | null; debates?: DebateLinks } = {},
): string {
  const { title, summary, table } = evaluation
  const sets = [...Map.groupBy(table, ({ data }) => data)]
  const [lead = '', ...others] = summary
  const body = html`<p class="note">${aboutRun(evaluation)}</p>
<p class="lead">${foreign(lead)}</p>
${others.length === 0 ? '' : html`<ul>${others.map((sentence) => html`<li>${foreign(sentence)}</li>`)}</ul>`}
${figureSection(evaluation, preset)}
<h2>Quality against cost</h2>
${sets.map(([data, cells]) => pictureOf(data, cells, { many: sets.length > 1, curve: evaluation.costCurves !== undefined }))}
<p class="note">Upright lines are 95 % intervals; a point without one has none. ${table[0] === undefined ? '' : html`In color: ${foreign(table[0].row, 80)}.`}</p>
${notedSection(bestTable(evaluation), BEST_HEADING, BEST_NOTE)}
${notedSection(partsTable(evaluation), PARTS_HEADING, PARTS_NOTE)}
${notedSection(drawnTable(evaluation), DRAWN_HEADING, DRAWN_NOTE)}
${notedSection(choiceTable(evaluation), CHOICE_HEADING, CHOICE_NOTE)}
${notedSection(debateTable(evaluation), DEBATE_HEADING, DEBATE_NOTE)}
${savingsTables(evaluation).map(({ data, table }) => savingsSection(data, table))}
${mainSection(evaluation, preset)}
${compared.map(comparisonSection)}
${sets.map(([data, cells]) => dataSection(data, cells, { texts: texts?.get(data) ?? null, debates }))}
${countsSection(evaluation)}`
  return framedPage(title, body)
}

function aboutRun({ protocol, preset, seed, data, table }: Evaluation): Markup {
  const models = [...new Set(table.flatMap((cell) => cell.models))].sort()
  return html`Protocol ${protocol}${preset === null ? '' : `, preset ${preset}`}, seed ${foreign(seed, 80)}. Data: ${foreign(
    data.map(({ name, format, items }) => `${name} (${format}), ${items} items`).join('; '),
    600,
  )}.${models.length === 0 ? '' : html` Models: ${foreign(models.join(', '), 600)}.`}`
}

function notedSection(table: TextTable | null, heading: string, note: string): Markup {
  if (table === null) return html``
  return html`
<h2>${heading}</h2>
${tableOf(table, heading)}
<p class="note">${note}</p>`
}

function pictureOf(
  data: string,
  cells: readonly EvaluationCell[],
  { many, curve }: { many: boolean; curve: boolean },
): Markup {
  if (cells.every(({ why }) => why !== null)) return html``
  return html`${many ? html`<h3>${foreign(data, 120)}</h3>` : ''}${qualityAgainstCost(cells, { curve })}`
}

/** What stands beside the items of a data set: their words, and where their debates are. */
interface SectionParts {
  readonly texts: ReadonlyMap<string, string> | null
  readonly debates: DebateLinks
}

/** All of the first row on a data set; of the others their confusion matrices. */
function dataSection(data: string, cells: readonly EvaluationCell[], beside: SectionParts): Markup {
  const [first, ...others] = cells.filter(({ why }) => why === null)
  if (first === undefined) return html``
  const { labels, aspects } = first
  if (labels === null && aspects.length === 0) return html``
  return html`
<h2>${foreign(first.row, 120)}, ${foreign(data, 120)}</h2>
${labels === null ? '' : labelSections(first, others, beside)}
${aspects.length === 0 ? '' : html`<h3>Scores beside people’s ratings</h3>${tableOf(aspectTable(first), 'Scores beside ratings')}`}`
}

function labelSections(first: EvaluationCell, others: readonly EvaluationCell[], parts: SectionParts): Markup {
  const { labels } = first
  if (labels === null) return html``
  const beside = rowBeside(first, others)
  const matrices = others.filter((cell) => cell.labels !== null)
  return html`
<h3>Confusion matrix</h3>
${confusionMatrix(first)}
${
  matrices.length === 0
    ? ''
    : html`<details><summary>Confusion matrices of the other rows: ${matrices.length}</summary>
<div class="matrices">${matrices.map((cell) => html`<div><h4>${foreign(cell.row, 120)}</h4>${confusionMatrix(cell)}</div>`)}</div></details>`
}
<h3>By label</h3>
${tableOf(classTable(labels), 'By label')}
<h3>How sure, and how right</h3>
${confidenceCurves(labels)}
${sliceSection(labels)}
${peopleSection(labels)}
<h3>The most telling disagreements</h3>
${disagreementSection(first, beside, parts)}`
}
