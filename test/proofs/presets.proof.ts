import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { withStepsHeader } from '../../src/domain/steps.ts'
import type { Evaluation } from '../../src/evaluation/evaluation.ts'
import { PRESETS } from '../../src/evaluation/presets/all.ts'
import { tell } from '../support/pipeline.ts'
import { presetData } from '../support/preset-data.ts'

/** Texts of a public file that each row judges; all of a small one. */
const SIZE = 20

/** Steps as `gavel calibrate` writes them, for Auto-CSEval's rows. */
const steps = mkdtempSync(join(tmpdir(), 'gavel-steps-'))
for (const [aspect, highest] of Object.entries({ relevance: 5, aggressiveness: 5, coherence: 5, suitableness: 3 }))
  writeFileSync(
    join(steps, `${aspect}.md`),
    withStepsHeader(
      [
        ['aspect', aspect],
        ['scale', `1 to ${highest}`],
        ['model', 'gpt-4'],
      ],
      '1. Look at the reply.',
    ),
  )
afterAll(() => rmSync(steps, { recursive: true }))

/** One preset on one of its data sets, by the understudy. */
async function evaluated(
  preset: string,
  { file, format, own }: ReturnType<typeof presetData>[number],
): Promise<Evaluation> {
  const size = own ? [] : ['--size', String(SIZE), '--balanced']
  // The papers' samples of 400 are more than a small file has.
  const whole = format === 'gavel' ? ['--size', '2'] : own ? ['--size', '2', '--balanced'] : size
  const args = ['eval', '--preset', preset, '--data', file, '--format', format, ...whole, '--json']
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--disable-warning=TimeoutNegativeWarning', join(PROJECT, 'src', 'main.ts'), ...args],
    { env: { PATH: process.env.PATH, GAVEL_PROTOCOLS_COUNTERSPEECH_STEPS_FOR: steps }, maxBuffer: 256 * 1024 * 1024 },
  )
  return JSON.parse(stdout) as Evaluation
}

it.each(PRESETS.map((preset) => [preset.name, preset] as const))(
  '%s judges each row that can be judged, on public data where there is any, and names every other',
  async (_, preset) => {
    for (const [at, data] of presetData(preset).entries()) {
      const { table, summary } = await evaluated(preset.name, data)
      const name = preset.data[at]?.name
      const cells = table.filter((cell) => cell.data === name)
      expect(cells.map(({ row }) => row)).toEqual(preset.rows.map((row) => row.name))
      for (const [nth, row] of preset.rows.entries()) {
        const cell = cells[nth]
        if (row.how.by === 'nothing') expect(cell?.why).toBe(row.how.why)
        // The steps of this proof say that they were found for gpt-4.
        else if (row.needs !== undefined && row.models?.scorer !== 'gpt-4')
          expect(cell?.why).toBe(`its steps were found for gpt-4, and ${row.models?.scorer} scores`)
        else
          expect(cell).toMatchObject({
            why: null,
            counts: { items: data.own ? 2 : SIZE, noVerdict: 0 },
          })
        expect(cell?.paper).toEqual(row.figures[name ?? ''] ?? {})
      }
      // The other data sets' rows are there, and say that no file was given.
      expect(table).toHaveLength(preset.rows.length * preset.data.length)
      expect(summary.join(' ')).toMatch(/no language model/)
      tell(
        `${preset.name} on ${name}: ${data.own ? 'our own small file' : 'public data'}, ${cells.filter(({ why }) => why === null).length} rows judged`,
      )
    }
  },
)
