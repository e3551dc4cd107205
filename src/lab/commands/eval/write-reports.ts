import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Evaluation } from '../../evaluation/evaluation.ts'
import { PRESETS } from '../../evaluation/presets/all.ts'
import { mainTable } from '../../evaluation/report/cells.ts'
import { csvTable } from '../../evaluation/report/csv.ts'
import { itemsPage, type Texts } from '../../evaluation/report/items.ts'
import { latexTable } from '../../evaluation/report/latex.ts'
import { markdownReport } from '../../evaluation/report/markdown.ts'
import type { Compared } from './compared.ts'

/**
 * Writes the evaluation into the folder, which is there: whole as JSON, as pages in Markdown and HTML, its main table as CSV and LaTeX,
 * and a page of all items. A kill leaves no half of one. `texts` are shown where they are given. Says what was written.
 */
export async function writeReports(
  folder: string,
  evaluation: Evaluation,
  compared: readonly Compared[],
  texts: Texts | null,
): Promise<string> {
  const preset = PRESETS.find(({ name }) => name === evaluation.preset) ?? null
  // Loaded only here: what draws its pictures is large.
  const { htmlReport } = await import('../../evaluation/report/html.ts')
  const files = {
    'report.json': `${JSON.stringify(evaluation)}\n`,
    'report.md': markdownReport(evaluation, preset, compared),
    'report.html': htmlReport(evaluation, preset, compared, texts),
    'report.csv': csvTable(mainTable(evaluation, preset)),
    'report.tex': latexTable(mainTable(evaluation, preset), evaluation.title),
    'items.html': itemsPage(evaluation, texts),
  }
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name)
    await writeFile(`${file}.new`, text)
    await rename(`${file}.new`, file)
  }
  return `Written to ${folder}: ${Object.keys(files).join(', ')}.`
}
