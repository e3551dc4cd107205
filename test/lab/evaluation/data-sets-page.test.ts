import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { FORMATS, type Format, fileMessages } from '../../../src/data-files/formats.ts'
import { goldOf } from '../../../src/lab/evaluation/gold.ts'
import type { GoldItem } from '../../../src/lab/evaluation/gold-item.ts'
import { scalesOf } from '../../support/evaluating.ts'
import { tell } from '../../support/pipeline.ts'

const DATA = join(PROJECT, '..', 'shared', 'data')
const SETS = join(PROJECT, 'test', 'lab', 'evaluation', 'data-sets')
const page = readFileSync(join(PROJECT, 'docs', 'data-sets.md'), 'utf8')
const number = (of: number) => of.toLocaleString('en-US')
const told = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${number(count)}`)
    .join(', ')

/** The page's words on one format. */
function sectionOf(format: string): string {
  const section = page.split(/^## /m).find((one) => one.split('\n')[0]?.includes(`\`${format}\``))
  return section ?? ''
}

it.each(FORMATS)('%s has a section', (format) => {
  expect(sectionOf(format)).not.toBe('')
})

it('the scales of ratings are those of the protocol', () => {
  const scales = Object.entries(scalesOf('counterspeech'))
  const scale = (highest: number) => scales.flatMap(([aspect, [, most]]) => (most === highest ? [aspect] : []))
  const named = (highest: number) =>
    `${scale(highest)
      .map((aspect) => `\`${aspect}\``)
      .join(', ')} from 1 to ${highest}`
  expect(sectionOf('gavel')).toContain(`${named(5)}, ${named(3)}`)
})

it('every example line is one of our own files', () => {
  const own = readdirSync(SETS).flatMap((name) => readFileSync(join(SETS, name), 'utf8').split('\n'))
  const examples = [...page.matchAll(/```(?:json|text)\n([^`]*)```/g)].flatMap(([, lines = '']) =>
    lines.trimEnd().split('\n'),
  )
  expect(examples.length).toBeGreaterThan(6)
  expect(examples.filter((line) => !own.includes(line))).toEqual([])
})

const LABELS = { rumor: ['rumor', 'non-rumor'], hate: ['hate', 'non-hate'], safety: ['unsafe', 'safe'] }
const outcome = ({ label, why }: GoldItem) => label ?? `left out: ${why}`

it.for<[Format, string, keyof typeof LABELS]>([
  ['rumoureval2017', 'rumoureval2017/threads', 'rumor'],
  ['covid19-rumor', 'covid19-rumor/threads', 'rumor'],
  ['hatecheck', 'hatecheck/cases', 'hate'],
  ['kodoli', 'kodoli/comments', 'hate'],
  ['openai-moderation', 'openai-moderation/samples', 'safety'],
  ['openai-moderation', 'openai-moderation/samples', 'hate'],
  ['airbench-text', 'airbench/only_text', 'safety'],
  ['airbench-image', 'airbench/only_img', 'safety'],
  ['airbench-both', 'airbench/text_img', 'safety'],
])('the counts of %s (%s) for %s are what the readers count', async ([format, name, protocol], context) => {
  const file = join(DATA, `${name}.jsonl`)
  if (!existsSync(file)) {
    tell(`SKIPPED: ${file} is not there; the page's counts were not compared with it.`)
    return context.skip('../shared/data is not there')
  }
  const gold = await goldOf(file, format, { name: protocol, labels: LABELS[protocol] }, () => {})
  const found = Map.groupBy(gold, outcome)
  const order = [...LABELS[protocol], ...[...found.keys()].filter((one) => one.startsWith('left out'))]
  const counts = told(Object.fromEntries(order.map((one) => [one, found.get(one)?.length ?? 0])))
  const section = sectionOf(format)
  if (protocol !== 'rumor') {
    expect(section).toContain(counts)
    expect(section).toContain(`${number(gold.length)} texts; `)
    return
  }
  let comments = 0
  for await (const { type } of fileMessages(file, format, () => {})) if (type === 'comment') comments++
  expect(section).toContain(`Counts: ${gold.length} threads, ${number(comments)} comments; ${counts}.`)
  const stances = { support: 0, deny: 0, query: 0, comment: 0 }
  for (const { stances: of } of gold)
    for (const stance of ['support', 'deny', 'query', 'comment'] as const) stances[stance] += of?.[stance] ?? 0
  expect(section).toContain(`Stances: ${told(stances)}`)
  const without = comments - Object.values(stances).reduce((sum, count) => sum + count, 0)
  if (without > 0) expect(section).toContain(`${without} comments have none`)
  const splits = Map.groupBy(gold, ({ split }) => split ?? '')
  if (!splits.has('')) {
    const named = ['train', 'dev', 'test'].map((split) => [split, splits.get(split)?.length ?? 0])
    expect(section).toContain(`Splits: ${told(Object.fromEntries(named))}.`)
  }
})
