import { describe, expect, it } from 'vitest'
import { type RatingPair, statementScores, trialsOf } from '../../../src/lab/evaluation/statement-scores.ts'
import { spearman } from '../../../src/lab/evaluation/statistics/correlation.ts'
import { seededRandom } from '../../../src/lab/evaluation/statistics/random.ts'

const pairsOf = (unit: string, ...pairs: [people: number, score: number][]): RatingPair[] =>
  pairs.map(([people, score]) => ({ unit, people, score }))

describe('scores by statement (Auto-CSEval, equation 3)', () => {
  it('are means over statements, whatever the statements differ in among each other', () => {
    const scores = statementScores(
      [
        // In order, turned round, and half: ρ 1, −1 and 0.5. Pooled they would be another number.
        ...pairsOf('a', [1, 1], [2, 2], [3, 3]),
        ...pairsOf('b', [1, 5], [2, 4], [3, 3]),
        ...pairsOf('c', [1, 1], [2, 3], [3, 2]),
        // All scores alike, and a statement with one reply: no ρ.
        ...pairsOf('d', [1, 2], [5, 2]),
        ...pairsOf('e', [4, 4]),
      ],
      '1',
    )
    expect(scores).toMatchObject({ statements: 4, alike: 1 })
    expect(scores?.spearman.value).toBeCloseTo((1 - 1 + 0.5) / 3, 12)
    // Σ gain ÷ log2(rank + 1), over that of the best order; ties share their mean.
    const log = Math.log2(3)
    const best = 3 + 2 / log + 1 / 2
    const ndcg = [1, (1 + 2 / log + 3 / 2) / best, (2 + 3 / log + 1 / 2) / best, (3 + 3 / log) / (5 + 1 / log)]
    expect(scores?.ndcg.value).toBeCloseTo(ndcg.reduce((sum, one) => sum + one, 0) / 4, 12)
    const random = (2 + 2 / log + 2 / 2) / best
    expect(scores?.randomNdcg).toBeCloseTo((3 * random + (3 + 3 / log) / (5 + 1 / log)) / 4, 12)
    expect(statementScores(pairsOf('a', [1, 1]), '1')).toBeNull()
  })
})

describe('trials (Auto-CSEval, appendix D)', () => {
  const pairs = (count: number): RatingPair[] => {
    const random = seededRandom('trials')
    return Array.from({ length: count }, (_, at) => {
      const people = 1 + random.below(5)
      return { unit: `u${at}`, people, score: people + random.below(3) }
    })
  }

  it('are three of each size from 100 on in steps of 500: 39 on 6,100 items', () => {
    expect(trialsOf(pairs(99))).toBeNull()
    expect(trialsOf(pairs(100))?.trials).toBe(3)
    expect(trialsOf(pairs(599))?.trials).toBe(3)
    expect(trialsOf(pairs(600))?.trials).toBe(6)
    expect(trialsOf(pairs(6_100))).toMatchObject({ trials: 39, mean: expect.closeTo(0.86, 1) })
  })

  it('have a deviation, and none where all samples are the whole', () => {
    expect(trialsOf(pairs(100))?.sd).toBeCloseTo(0, 12)
    expect(trialsOf(pairs(700))?.sd).toBeGreaterThan(0.001)
    // Three different samples, not one of them thrice; the deviation is the sample's (n − 1).
    const samples = [1, 2, 3].map((seed) => {
      const sample = seededRandom(`trial ${seed} of 100`).shuffled(pairs(599)).slice(0, 100)
      return (
        spearman(
          sample.map(({ people }) => people),
          sample.map(({ score }) => score),
        ).value ?? 0
      )
    })
    expect(new Set(samples).size).toBe(3)
    const mean = samples.reduce((sum, rho) => sum + rho, 0) / 3
    const squares = samples.reduce((sum, rho) => sum + (rho - mean) ** 2, 0)
    expect(trialsOf(pairs(599))).toEqual({ trials: 3, mean, sd: Math.sqrt(squares / 2) })
    expect(trialsOf(pairs(200).map((pair) => ({ ...pair, score: 3 })))).toBeNull()
  })
})
