import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { commandIn } from '../support/command-in.ts'
import { startModelServer } from '../support/model-server.ts'
import { tell } from '../support/pipeline.ts'
import { planted, plantedAnswer, TRAITS } from '../support/planted.ts'

const SLOTS = 100
const MOST = 1.25
const folder = mkdtempSync(join(tmpdir(), 'gavel-calibration-speed-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Texts that differ though they name the same traits, so that no draft is left out as a repetition of another. */
function everyTextAnother(answer: ReturnType<typeof plantedAnswer>): typeof answer {
  let written = 0
  return async (shown) => {
    const said = (await answer(shown)) as { steps?: string[] }
    return said.steps === undefined ? said : { steps: [...said.steps, `This is text ${++written}.`] }
  }
}

it.each([
  [
    'the size of the published code: 300 items, 10 drafts of 8 examples, the best 3, 10 refinements of each',
    300,
    '8',
    10,
    3,
    10,
  ],
  [
    'the paper’s 500 items: 5 drafts of 4, 8 and 16 examples each, the best 3, 5 refinements of each',
    500,
    '4,8,16',
    5,
    3,
    5,
  ],
] as const)(
  `calibrates within ${MOST} of calls ÷ slots × 1 s: %s`,
  async (_, items, fewShot, trials, keep, refinements) => {
    const model = await startModelServer(everyTextAnother(plantedAnswer('speed')), { latencyMs: 1_000 })
    try {
      const file = join(folder, `${items}.jsonl`)
      const lines = planted(items, TRAITS[2] as string, 'speed').map(({ id, hateSpeech, counterspeech, ratings }) => ({
        id,
        hateSpeech,
        text: counterspeech,
        ratings: { relevance: ratings },
      }))
      writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
      const started = performance.now()
      const { code, said } = await commandIn(
        folder,
        [
          'calibrate',
          '--aspect',
          'relevance',
          '--ratings',
          file,
          '--yes',
          '--paper',
          '--few-shot',
          fewShot,
          ...['--trials', trials, '--keep', keep, '--refinements', refinements, '--iterations', 1].map(String),
        ],
        { ...model.settings, GAVEL_MODELS_SLOTS: String(SLOTS) },
      )
      const seconds = (performance.now() - started) / 1_000
      expect(code, said).toBe(0)
      const bound = model.calls() / SLOTS
      tell(
        `${model.calls()} calls, at most ${model.mostAtOnce()} at once, in ${seconds.toFixed(1)} s from start to end: ${(seconds / bound).toFixed(3)} of ${bound.toFixed(1)} s`,
      )
      const drafts = fewShot.split(',').length * trials
      // Each text is written and scores all items; so do the steps of before.
      expect(model.calls()).toBe((drafts + keep * refinements) * (items + 1) + items)
      expect(model.mostAtOnce()).toBeLessThanOrEqual(SLOTS)
      expect(seconds / bound).toBeLessThanOrEqual(MOST)
    } finally {
      await model.close()
    }
  },
)
