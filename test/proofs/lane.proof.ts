import { expect, it } from 'vitest'
import { fitLane } from '../../src/lab/lane/fit-lane.ts'
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
