import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { withStepsHeader } from '../../src/contracts/facts/steps.ts'
import type { Evaluation } from '../../src/lab/evaluation/evaluation.ts'
import { PRESETS } from '../../src/lab/evaluation/presets/all.ts'
import { startOneModel } from '../support/one-model.ts'
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
        ['model', 'mine'],
      ],
      '1. Look at the reply.',
    ),
  )

let mine: Awaited<ReturnType<typeof startOneModel>>
beforeAll(async () => {
  mine = await startOneModel('mine')
})
afterAll(async () => {
  await mine.close()
  rmSync(steps, { recursive: true })
})

/** One preset on one of its data sets, on an endpoint whose one model is called `mine`. */
async function evaluated(
  preset: string,
  { file, format, own }: ReturnType<typeof presetData>[number],
): Promise<Evaluation> {
  const size = own ? [] : ['--size', String(SIZE), '--balanced']
  // The papers' samples of 400 are more than a small file has.
  const whole = format === 'gavel' ? ['--size', '2'] : own ? ['--size', '2', '--balanced'] : size
  const asked = ['--models', 'mine', '--data', file, '--format', format, ...whole]
  const args = ['eval', '--preset', preset, ...asked, '--json']
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--disable-warning=TimeoutNegativeWarning', join(PROJECT, 'src', 'main.ts'), ...args],
    {
      env: { PATH: process.env.PATH, GAVEL_PROTOCOLS_COUNTERSPEECH_STEPS_FOR: steps, ...mine.settings },
      maxBuffer: 256 * 1024 * 1024,
    },
  )
  return JSON.parse(stdout) as Evaluation
}

it.each(PRESETS.map((preset) => [preset.name, preset] as const))(
  '%s judges each row that can be judged, on public data where there is any, and names every other',
  async (_, preset) => {
    // A data set that is judged in batches is one file.
    const files = presetData(preset).slice(0, preset.data[0]?.batch === undefined ? undefined : 1)
    for (const [at, data] of files.entries()) {
      const { table, summary } = await evaluated(preset.name, data)
      const name = preset.data[at]?.name
      const cells = table.filter((cell) => cell.data === name)
      const called = preset.rows.map(({ name: row, how, calledBy }) =>
        how.by === 'nothing' || calledBy === undefined
          ? row
          : row.replace(calledBy.name, `[mine for ${calledBy.name}]`),
      )
      expect(cells.map(({ row }) => row)).toEqual(called)
      expect(summary[0]).toMatch(/^Not the paper’s models: mine stood in for /)
      for (const [nth, row] of preset.rows.entries()) {
        const cell = cells[nth]
        if (row.how.by === 'nothing') expect(cell?.why).toBe(row.how.why)
        else
          expect(cell).toMatchObject({
            why: null,
            counts: {
              items: 2 * Math.ceil((data.own ? 1 : SIZE / 2) / (preset.data[at]?.batch?.of ?? 1)),
              noVerdict: 0,
            },
          })
        expect(cell?.paper).toEqual(row.figures[name ?? ''] ?? {})
      }
      // The other data sets' rows are there, and say that no file was given.
      expect(table).toHaveLength(preset.rows.length * preset.data.length)
      expect(new Set(mine.asked)).toEqual(new Set(['mine']))
      tell(
        `${preset.name} on ${name}: ${data.own ? 'our own small file' : 'public data'}, ${cells.filter(({ why }) => why === null).length} rows judged`,
      )
    }
  },
)
