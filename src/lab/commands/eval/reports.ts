import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { csvTable } from '../../../contracts/facts/csv-table.ts'
import type { DataSet, Evaluation } from '../../evaluation/evaluation.ts'
import { PRESETS } from '../../evaluation/presets/all.ts'
import { mainTable } from '../../evaluation/report/cells.ts'
import { type DebateLinks, itemsPage, type Texts } from '../../evaluation/report/items.ts'
import { latexTable } from '../../evaluation/report/latex.ts'
import { markdownReport } from '../../evaluation/report/markdown.ts'
import { tidyColumns, tidyTable } from '../../evaluation/report/tidy.ts'
import type { DataComparison } from './earlier-evaluation.ts'

/** The judged texts, by data set and id. */
export function textsOf(sets: readonly DataSet[]): Texts {
  return new Map(sets.map(({ name, items }) => [name, new Map(items.map(({ id, text = '' }) => [id, text]))]))
}

/** What a report shows beside the evaluation. */
export interface ReportParts {
  readonly compared: readonly DataComparison[]
  /** The judged texts, where they are to be shown. */
  readonly texts: Texts | null
  readonly debates: DebateLinks
}

/**
 * Writes the evaluation into the folder, which is there: whole as JSON, as pages in Markdown and HTML, its main table as CSV and LaTeX,
 * and all items as a page, as CSV and as Parquet. A kill leaves no half of one. Resolves to what was written.
 */
export async function writeReports(
  folder: string,
  evaluation: Evaluation,
  { compared, texts, debates }: ReportParts,
): Promise<string> {
  const preset = PRESETS.find(({ name }) => name === evaluation.preset) ?? null
  // Loaded only here: what draws its pictures is large.
  const { htmlReport } = await import('../../evaluation/report/html.ts')
  const { parquetWriteBuffer } = await import('hyparquet-writer')
  const tidy = tidyColumns(evaluation)
  const files = {
    'report.json': `${JSON.stringify(evaluation)}\n`,
    'report.md': markdownReport(evaluation, preset, compared),
    'report.html': htmlReport(evaluation, preset, compared, { texts, debates }),
    'report.csv': csvTable(mainTable(evaluation, preset)),
    'report.tex': latexTable(mainTable(evaluation, preset), evaluation.title),
    'items.html': itemsPage(evaluation, texts, debates),
    'items.csv': csvTable(tidyTable(tidy)),
    'items.parquet': Buffer.from(
      parquetWriteBuffer({ columnData: tidy.map(({ data, ...column }) => ({ ...column, data: [...data] })) }),
    ),
  }
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, name)
    await writeFile(`${file}.new`, content)
    await rename(`${file}.new`, file)
  }
  return `Written to ${folder}: ${Object.keys(files).join(', ')}.`
}
