import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Evaluation } from '../../evaluation/evaluation.ts'
import { PRESETS } from '../../evaluation/presets/all.ts'
import { markdownReport } from '../../evaluation/report/markdown.ts'
import type { Compared } from './compared.ts'

/** Writes the evaluation as `report.json`, `report.md` and `report.html` into the folder, which is there; a kill leaves no half of one. Says what was written. */
export async function writeReports(
  folder: string,
  evaluation: Evaluation,
  compared: readonly Compared[],
): Promise<string> {
  const preset = PRESETS.find(({ name }) => name === evaluation.preset) ?? null
  // Loaded only here: what draws its pictures is large.
  const { htmlReport } = await import('../../evaluation/report/html.ts')
  const files = {
    'report.json': `${JSON.stringify(evaluation)}\n`,
    'report.md': markdownReport(evaluation, preset, compared),
    'report.html': htmlReport(evaluation, preset, compared),
  }
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name)
    await writeFile(`${file}.new`, text)
    await rename(`${file}.new`, file)
  }
  return `Written to ${folder}: ${Object.keys(files).join(', ')}.`
}
