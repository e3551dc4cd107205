import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { goldOf } from '../../../src/lab/evaluation/gold.ts'
import type { GoldItem } from '../../../src/lab/evaluation/gold-item.ts'
import { type SampleOptions, sampleOf } from '../../../src/lab/evaluation/sample.ts'
import { tell } from '../../support/pipeline.ts'

const HATE = { name: 'hatecheck', labels: ['hate', 'non-hate'] }

const item = (id: string, label: string | null, change: Partial<GoldItem> = {}): GoldItem => ({
  line: 1,
  id,
  label,
  unit: id,
  slices: {},
  ...(label === null ? { why: 'no label' } : {}),
  ...change,
})
const items = [
  ...Array.from({ length: 60 }, (_, at) => item(`h${at}`, 'hate')),
  ...Array.from({ length: 25 }, (_, at) => item(`n${at}`, 'non-hate')),
  ...Array.from({ length: 15 }, (_, at) => item(`x${at}`, null)),
]
const ids = (from: readonly GoldItem[], options: SampleOptions) => sampleOf(from, HATE, options).map(({ id }) => id)

describe('a sample', () => {
  it('is the same for a seed, on every machine and whatever the file’s order, and another for another seed', () => {
    const sample = ids(items, { seed: 7, size: 10 })
    // Fixed here: a later version that draws others would compare unlike with unlike.
    expect(sample).toEqual(FIRST_TEN)
    expect(ids(items.toReversed(), { seed: '7', size: 10 })).toEqual(sample)
    expect(ids(items, { seed: 8, size: 10 })).not.toEqual(sample)
  })

  it('grows by adding, and leaves out what has no label', () => {
    const small = ids(items, { seed: 7, size: 10 })
    expect(ids(items, { seed: 7, size: 40 }).slice(0, 10)).toEqual(small)
    const all = ids(items, { seed: 7 })
    expect(all).toHaveLength(85)
    expect(all.some((id) => id.startsWith('x'))).toBe(false)
  })

  it('keeps replies that are rated and have no label', () => {
    const { why: _, ...rated } = item('r', null, { ratings: { relevance: [3] } })
    expect(ids([rated], { seed: 1 })).toEqual(['r'])
  })

  it('that is balanced has as many of each label', () => {
    const count = (options: Omit<SampleOptions, 'seed'>) =>
      Map.groupBy(ids(items, { seed: 7, balanced: true, ...options }), (id) => id[0])
    const forty = count({ size: 40 })
    expect([forty.get('h')?.length, forty.get('n')?.length, forty.size]).toEqual([20, 20, 2])
    const most = count({})
    expect([most.get('h')?.length, most.get('n')?.length]).toEqual([25, 25])
    // Each class is drawn as in the sample that is not balanced.
    const hate = ids(items, { seed: 7 }).filter((id) => id.startsWith('h'))
    expect(forty.get('h')).toEqual(hate.slice(0, 20))
  })

  it('of more than there are is refused, with the numbers', () => {
    const refused = (options: Omit<SampleOptions, 'seed'>) => () => sampleOf(items, HATE, { seed: 7, ...options })
    expect(refused({ size: 86 })).toThrow('hatecheck has 85 items; 86 were asked for.')
    expect(refused({ size: 80, balanced: true })).toThrow('hatecheck has 25 non-hate; 40 a class were asked for.')
    expect(refused({ size: 200, balanced: true })).toThrow(
      'hatecheck has 60 hate and 25 non-hate; 100 a class were asked for.',
    )
    expect(refused({ size: 41, balanced: true })).toThrow('41 items can’t be divided equally among 2 labels.')
    const rated = { name: 'counterspeech', labels: [] }
    expect(() => sampleOf(items, rated, { seed: 7, balanced: true })).toThrow('its items have no labels')
    const hate = items.filter(({ label }) => label === 'hate')
    expect(() => sampleOf(hate, HATE, { seed: 7, balanced: true })).toThrow('hatecheck has 0 non-hate; 1 a class')
  })
})

it('of 400 balanced texts of HateCheck is 200 a class, for a seed always the same', async (context) => {
  const file = join(PROJECT, '..', 'shared', 'data', 'hatecheck', 'cases.jsonl')
  if (!existsSync(file)) {
    tell(`SKIPPED: ${file} is not there; no sample was drawn from real data.`)
    return context.skip('../shared/data is not there')
  }
  const all = await goldOf(file, 'hatecheck', { ...HATE, name: 'hate' }, () => {})
  const drawn = (size: number, from = all) => sampleOf(from, HATE, { seed: 1, size, balanced: true })
  const labels = Map.groupBy(drawn(400), ({ label }) => label)
  expect([labels.get('hate')?.length, labels.get('non-hate')?.length]).toEqual([200, 200])
  expect(drawn(400, all.toReversed())).toEqual(drawn(400))
  expect(() => drawn(1_200)).toThrow('hatecheck has 558 non-hate; 600 a class were asked for.')
})

describe('a split', () => {
  it('is the data set’s own where it has one', () => {
    const split = items.map((one, at) => ({ ...one, ...(at % 3 === 0 ? { split: 'dev' } : { split: 'train' }) }))
    const dev = ids(split, { seed: 7, split: 'dev' })
    expect(dev.toSorted()).toEqual(
      split.flatMap(({ id, why, split: own }) => (own === 'dev' && why === undefined ? [id] : [])).toSorted(),
    )
    expect(() => ids(split, { seed: 7, split: 'test' })).toThrow('hatecheck has no split "test", but: dev, train.')
  })

  it('is drawn by unit where it has none: no unit is in both, and the seed says which', () => {
    const grouped = items.map((one, at) => ({ ...one, unit: `author ${at % 20}` }))
    const [dev, test] = ['dev', 'test'].map((split) => sampleOf(grouped, HATE, { seed: 7, split }))
    const units = (of: readonly GoldItem[] = []) => new Set(of.map(({ unit }) => unit))
    expect([...units(dev)].filter((unit) => units(test).has(unit))).toEqual([])
    expect([units(dev).size, units(test).size]).toEqual([4, 16])
    expect((dev?.length ?? 0) + (test?.length ?? 0)).toBe(85)
    expect(ids(grouped.toReversed(), { seed: 7, split: 'dev' })).toEqual(dev?.map(({ id }) => id))
    expect(ids(grouped, { seed: 9, split: 'dev' })).not.toEqual(dev?.map(({ id }) => id))
    expect(units(sampleOf(grouped, HATE, { seed: 7, split: 'dev', devShare: 0.5 })).size).toBe(10)
  })

  it('that can’t be drawn is refused', () => {
    expect(() => ids(items, { seed: 7, split: 'train' })).toThrow(
      'hatecheck has no splits; "dev" and "test" can be drawn from it.',
    )
    const one = items.map((each) => ({ ...each, unit: 'one event' }))
    expect(() => ids(one, { seed: 7, split: 'dev' })).toThrow(
      'hatecheck has too few units for a "dev" split: 1 with 100 items.',
    )
  })
})

const FIRST_TEN = ['n18', 'h13', 'h31', 'h3', 'h7', 'h55', 'h27', 'h22', 'h53', 'h12']
