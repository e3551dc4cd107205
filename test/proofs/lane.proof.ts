import { expect, it } from 'vitest'
import { seededRandom } from '../../src/lab/evaluation/statistics/random.ts'
import { fitLane } from '../../src/lab/lane/fit-lane.ts'
import { laneEvidence } from '../../src/record/lane-evidence.ts'
import { isBroken, PLANTED, type PlantedKind, plantedItems } from '../lab/lane/planted-decider.ts'
import { tell } from '../support/pipeline.ts'

/**
 * A decider of which it is known how often it is right, miscalibrated by a known curve: how often is any of the thresholds wrong more
 * often than it promises? At most in 5 % of fits, and so in at most 6.5 % of seeds 0 to 999.
 */
const SEEDS = 1_000
const DELTA = 0.05
const MOST_BROKEN = 0.065
/** Enough that something can be promised at each risk, and chance decides what. */
const ITEMS = [
  [0.01, 10_000],
  [0.05, 2_000],
  [0.1, 1_000],
] as const

const KINDS = Object.keys(PLANTED) as PlantedKind[] // The keys are its own.

it.each(KINDS.flatMap((kind) => ITEMS.map(([risk, count]) => ({ kind, risk, count }))))(
  'of a decider that is $kind, a promised risk of $risk is broken in at most 6.5 % of fits',
  ({ kind, risk, count }) => {
    const promise = { risk, delta: DELTA, coverage: 0.1 }
    let [broken, accepted, coverage] = [0, 0, 0]
    for (let seed = 0; seed < SEEDS; seed++) {
      const fit = fitLane(plantedItems(kind, risk, { seed, count }), promise, seed)
      broken += Number(isBroken(kind, fit))
      accepted += Number(fit.accepted)
      coverage += fit.coverage
    }
    const percent = (share: number) => `${((100 * share) / SEEDS).toFixed(1)} %`
    tell(
      `${kind}, risk ${risk}, ${count} items: broken ${percent(broken)}, accepted ${percent(accepted)}, settled on average ${percent(coverage)}`,
    )
    expect(broken / SEEDS).toBeLessThanOrEqual(MOST_BROKEN)
    if (kind === 'ordinary') expect(accepted / SEEDS).toBeGreaterThan(0.8)
  },
)

/** What the page of quality says: so many audited verdicts after a drift it takes, in 19 of 20 cases. */
const NOTICED = [
  { risk: 0.05, good: 0.02, bad: 0.1, within: 1_050 },
  { risk: 0.02, good: 0.02, bad: 0.1, within: 260 },
] as const
const BEFORE = 1_000

/** Audited verdicts of four groups, of which these shares are wrong, one after the other. */
function auditedOf(seed: number, parts: readonly (readonly [count: number, wrong: number])[]) {
  const random = seededRandom(`audited ${seed}`)
  return parts.flatMap(([count, wrong]) =>
    Array.from({ length: count }, () => ({
      group: String(Math.floor(4 * random.unit())),
      chance: 0.02,
      isWrong: random.unit() < wrong,
    })),
  )
}

it.each(NOTICED)(
  'a lane that promises $risk, and of which $bad are wrong after $good, closes itself within $within audited verdicts in 19 of 20 seeds',
  ({ risk, good, bad, within }) => {
    const closes = (parts: Parameters<typeof auditedOf>[1]) => {
      let closed = 0
      for (let seed = 0; seed < SEEDS; seed++)
        closed += Number(laneEvidence(auditedOf(seed, parts), { risk, groups: 4 }) >= 1 / DELTA)
      return closed / SEEDS
    }
    const percent = (share: number) => `${(100 * share).toFixed(1)} %`
    const [early, drifted] = [
      closes([[BEFORE, good]]),
      closes([
        [BEFORE, good],
        [within, bad],
      ]),
    ]
    // Just as often wrong as promised: no lane that keeps its promise closes more often.
    const falsely = closes([[BEFORE + within, risk]])
    tell(
      `promised ${percent(risk)}: ${percent(good)} wrong, closed in ${percent(early)} of seeds; then ${percent(bad)}, in ${percent(drifted)} within ${within}; ${percent(risk)} wrong, closed falsely in ${percent(falsely)} within ${BEFORE + within}`,
    )
    expect(drifted).toBeGreaterThanOrEqual(0.95)
    expect(falsely).toBeLessThanOrEqual(MOST_BROKEN)
    expect(early).toBeLessThanOrEqual(MOST_BROKEN)
  },
)
