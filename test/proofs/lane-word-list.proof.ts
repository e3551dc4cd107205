import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import type { Format } from '../../src/data-files/formats.ts'
import { goldOf } from '../../src/lab/evaluation/gold.ts'
import { fitLane } from '../../src/lab/lane/fit-lane.ts'
import { decidedItems } from '../../src/lab/lane/lane-items.ts'
import { surest } from '../../src/protocols/lane-file.ts'
import { tell } from '../support/pipeline.ts'
import { drawn } from '../support/planted-debate.ts'
import { LANE_LABELS, type LaneProtocol } from '../support/planted-lane.ts'

// Is a word list good enough for a first lane? A list of the words that tell most is learnt on one half of a public data set, and a lane
// fitted on the other. Prints the table of docs/lane.md.

const DATA = join(PROJECT, '..', 'shared', 'data')
const LISTED = 200
/** Words that stand in fewer texts tell nothing yet. */
const LEAST_TEXTS = 5

const SETS: readonly (readonly [LaneProtocol, string, Format])[] = [
  ['hate', 'hatecheck/cases.jsonl', 'hatecheck'],
  ['hate', 'implicit-hate/posts.jsonl', 'gavel'],
  ['hate', 'openai-moderation/samples.jsonl', 'openai-moderation'],
  ['safety', 'openai-moderation/samples.jsonl', 'openai-moderation'],
]
const RISKS = [0.05, 0.1] as const

const wordsIn = (text: string) => new Set(text.toLowerCase().match(/[\p{L}\p{M}']{2,}/gu) ?? [])

/** How much each word of the list speaks for harm, in log-odds, and how much it does to have none of them. */
function listOf(texts: readonly { readonly text: string; readonly isHarm: boolean }[]) {
  const counts = new Map<string, { harm: number; all: number }>()
  for (const { text, isHarm } of texts)
    for (const word of wordsIn(text)) {
      const count = counts.get(word) ?? { harm: 0, all: 0 }
      counts.set(word, count)
      count.all++
      count.harm += Number(isHarm)
    }
  const harm = texts.filter(({ isHarm }) => isHarm).length
  const prior = Math.log((harm + 1) / (texts.length - harm + 1))
  const weights = [...counts]
    .filter(([, { all }]) => all >= LEAST_TEXTS)
    .map(([word, { harm: of, all }]) => [word, Math.log((of + 1) / (all - of + 1)) - prior] as const)
    .toSorted(([a, one], [b, other]) => Math.abs(other) - Math.abs(one) || (a < b ? -1 : 1))
  return { prior, weights: new Map(weights.slice(0, LISTED)) }
}

function probabilityBy({ prior, weights }: ReturnType<typeof listOf>, text: string): number {
  const sum = [...wordsIn(text)].reduce((total, word) => total + (weights.get(word) ?? 0), prior)
  return 1 / (1 + Math.exp(-sum))
}

const HEAD = ['protocol', 'data', 'texts of the fit', 'right of all', 'promised at most', 'the lane']

test.skipIf(!existsSync(DATA))('docs/lane.md has what the rule says of a word list', async () => {
  const rows: string[] = []
  for (const [name, file, format] of SETS) {
    const path = join(DATA, file)
    const [harmful, harmless] = LANE_LABELS[name]
    const gold = await goldOf(path, format, { name, labels: [harmful, harmless] }, () => {}, {})
    const labelled = gold.filter(({ label, text, why }) => label !== null && text !== undefined && why === undefined)
    const learns = ({ id }: { readonly id: string }) => drawn(id, 'half') < 0.5
    const list = listOf(labelled.filter(learns).map(({ text = '', label }) => ({ text, isHarm: label === harmful })))
    const fitted = labelled.filter((one) => !learns(one))
    const said = new Map(
      fitted.map(({ id, text = '' }) => {
        const harm = probabilityBy(list, text)
        return [
          id,
          surest(
            new Map([
              [harmful, harm],
              [harmless, 1 - harm],
            ]),
          ),
        ]
      }),
    )
    const right = fitted.filter(({ id, label }) => said.get(id)?.label === label).length / fitted.length
    for (const risk of RISKS) {
      const fit = fitLane(decidedItems(path, fitted, { said }), { risk, delta: 0.05, coverage: 0.1 }, 1)
      const settles = `settles ${(100 * fit.coverage).toFixed(1)} %`
      const more = fit.needed === null ? 'no number of labels helps' : `about ${fit.needed} more labels`
      const lane = fit.accepted ? `accepted: ${settles}` : `refused: ${settles}; ${more}`
      const cells = [
        `\`${name}\``,
        file.split('/')[0],
        fitted.length,
        `${(100 * right).toFixed(1)} %`,
        `${100 * risk} %`,
        lane,
      ]
      rows.push(`| ${cells.join(' | ')} |`)
    }
  }
  const table = [`| ${HEAD.join(' | ')} |`, `| ${HEAD.map(() => '---').join(' | ')} |`, ...rows]
  for (const line of table) tell(line)
  const page = readFileSync(join(PROJECT, 'docs', 'lane.md'), 'utf8')
  const [there = ''] = page.split('\n\n').filter((part) => part.startsWith(table[0] ?? ''))
  expect(there.split('\n'), 'the table of docs/lane.md is what this prints').toEqual(table)
})
