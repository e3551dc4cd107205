import { describe, expect, it } from 'vitest'
import { noComments } from '../../../src/contracts/facts/verdict.ts'
import { compare } from '../../../src/lab/evaluation/against.ts'
import { type Evaluation, emptyCell, estimateOf } from '../../../src/lab/evaluation/evaluation.ts'
import type { ItemOutcome } from '../../../src/lab/evaluation/outcomes.ts'
import { ratingScores } from '../../../src/lab/evaluation/rating-scores.ts'
import { kappaOfVotes, repeatScores } from '../../../src/lab/evaluation/repeat-scores.ts'
import { drawnTable } from '../../../src/lab/evaluation/report/cells.ts'
import { labelScores } from '../../../src/lab/evaluation/scores.ts'

const LABELS = ['hate', 'non-hate']
function outcome(id: number, gold: string | null, label: string | null, over: Partial<ItemOutcome> = {}): ItemOutcome {
  return {
    id: `p${id}`,
    unit: `p${id}`,
    slices: {},
    gold,
    label,
    scores: {},
    confidence: null,
    rationale: '',
    degraded: [],
    usage: { calls: 1, tokens: 100, costUsd: 0, sequence: 1 },
    comments: noComments(),
    heldOut: { own: 0, nearDuplicates: 0 },
    shelves: { searched: 0, bare: {} },
    ...over,
  }
}
/** 12 hits of 20 hateful ones and 2 without a label; 15 hits of 20 others. */
const MIXED = [
  ...Array.from({ length: 20 }, (_, at) => outcome(at, 'hate', at < 12 ? 'hate' : at < 18 ? 'non-hate' : null)),
  ...Array.from({ length: 20 }, (_, at) => outcome(100 + at, 'non-hate', at < 15 ? 'non-hate' : 'hate')),
]

describe('the scores of labels', () => {
  it('are of all items: one without a label is wrong, and nobody’s false positive', () => {
    const { accuracy, macroF1, coverage, classes, confusion, units, reach } = labelScores(MIXED, LABELS, '1')
    expect(accuracy.value).toBe(27 / 40)
    expect(coverage).toBe(38 / 40)
    expect(confusion.counts).toEqual([
      [12, 6, 2],
      [5, 15, 0],
    ])
    expect(classes[0]).toMatchObject({ precision: { value: 12 / 17 }, recall: { value: 12 / 20 }, support: 20 })
    expect(macroF1.value).toBeCloseTo(((2 * 12) / (20 + 17) + (2 * 15) / (20 + 21)) / 2, 12)
    expect(units).toEqual({ count: 40, are: 'items' })
    expect(reach).toBeCloseTo(0.148, 3)
    // Of single items it is nearly Wilson's: 52.0 to 79.9.
    const { low = 1, high = 0 } = accuracy.interval ?? {}
    expect(Math.abs(low - 0.52)).toBeLessThan(0.02)
    expect(Math.abs(high - 0.799)).toBeLessThan(0.02)
  })

  it('weigh what was drawn at random by the inverse of its chance, and leave out what people chose', () => {
    expect(labelScores(MIXED, LABELS, '1').drawn).toBeNull()
    const drawn = [
      outcome(1, 'hate', 'hate', { chance: 0.1 }),
      outcome(2, 'hate', 'non-hate', { chance: 0.5 }),
      outcome(3, 'non-hate', 'non-hate', { chance: 0.5 }),
      outcome(1, 'hate', null, { chance: 0.1, repeat: 2 }),
    ]
    const { drawn: own, accuracy } = labelScores([...MIXED, ...drawn], LABELS, '1')
    expect(own).toMatchObject({ items: 3, accuracy: expect.closeTo(12 / 14, 12) })
    expect(own?.effective).toBeLessThan(3)
    expect(own?.interval.low).toBeLessThan(12 / 14)
    expect(own?.interval.high).toBeGreaterThan(12 / 14)
    expect(accuracy.value).toBe(29 / 44)
    const cell = { ...emptyCell('rumor', 'gold', '', {}), why: null, labels: labelScores(drawn, LABELS, '1') }
    const shown = drawnTable({ table: [cell], data: [{}] } as unknown as Evaluation) // drawnTable reads these fields alone
    expect(shown?.rows).toEqual([['rumor', '3', expect.any(String), expect.stringMatching(/^85\.7 \[/)]])
    const none = { table: [{ ...cell, labels: labelScores(MIXED, LABELS, '1') }], data: [{}] }
    expect(drawnTable(none as unknown as Evaluation)).toBeNull() // drawnTable reads these fields alone
  })

  it('of one class alone are its recall, and no macro-F1', () => {
    const benign = labelScores(MIXED.slice(20), LABELS, '1')
    expect(benign).toMatchObject({
      oneClass: 'non-hate',
      accuracy: { value: 15 / 20 },
      macroF1: { value: null, why: 'all items are non-hate' },
    })
    expect(labelScores(MIXED, LABELS, '1').oneClass).toBeNull()
  })

  it('have intervals over the groups that were sampled together, and none with fewer than 20 of them', () => {
    const grouped = MIXED.map((one, at) => ({ ...one, unit: `event ${at % 4}` }))
    const few = labelScores(grouped, LABELS, '1')
    expect(few.units).toEqual({ count: 4, are: 'groups' })
    expect(few.accuracy).toEqual({
      value: 27 / 40,
      interval: null,
      why: 'no interval: 4 sampled units are fewer than 20',
    })
  })

  it('count an item that was judged several times once, and its verdicts all', () => {
    const thrice = [1, 2, 3].flatMap((repeat) => MIXED.map((one) => (repeat === 1 ? one : { ...one, repeat })))
    const sliced = thrice.map((one, at) => ({ ...one, slices: { language: at % 40 < 15 ? 'ko' : 'en' } }))
    const { items, units, reach, accuracy, confusion, slices } = labelScores(sliced, LABELS, '1')
    expect({ items, units }).toEqual({ items: 40, units: { count: 40, are: 'items' } })
    expect(reach).toBeCloseTo(0.148, 3)
    expect(accuracy.value).toBe(27 / 40)
    expect(confusion.counts[0]).toEqual([36, 18, 6])
    expect(slices.map((slice) => [slice.value, slice.items, slice.accuracy])).toEqual([
      ['en', 25, 15 / 25],
      ['ko', 15, null],
    ])
  })

  it('say in words what can’t be computed', () => {
    const allAlike = MIXED.map((one) => ({ ...one, label: 'non-hate' }))
    const { classes } = labelScores(allAlike, LABELS, '1')
    expect(classes[0]?.precision).toEqual({ value: null, interval: null, why: 'nothing was called hate' })
    expect(labelScores([], LABELS, '1').accuracy).toMatchObject({ value: null, why: 'no items' })
  })

  it('tell slices apart, and score none with fewer than 20 items', () => {
    const sliced = MIXED.map((one, at) => ({ ...one, slices: { language: at < 15 ? 'ko' : 'en' } }))
    expect(labelScores(sliced, LABELS, '1').slices).toEqual([
      {
        by: 'language',
        value: 'en',
        items: 25,
        accuracy: 15 / 25,
        interval: expect.objectContaining({ method: 'Wilson' }),
      },
      { by: 'language', value: 'ko', items: 15, accuracy: null, interval: null },
    ])
  })

  it('tell how sure verdicts are and how much people agree', () => {
    const sure = MIXED.map((one, at) => ({ ...one, confidence: at % 2 === 0 ? 0.9 : 0.6 }))
    const { confidence } = labelScores(sure, LABELS, '1')
    expect(confidence).toMatchObject({ items: 38, review: { budget: 0.2 } })
    expect(confidence?.calibrationError).toBeGreaterThan(0)
    const several = MIXED.map((one) => ({ ...one, annotations: ['hate', 'hate', 'non-hate'] }))
    const { people } = labelScores(several, LABELS, '1')
    expect(people).toMatchObject({
      items: 40,
      best: expect.closeTo(2 / 3, 12),
      oneAgainstOthers: expect.closeTo(1 / 3, 12),
    })
    // Two of three say what 17 verdicts say, one of three what 21 do, none what 2 without a label do.
    expect(people?.verdicts).toBeCloseTo((17 * (2 / 3) + 21 / 3) / 40, 12)
  })
})

describe('the scores of repeats and votes', () => {
  it('are the deviation of accuracies and the agreement of labels', () => {
    const twice = [
      outcome(1, 'hate', 'hate'),
      outcome(2, 'hate', 'hate'),
      outcome(1, 'hate', 'hate', { repeat: 2 }),
      outcome(2, 'hate', 'non-hate', { repeat: 2 }),
    ]
    const scores = repeatScores(twice, LABELS)
    expect(scores).toMatchObject({
      repeats: 2,
      mean: { accuracy: 0.75 },
      sd: { accuracy: expect.closeTo(Math.sqrt(0.125), 12) },
    })
    // P = 1/2, Pe = (3/4)² + (1/4)² = 5/8.
    expect(scores?.kappa).toBeCloseTo((0.5 - 5 / 8) / (1 - 5 / 8), 12)
    expect(repeatScores([outcome(1, 'hate', 'hate')], LABELS)).toBeNull()
    // The third has lost a voter, and is left out.
    const votes = [
      [4, 1],
      [0, 5],
      [2, 2],
    ].map((of, at) => outcome(at, 'hate', 'hate', { votes: of }))
    // P = (12/20 + 1)/2, Pe = 0.4² + 0.6².
    expect(kappaOfVotes(votes)).toBeCloseTo((0.8 - 0.52) / (1 - 0.52), 12)
  })
})

describe('the scores of ratings', () => {
  it('correlate scores with the mean of people’s ratings, count what has no score, and say when all are alike', () => {
    const ratings = new Map([1, 2, 3, 4, 5].map((at) => [`p${at}`, { relevance: [at, at], coherence: [3, 3] }]))
    const rated = [1, 2, 3, 4, 5].map((at) =>
      outcome(at, null, null, {
        ratings: { relevance: at, coherence: 3 },
        scores: at === 5 ? {} : { relevance: 5 - at, coherence: 3 },
      }),
    )
    const [coherence, relevance] = ratingScores(rated, ratings, '1')
    expect(relevance).toMatchObject({ aspect: 'relevance', items: 4, unscored: 1, spearman: { value: -1 }, alpha: 1 })
    expect(relevance?.ndcg).toBeLessThan(relevance?.randomNdcg ?? 0)
    expect(relevance).toMatchObject({ byStatement: null, trials: null })
    expect(coherence?.spearman).toEqual({ value: null, interval: null, why: 'people rated all items alike' })
  })
})

it('the mean of a correlation is over the aspects, and not over the rating of the whole', () => {
  const rated = [1, 2, 3, 4].map((at) =>
    outcome(at, null, null, {
      ratings: { relevance: at, coherence: at, unified: at },
      scores: { relevance: at, coherence: 5 - at, unified: at },
    }),
  )
  const given = { relevance: [1], coherence: [1], unified: [1] }
  const aspects = ratingScores(rated, new Map(rated.map(({ id }) => [id, given])), '1')
  const cell = { ...emptyCell('row', 'data', ''), aspects }
  expect(estimateOf(cell, 'spearman:mean')?.value).toBeCloseTo(0, 12)
  expect(estimateOf(cell, 'spearman:unified')?.value).toBeCloseTo(1, 12)
})

describe('a comparison', () => {
  const run = (outcomes: readonly ItemOutcome[]) => ({ outcomes, counts: { items: outcomes.length } })

  it('counts what only one run has, and pairs the rest by id', () => {
    const { onlyBefore, onlyNow, differences } = compare(run(MIXED.slice(0, 30)), run(MIXED.slice(10).toReversed()), {
      margin: 0.03,
      seed: '1',
    })
    expect({ onlyBefore, onlyNow }).toEqual({ onlyBefore: 10, onlyNow: 10 })
    expect(differences).toEqual([expect.objectContaining({ of: 'all', items: 20, pValue: 1, alarm: false })])
  })

  it('alarms neither on a large change that chance could have made, nor on one beyond chance within the margin', () => {
    const small = MIXED.slice(0, 4).map((one) => ({ ...one, label: 'non-hate' }))
    expect(compare(run(MIXED.slice(0, 4)), run(small), { margin: 0.03, seed: '1' }).alarm).toBe(false)
    const better = MIXED.map((one) => ({ ...one, label: one.gold }))
    expect(compare(run(MIXED), run(better), { margin: 0.5, seed: '1' }).alarm).toBe(false)
    expect(compare(run(MIXED), run(better), { margin: 0.03, seed: '1' }).alarm).toBe(true)
  })

  it('takes an item that was judged several times as one pair, and not as so many', () => {
    const repeated = (label: (at: number) => string, repeats: number) =>
      Array.from({ length: repeats }, (_, nth) =>
        Array.from({ length: 4 }, (__, at) =>
          outcome(at, 'hate', label(at), nth === 0 ? {} : { repeat: nth + 1, unit: `p${at}` }),
        ),
      ).flat()
    const right = repeated(() => 'hate', 5)
    const wrong = repeated(() => 'non-hate', 5)
    const { differences, onlyBefore, onlyNow, alarm } = compare(run(right), run(wrong), { margin: 0.03, seed: '1' })
    expect({ onlyBefore, onlyNow, alarm }).toEqual({ onlyBefore: 0, onlyNow: 0, alarm: false })
    // Four items of four: 2 × 0.5⁴. Twenty pairs would have been beyond chance.
    expect(differences[0]).toMatchObject({ items: 4, before: 1, now: 0, pValue: expect.closeTo(0.125, 12) })
    // Every repeat counts, not the last one alone.
    const once = repeated((at) => (at === 0 ? 'hate' : 'non-hate'), 1)
    const mixed = [...once, ...repeated(() => 'non-hate', 2).slice(4)]
    expect(compare(run(mixed), run(once), { margin: 0.03, seed: '1' }).differences[0]).toMatchObject({
      items: 4,
      before: expect.closeTo(0.125, 12),
      now: 0.25,
    })
  })

  it('alarms where people’s labels were changed in between', () => {
    const relabelled = MIXED.map((one, at) => (at === 0 ? { ...one, gold: 'non-hate' } : one))
    const { alarm, shown } = compare(run(MIXED), run(relabelled), { margin: 0.03, seed: '1' })
    expect({ alarm, shown }).toEqual({ alarm: true, shown: ['gold labels: 1 of 40 items have another than before'] })
  })
})
