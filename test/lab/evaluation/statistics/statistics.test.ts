import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { entryOf } from '../../../../src/contracts/facts/entry-of.ts'
import { unjudged } from '../../../../src/lab/evaluation/outcomes.ts'
import { PRESETS } from '../../../../src/lab/evaluation/presets/all.ts'
import { repeatScores } from '../../../../src/lab/evaluation/repeat-scores.ts'
import {
  fleissKappa,
  humanCeiling,
  kappaInWords,
  krippendorffAlpha,
} from '../../../../src/lab/evaluation/statistics/agreement.ts'
import {
  calibrationError,
  reliability,
  riskAtBudget,
  riskCoverage,
} from '../../../../src/lab/evaluation/statistics/confidence.ts'
import {
  accuracyOf,
  classScores,
  confusionOf,
  coverageOf,
  macroF1Of,
  sumOf,
} from '../../../../src/lab/evaluation/statistics/confusion.ts'
import { kendallTauB, spearman } from '../../../../src/lab/evaluation/statistics/correlation.ts'
import { bootstrap, quantileOf, reachOf, wilson } from '../../../../src/lab/evaluation/statistics/intervals.ts'
import { ndcg, randomNdcg } from '../../../../src/lab/evaluation/statistics/ndcg.ts'
import { holm, pairedDifference, pairedPermutation } from '../../../../src/lab/evaluation/statistics/paired-tests.ts'
import { seededRandom } from '../../../../src/lab/evaluation/statistics/random.ts'

/** Values of scikit-learn, SciPy, statsmodels and krippendorff; `references.py` makes them. */
const references = JSON.parse(readFileSync(join(import.meta.dirname, 'references.json'), 'utf8'))
const close = (value: number | null | undefined, to: number, digits = 9) => expect(value).toBeCloseTo(to, digits)

const LABELS = ['a', 'b', 'c']
const pairsOf = (gold: string, predicted: string) =>
  [...gold].map((label, at) => ({ gold: label, predicted: predicted[at] === '-' ? null : (predicted[at] ?? null) }))

describe('classification', () => {
  const { gold, predicted, ...wanted } = references.classification
  const confusion = confusionOf(LABELS, pairsOf(gold, predicted))

  it('agrees with scikit-learn: accuracy, macro-F1, and precision, recall, F1 and support of each label', () => {
    close(accuracyOf(confusion), wanted.accuracy)
    close(macroF1Of(confusion), wanted.macroF1)
    for (const [at, label] of LABELS.entries()) {
      const scores = classScores(confusion, label)
      close(scores.precision, wanted.precision[at])
      close(scores.recall, wanted.recall[at])
      close(scores.f1, wanted.f1[at])
      expect(scores.support).toBe(wanted.support[at])
    }
  })

  it('counts an item without a label as wrong and as nobody’s false positive', () => {
    const some = confusionOf(LABELS, pairsOf('aabb', 'a-b-'))
    expect(accuracyOf(some)).toBe(0.5)
    expect(coverageOf(some)).toBe(0.5)
    expect(classScores(some, 'a')).toEqual({ precision: 1, recall: 0.5, f1: 2 / 3, support: 2 })
  })

  it('says null where nothing can be said', () => {
    const alike = confusionOf(LABELS, pairsOf('aab', 'aaa'))
    expect(classScores(alike, 'b')).toEqual({ precision: null, recall: 0, f1: 0, support: 1 })
    expect(classScores(alike, 'c')).toEqual({ precision: null, recall: null, f1: null, support: 0 })
    close(macroF1Of(alike), 0.4)
    expect([accuracyOf, macroF1Of, coverageOf].map((of) => of(confusionOf(LABELS, [])))).toEqual([null, null, null])
  })

  it('adds matrices up, and refuses a label that is none of its own', () => {
    const half = (from: number, to: number) =>
      confusionOf(LABELS, pairsOf(gold.slice(from, to), predicted.slice(from, to)))
    expect(sumOf(LABELS, [half(0, 20), half(20, 60)])).toEqual(confusion)
    expect(() => confusionOf(LABELS, pairsOf('d', 'a'))).toThrow('"d" is none of the labels a, b, c')
  })
})

describe('rank correlations', () => {
  it.each(['tied', 'untied'])('agree with SciPy on %s pairs, p-values too', (which) => {
    const { one, other, ...wanted } = references[which]
    const [rho, tau] = [spearman(one, other), kendallTauB(one, other)]
    close(rho.value, wanted.spearman.value)
    close(tau.value, wanted.kendall.value)
    expect((rho.pValue ?? 1) / wanted.spearman.pValue).toBeCloseTo(1, 5)
    expect((tau.pValue ?? 1) / wanted.kendall.pValue).toBeCloseTo(1, 5)
  })

  it('have p-values to 3 parts in 10⁷ of SciPy’s: jstat’s continued fraction ends there, so that some differ in the ninth digit', () => {
    const pOf = (n: number, step: number) => {
      const places = Array.from({ length: n }, (_, at) => at)
      return spearman(
        places,
        places.map((at) => (at * step) % n),
      ).pValue
    }
    // scipy.stats.spearmanr of these pairs (SciPy 1.17.1).
    const scipy = [
      [57, 17, 0.992745865533995],
      [54, 40, 0.7374911312179965],
      [45, 28, 0.9281330218653863],
      [59, 58, 3.2405789414800234e-22],
    ] as const
    const off = scipy.map(([n, step, p]) => Math.abs((pOf(n, step) ?? 0) - p))
    for (const [at, [, , p]] of scipy.entries()) expect(off[at]).toBeLessThan(3e-7 * p)
    // Were jstat to go further, the words beside `spearman` would be wrong.
    expect(Math.max(...off)).toBeGreaterThan(3e-9)
  })

  it('are null where one side is all alike, and ±1 where the order is the same or reversed', () => {
    expect(spearman([1, 1, 1], [1, 2, 3])).toEqual({ value: null, pValue: null })
    expect(kendallTauB([1, 2, 3], [2, 2, 2])).toEqual({ value: null, pValue: null })
    expect(kendallTauB([], []).value).toBeNull()
    const up = [1, 2, 3, 4, 5]
    close(spearman(up, up).value, 1)
    close(spearman(up, up).pValue, 0)
    close(kendallTauB(up, up.toReversed()).value, -1)
  })

  it('counts Kendall’s pairs as counting them one by one does', () => {
    const values = fc.array(fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 6 })), { minLength: 2 })
    fc.assert(
      fc.property(values, (pairs) => {
        let difference = 0
        const untied = [0, 0]
        for (const [at, [x, y]] of pairs.entries())
          for (const [otherX, otherY] of pairs.slice(at + 1)) {
            difference += Math.sign(x - otherX) * Math.sign(y - otherY)
            untied[0] = (untied[0] ?? 0) + Math.abs(Math.sign(x - otherX))
            untied[1] = (untied[1] ?? 0) + Math.abs(Math.sign(y - otherY))
          }
        const { value } = kendallTauB(
          pairs.map(([x]) => x),
          pairs.map(([, y]) => y),
        )
        if (untied.includes(0)) expect(value).toBeNull()
        else close(value, difference / Math.sqrt((untied[0] ?? 0) * (untied[1] ?? 0)))
      }),
      { seed: 3 },
    )
  })
})

describe('NDCG', () => {
  it('agrees with scikit-learn, equal scores too; a random order has what all-equal scores have', () => {
    const { gains, rows } = references.ndcg
    for (const { scores, value } of rows) close(ndcg(gains, scores), value)
    close(randomNdcg(gains), rows[2].value)
    expect(ndcg([0, 0], [1, 2])).toBeNull()
  })

  it('has on average, over orders drawn at random, the value of a random order', () => {
    const { gains } = references.ndcg
    const random = seededRandom('orders')
    const values = Array.from({ length: 4_000 }, () => ndcg(gains, random.shuffled([...gains.keys()])) ?? 0)
    close(values.reduce((sum, value) => sum + value, 0) / values.length, randomNdcg(gains) ?? 0, 2)
  })
})

describe('agreement', () => {
  it('agrees with statsmodels (Fleiss) and krippendorff (alpha, at each level)', () => {
    close(fleissKappa(references.fleiss.ratings), references.fleiss.kappa)
    for (const level of ['nominal', 'ordinal', 'interval'] as const)
      close(krippendorffAlpha(references.alpha.units, level), references.alpha[level])
  })

  it('has the words of PREDICT’s Table 5 for its κ: of its Table 1, each agent is consistent, and the five agree little', () => {
    expect([-0.01, 0, 0.2, 0.21, 0.4, 0.41, 0.6, 0.61, 0.8, 0.81, 1].map(kappaInWords)).toEqual([
      'poor',
      'slight',
      'slight',
      'fair',
      'fair',
      'moderate',
      'moderate',
      'substantial',
      'substantial',
      'almost perfect',
      'almost perfect',
    ])
    const inTable1 = (row: string, measure: string) => {
      const { figures = {} } =
        PRESETS.find(({ name }) => name === 'predict-table-1')?.rows.find(({ name }) => name === row) ?? {}
      return Object.values(figures).map((printed) => kappaInWords(entryOf(printed, measure) ?? Number.NaN))
    }
    // “All agents fall into the almost perfect category”; the majority’s five into “fair” or “moderate”.
    for (const agent of ['Agent_Base', 'Agent_A', 'Agent_B', 'Agent_C', 'Agent_D', 'Agent_E'])
      expect(inTable1(agent, 'kappa:repeats')).toEqual(Array(5).fill('almost perfect'))
    expect(inTable1('5-Agents majority vote', 'kappa:perspectives')).toEqual([
      'fair',
      'moderate',
      'fair',
      'moderate',
      'fair',
    ])
  })

  it('of five repeats is statsmodels’, and their means and deviations are scikit-learn’s and NumPy’s', () => {
    const { gold, labels, kappa, mean, sd } = references.repeats
    const outcomes = labels.flatMap((of: string[], at: number) =>
      of.map((label, item) => ({
        ...unjudged({ line: 0, id: `${item}`, unit: `${item}`, slices: {}, label: gold[item] }),
        label: label === '' ? null : label,
        ...(at === 0 ? {} : { repeat: at + 1 }),
      })),
    )
    const scores = repeatScores(outcomes, ['hate', 'non-hate'])
    close(scores?.kappa ?? null, kappa)
    for (const name of ['accuracy', 'macroF1']) {
      close(scores?.mean[name] ?? null, mean[name])
      close(scores?.sd[name] ?? null, sd[name])
    }
  })

  it('is null where only one value occurs, and says what its ratings lack', () => {
    expect(fleissKappa([[4, 0], [4, 0]])).toBeNull() // biome-ignore format: a table
    expect(krippendorffAlpha([[1, 1], [1, 1, 1]], 'nominal')).toBeNull() // biome-ignore format: a table
    expect(krippendorffAlpha([[1], [2]], 'nominal')).toBeNull()
    expect(() => fleissKappa([[2, 0], [2, 1]])).toThrow('Krippendorff') // biome-ignore format: a table
  })

  it('gives the ceiling that people themselves reach', () => {
    // One item of three alike, one two against one: of it two of three agree with a half of the others' tied votes.
    const ceiling = humanCeiling([['a', 'a', 'a'], ['a', 'a', 'b'], ['a']]) // biome-ignore format: a table
    expect(ceiling?.items).toBe(2)
    close(ceiling?.bestShare, (1 + 2 / 3) / 2)
    close(ceiling?.oneAgainstOthers, (1 + (0.5 + 0.5 + 0) / 3) / 2)
    expect(humanCeiling([['a']])).toBeNull()
  })
})

describe('confidence', () => {
  const items = [
    { confidence: 0.95, right: true },
    { confidence: 0.95, right: false },
    { confidence: 0.7, right: true },
    { confidence: 0.65, right: false },
    { confidence: 0, right: false },
  ]

  it('is compared with accuracy bin by bin', () => {
    // Bins: 0.9–1 (2 items, 0.95 against 0.5), 0.6–0.7 (2, 0.675 against 0.5), 0–0.1 (1, 0 against 0).
    expect(reliability(items).map(({ from, items: count, accuracy }) => [from, count, accuracy])).toEqual([
      [0, 1, 0],
      [0.6, 2, 0.5],
      [0.9, 2, 0.5],
    ])
    close(calibrationError(items), 0.4 * 0.45 + 0.4 * 0.175)
    expect(calibrationError([])).toBeNull()
  })

  it('orders what people review: risk falls with coverage, and items alike come together', () => {
    expect(riskCoverage(items)).toEqual([
      { coverage: 0.4, risk: 0.5 },
      { coverage: 0.6, risk: 1 / 3 },
      { coverage: 0.8, risk: 0.5 },
      { coverage: 1, risk: 0.6 },
    ])
    expect([0, 0.4, 0.8, 1].map((budget) => riskAtBudget(items, budget))).toEqual([0.6, 1 / 3, 0.5, null])
  })
})

describe('intervals', () => {
  it('Wilson’s agrees with statsmodels', () => {
    for (const { hits, items, low, high } of references.wilson) {
      close(wilson(hits, items)?.low, low)
      close(wilson(hits, items)?.high, high)
    }
    close(reachOf(40), 0.148, 3)
  })

  it('quantiles agree with NumPy', () => {
    const { values, shares, quantiles } = references.quantiles
    for (const [at, share] of shares.entries()) close(quantileOf(values, share), quantiles[at])
  })

  const mean = (sample: readonly number[]) => sample.reduce((sum, value) => sum + value, 0) / sample.length
  const few = Array.from({ length: 19 }, (_, at) => at)

  it('the bootstrap’s is that of Student’s t for a mean, nearly, and the same for the same seed', () => {
    const random = seededRandom('normal')
    const values = Array.from({ length: 25 }, () => random.unit() + random.unit() + random.unit())
    const of = (seed: string) =>
      bootstrap(values, mean, { random: seededRandom(seed), absent: '', kind: 'other', resamples: 8_000 })
    const deviation = Math.sqrt(
      values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0) / (values.length - 1),
    )
    const reach = (2.0639 * deviation) / Math.sqrt(values.length)
    const { interval } = of('one')
    expect(((interval?.high ?? 0) - (interval?.low ?? 0)) / (2 * reach)).toBeCloseTo(1, 1)
    expect(of('one')).toEqual(of('one'))
    expect(of('two')).not.toEqual(of('one'))
  })

  it('the bootstrap’s of a share of single items is Wilson’s, with Student’s t, nearly; of whole units it is wider', () => {
    const items = Array.from({ length: 120 }, (_, at) => (at % 6 === 0 ? 0 : 1))
    const of = <Unit>(units: readonly Unit[], statistic: (sample: readonly Unit[]) => number) =>
      bootstrap(units, statistic, { random: seededRandom('share'), absent: '', kind: 'share' }).interval
    const single = of(items, mean)
    close(single?.low, wilson(100, 120)?.low ?? 0, 2)
    close(single?.high, wilson(100, 120)?.high ?? 0, 2)
    // Twenty threads of six that are right or wrong together: as if there were twenty items.
    const threads = Array.from({ length: 24 }, (_, at) => Array<number>(5).fill(at % 6 === 0 ? 0 : 1))
    const clustered = of(threads, (sample) => mean(sample.flat()))
    close(clustered?.low, (wilson(20, 24)?.low ?? 0) - 0.01, 1)
    expect((clustered?.high ?? 0) - (clustered?.low ?? 0)).toBeGreaterThan(
      1.8 * ((single?.high ?? 0) - (single?.low ?? 0)),
    )
    const right = of(
      items.map(() => 1),
      mean,
    )
    close(right?.low, wilson(120, 120)?.low ?? 0, 2)
    expect(right?.high).toBe(1)
    // Forty texts asked five times each that by chance are all right two or three times say no more than 200 answers.
    const even = Array.from({ length: 40 }, (_, at) => [1, 1, at % 2, 0, 0])
    const repeated = bootstrap(even, (sample) => mean(sample.flat()), {
      random: seededRandom('repeated'),
      absent: '',
      kind: 'share',
      answers: 200,
    }).interval
    expect(repeated?.low).toBeLessThan(wilson(100, 200)?.low ?? 0)
    expect(repeated?.low).toBeGreaterThan((wilson(100, 200)?.low ?? 0) - 0.01)
    // Of a precision where thirty of the items were called so: what all resamples agree on rests on thirty.
    const how = { random: seededRandom('telling'), absent: '', kind: 'share' as const, telling: 30 }
    const called = items.map((_, at) => at % 4 === 0)
    const precision = bootstrap(called, (sample) => (sample.some((one) => one) ? 1 : null), how).interval
    // Wilson's lower end of 30 of 30, with Student's t of 29 degrees of freedom.
    close(precision?.low, 30 / (30 + 2.04523 ** 2), 4)
  })

  it('says why there is none: too few units, no value, resamples without one', () => {
    const how = { random: seededRandom(1), absent: 'nothing is there', kind: 'other' as const }
    expect(bootstrap(few, mean, how)).toEqual({
      value: 9,
      interval: null,
      why: 'no interval: 19 sampled units are fewer than 20',
    })
    expect(bootstrap(few, () => null, how)).toEqual({ value: null, interval: null, why: 'nothing is there' })
    const rare = (sample: readonly number[]) => (sample.includes(0) ? 1 : null)
    expect(bootstrap([...few, 19, 20], rare, how).why).toBe('no interval: too many resamples have no value')
  })
})

describe('comparisons', () => {
  it('agree with statsmodels: McNemar’s exact test and Holm’s adjustment', () => {
    const mcNemar = ({ onlyFirst, onlySecond }: { onlyFirst: number; onlySecond: number }) =>
      pairedPermutation([...Array<number>(onlyFirst).fill(1), 0, ...Array<number>(onlySecond).fill(-1)])
    for (const { p, ...pair } of references.mcnemar) close(mcNemar(pair), p)
    expect(mcNemar({ onlyFirst: 0, onlySecond: 0 })).toBe(1)
    // By Python's fractions: 2 * sum(comb(n, k) for k <= the fewer) / 2 ** n.
    const small = [
      [3, 57, 6.253851603243987e-14],
      [120, 0, 1.504632769052528e-36],
      [40, 70, 0.005447429511444482],
    ] as const
    for (const [onlyFirst, onlySecond, p] of small) expect(mcNemar({ onlyFirst, onlySecond }) / p).toBeCloseTo(1, 9)
    for (const [at, p] of holm(references.holm.pValues).entries()) close(p, references.holm.adjusted[at])
  })

  it('pair the units: what is hard for both is no difference', () => {
    const units = Array.from({ length: 40 }, (_, at) => ({ before: at % 7, after: (at % 7) + 0.5 }))
    const mean = (key: 'before' | 'after') => (sample: readonly (typeof units)[number][]) =>
      sample.reduce((sum, unit) => sum + unit[key], 0) / sample.length
    const { value, interval } = pairedDifference(
      units,
      { first: mean('before'), second: mean('after') },
      { random: seededRandom(1), absent: '' },
    )
    close(value, 0.5)
    close(interval?.low, 0.5)
    close(interval?.high, 0.5)
  })
})

describe('random numbers', () => {
  it('are the same for the same seed, on every machine', () => {
    const random = seededRandom('gavel')
    expect(Array.from({ length: 6 }, () => random.below(100))).toEqual(FIRST_DRAWS)
    expect(seededRandom('gavel').shuffled([1, 2, 3, 4, 5]).toSorted()).toEqual([1, 2, 3, 4, 5])
  })
})

/** What xoroshiro128+ from the SHA-256 of "gavel" gave when this was written: recordings and reports rest on it. */
const FIRST_DRAWS = [28, 68, 99, 26, 8, 61]
