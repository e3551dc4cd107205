import type { Comparison } from '../against.ts'
import type { Evaluation } from '../evaluation.ts'
import type { PresetTable } from '../presets/preset.ts'
import { points, pText, withInterval } from '../summary.ts'
import { BEST_HEADING, BEST_NOTE, bestTable, PARTS_HEADING, PARTS_NOTE, partsTable } from './best-table.ts'
import {
  confusionTable,
  DRAWN_HEADING,
  DRAWN_NOTE,
  drawnTable,
  mainTable,
  sliceTable,
  type TextTable,
} from './cells.ts'
import { CHOICE_HEADING, CHOICE_NOTE, choiceTable } from './choice-table.ts'
import { DEBATE_HEADING, DEBATE_NOTE, debateTable } from './debate-table.ts'
import { savingsTables } from './savings-table.ts'

/** What changed since another evaluation, by data set. */
export interface ComparedData {
  readonly data: string
  readonly comparison: Comparison
}

/** An evaluation as a Markdown page. */
export function markdownReport(
  evaluation: Evaluation,
  preset: PresetTable | null,
  compared: readonly ComparedData[] = [],
): string {
  const debates = debateTable(evaluation)
  const choice = choiceTable(evaluation)
  const drawn = drawnTable(evaluation)
  const best = bestTable(evaluation)
  const parts = partsTable(evaluation)
  const [first] = evaluation.table.filter(({ labels }) => labels !== null)
  return [
    `# ${evaluation.title}`,
    ...evaluation.summary
      .map((sentence) => `- ${sentence}`)
      .join('\n')
      .split('\n\n'),
    'Figures in points with 95 % intervals; calls, tokens and US dollars are an item’s.',
    markdownTable(mainTable(evaluation, preset)),
    ...(best === null ? [] : [`## ${BEST_HEADING}`, markdownTable(best), BEST_NOTE]),
    ...(parts === null ? [] : [`## ${PARTS_HEADING}`, markdownTable(parts), PARTS_NOTE]),
    ...(drawn === null ? [] : [`## ${DRAWN_HEADING}`, markdownTable(drawn), DRAWN_NOTE]),
    ...(choice === null ? [] : [`## ${CHOICE_HEADING}`, markdownTable(choice), CHOICE_NOTE]),
    ...(debates === null ? [] : [`## ${DEBATE_HEADING}`, markdownTable(debates), DEBATE_NOTE]),
    ...savingsTables(evaluation).flatMap(({ data, table }) => [
      `## What each saving costs in quality: ${escaped(data)}`,
      markdownTable(table),
    ]),
    ...(preset === null ? [] : preset.notes.map((note) => `- ${note}`)),
    ...(first === undefined
      ? []
      : [
          `## ${first.row}, ${first.data}`,
          markdownTable(confusionTable(first)),
          ...(first.labels?.slices.length ? ['### Slices', markdownTable(sliceTable(first))] : []),
        ]),
    ...compared.flatMap(comparisonSection),
    '',
  ].join('\n\n')
}

function comparisonSection({ data, comparison }: ComparedData): string[] {
  return [
    `## What changed: ${data}`,
    ...comparison.shown.map((change) => `- **shown differently**: ${change}`),
    markdownTable(comparisonTable(comparison)),
  ]
}

export function comparisonTable({ differences }: Comparison): TextTable {
  return {
    head: ['of', 'items', 'before', 'now', 'change', 'p (Holm)', ''],
    rows: differences.map(({ of, items, before, now, change, pValue, alarm }) => [
      of,
      String(items),
      points(before),
      points(now),
      withInterval(change),
      pText(pValue),
      alarm ? 'beyond chance and margin' : '',
    ]),
  }
}

function markdownTable({ head, rows }: TextTable): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escaped).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** Texts of data sets and models stand in tables: nothing in them ends a cell or a line, or becomes markup. */
function escaped(text: string): string {
  return text.replace(/[\\|<>`*_[\]]/g, '\\$&').replace(/\s+/g, ' ')
}
