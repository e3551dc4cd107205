import { expect, test } from 'vitest'
import { costCurve } from '../../src/lab/evaluation/cost-curve.ts'
import { tell } from '../support/pipeline.ts'
import { plantedCells, RIGHT_ROW } from '../support/planted-curve.ts'

const SEEDS = Array.from({ length: Number(process.env.GAVEL_PROOF_SEEDS ?? 100) }, (_, at) => `seed ${at + 1}`)

test('before a planted model the curve names the right row of 400 items, and says that 40 are too few', () => {
  const named = (items: number) =>
    SEEDS.map((seed) => costCurve(plantedCells(seed, items).cells, seed)?.cheapest ?? null)
  for (const [items, right] of [
    [400, RIGHT_ROW],
    [40, null],
  ] as const) {
    const rows = named(items)
    const counts = [...Map.groupBy(rows, String)].map(
      ([row, all]) => `${row === 'null' ? 'too few' : row} ${all.length}`,
    )
    tell(`${items} items, ${SEEDS.length} seeds: ${counts.join(', ')}`)
    expect(rows.filter((row) => row === right).length / SEEDS.length).toBeGreaterThanOrEqual(0.9)
  }
}, 3_600_000)
