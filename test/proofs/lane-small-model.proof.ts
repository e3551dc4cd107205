import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadSettings, PROJECT } from '../../config/load.ts'
import type { Format } from '../../src/data-files/formats.ts'
import { goldOf } from '../../src/lab/evaluation/gold.ts'
import type { LaneFit } from '../../src/lab/lane/fit-lane.ts'
import { performWords } from '../support/commands.ts'
import { ownFolder } from '../support/own-folder.ts'
import { tell } from '../support/pipeline.ts'
import { drawn } from '../support/planted-debate.ts'
import { LANE_LABELS, type LaneProtocol } from '../support/planted-lane.ts'
import { isSmallModelHere, startSmallModel } from '../support/small-model.ts'

// Is a model of 1.5 billion parameters good enough for a first lane? `gavel lane fit` asks a real one about some texts of each public data
// set. Prints the table of docs/lane.md. `SMALL_MODEL_ITEMS`: texts of each set, or `60,40` of one and the other; `SMALL_MODEL_KEEP`: a
// folder for its answers, with which a run that was stopped resumes.

const DATA = join(PROJECT, '..', 'shared', 'data')
const { SMALL_MODEL_ITEMS: items = '300', SMALL_MODEL_KEEP: keep = '' } = process.env

const SETS: readonly (readonly [LaneProtocol, string, Format])[] = [
  ['hate', 'hatecheck/cases.jsonl', 'hatecheck'],
  ['hate', 'implicit-hate/posts.jsonl', 'gavel'],
]
const RISKS = [0.05, 0.1] as const
const NAME = 'small'

const folder = ownFolder('lane-small-model')
let [baseUrl, end] = ['', () => {}]
beforeAll(async () => {
  if (isSmallModelHere) [baseUrl, end] = await startSmallModel()
}, 310_000)
afterAll(() => end())

const HEAD = ['protocol', 'data', 'texts', 'right of the tested', 'promised at most', 'the lane']

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0)

test.skipIf(!isSmallModelHere || !existsSync(DATA))(
  'what the rule says of a small model',
  async () => {
    const config = join(folder, 'small.json')
    writeFileSync(
      config,
      JSON.stringify({
        openai: { answerFormat: 'json_schema' },
        models: {
          slots: 1,
          // It may have few turns on a busy machine.
          callTimeout: '1h',
          roles: { default: [NAME] },
          dialects: { [NAME]: { decisions: 'chat' } },
        },
        library: { path: join(folder, 'library') },
      }),
    )
    const settings = loadSettings({ OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: 'none' }, config)
    for (const line of [HEAD, HEAD.map(() => '---')]) tell(`| ${line.join(' | ')} |`)
    const most = items.split(',')
    for (const [at, [name, file, format]] of SETS.entries()) {
      const of = { name, labels: [...LANE_LABELS[name]] }
      const gold = await goldOf(join(DATA, file), format, of, () => {}, {})
      const chosen = gold
        .filter(({ label, text, why }) => label !== null && text !== undefined && why === undefined)
        .toSorted((one, other) => drawn(one.id, 'small') - drawn(other.id, 'small'))
        .slice(0, Number(most[at] ?? most[0]))
      const data = join(folder, `${name}-${file.split('/')[0]}.jsonl`)
      writeFileSync(data, chosen.map(({ id, text, label }) => JSON.stringify({ id, text, label })).join('\n'))
      for (const risk of RISKS) {
        const kept = join(keep === '' ? folder : keep, `${name}-${file.split('/')[0]}`)
        const words = ['lane', 'fit', '--protocol', name, '--data', data, '--model', NAME, '--keep', kept]
        const out: string[] = []
        await performWords([...words, '--risk', String(risk), '--json'], settings, (line) => out.push(line)).catch(
          (error: Error) => tell(error.message),
        )
        const { fit } = JSON.parse(out[0] ?? '') as { fit: LaneFit }
        const more = fit.needed === null ? 'no number of labels helps' : `about ${fit.needed} more labels`
        const settles = `settles ${(100 * fit.coverage).toFixed(1)} %`
        const lane = fit.accepted ? `accepted: ${settles}` : `refused: ${settles}; ${more}`
        const [answered, wrong] = [
          sumOf(fit.groups.map((one) => one.tested)),
          sumOf(fit.groups.map((one) => one.wrong)),
        ]
        const right = `${(100 * (1 - wrong / answered)).toFixed(1)} %`
        tell(`| \`${name}\` | ${file.split('/')[0]} | ${chosen.length} | ${right} | ${100 * risk} % | ${lane} |`)
        for (const { label, tested, wrong: errors, threshold, why } of fit.groups)
          tell(`${label}: ${tested} tested, ${errors} wrong, ${threshold === null ? why : `from ${threshold.from}`}`)
        expect(fit.tested).toBeGreaterThan(fit.unanswered)
      }
    }
  },
  24 * 3_600_000,
)
