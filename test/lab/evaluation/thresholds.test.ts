import fc from 'fast-check'
import { expect, test } from 'vitest'
import { carriedOver, ourThresholds, type TextWithScores } from '../../../src/lab/evaluation/thresholds.ts'

/** Ten texts: an old model and ours that agree in order, on other scales. */
const TEXTS: TextWithScores[] = [
  ...[0.95, 0.9, 0.8, 0.6].map((old) => ({ isPositive: true, old, ours: old / 2 })),
  { isPositive: false, old: 0.85, ours: 0.42 },
  ...[0.5, 0.4, 0.3, 0.2, 0.1].map((old) => ({ isPositive: false, old, ours: old / 2 })),
]

test('a threshold is carried over by share, recall and precision', () => {
  const [at] = carriedOver(TEXTS, [0.8])
  expect(at?.old).toEqual({ threshold: 0.8, flagged: 4, share: 0.4, precision: 0.75, recall: 0.75 })
  expect(at?.sameShare).toMatchObject({ threshold: 0.4, flagged: 4 })
  expect(at?.sameRecall).toMatchObject({ threshold: 0.4, recall: 0.75 })
  // The least strict that is right in three of four cases: it finds the fourth as well.
  expect(at?.samePrecision).toMatchObject({ threshold: 0.3, precision: 0.8, recall: 1 })
})

test('where ours are never right as often, no threshold is', () => {
  const ours = TEXTS.map((text) => ({ ...text, ours: 1 - text.ours }))
  expect(carriedOver(ours, [0.9])[0]?.samePrecision).toBeNull()
})

test('an old threshold that flags nothing asks for none that is right', () => {
  const [at] = carriedOver(TEXTS, [0.99])
  expect(at).toMatchObject({ old: { flagged: 0, precision: null, recall: 0 }, samePrecision: null })
  expect(at?.sameShare.flagged).toBe(1)
})

test('texts without an old score carry nothing over', () => {
  const without = TEXTS.map((text) => ({ ...text, old: null }))
  expect(carriedOver(without, [0.5])).toEqual([])
  expect(carriedOver([...without, ...TEXTS], [0.8])).toEqual(carriedOver(TEXTS, [0.8]))
})

test('what a threshold does is what counting says', () => {
  const text = fc.record({
    isPositive: fc.boolean(),
    old: fc.constant(null),
    ours: fc.integer({ min: 0, max: 20 }).map((score) => score / 20),
  })
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 30 }), (texts) => {
      const all = ourThresholds(texts)
      expect(all.map(({ threshold }) => threshold)).toEqual(
        [...new Set(texts.map(({ ours }) => ours))].sort((a, b) => b - a),
      )
      for (const { threshold, flagged, precision, recall } of all) {
        const some = texts.filter(({ ours }) => ours >= threshold)
        const right = some.filter(({ isPositive }) => isPositive).length
        const positive = texts.filter(({ isPositive }) => isPositive).length
        expect([flagged, precision, recall]).toEqual([
          some.length,
          right / some.length,
          positive === 0 ? 0 : right / positive,
        ])
      }
    }),
  )
})
