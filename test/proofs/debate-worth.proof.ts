import { expect, test } from 'vitest'
import { tell } from '../support/pipeline.ts'
import { gateCurve, PLANTS, plantedDebates } from '../support/planted-debate.ts'

// What a debate is worth by when it is held: the calls of three gates before a planted model, and the repairs that each keeps. Of one
// plant the debate pays, of the other it loses.

const ITEMS = Number(process.env.GAVEL_PROOF_ITEMS ?? 2_000)

test.each(Object.entries(PLANTS))(
  'calls against repairs kept, where the debate %s',
  async (name, plant) => {
    const planted = await plantedDebates(plant, ITEMS)
    const disagreed = planted.items.filter(({ disagree }) => disagree)
    const share = (fate: string) =>
      ((100 * disagreed.filter((item) => item.fate === fate).length) / disagreed.length).toFixed(1)
    tell(
      `${name}: ${ITEMS} items, perspectives disagree on ${disagreed.length}, of which ${share('repaired')} % are repaired and ${share('broken')} % broken`,
    )
    for (const line of gateCurve(planted)) tell(`  ${line}`)
    const [all] = planted.cells.contested.debates ?? []
    expect([all?.repaired, all?.broken]).toEqual(
      ['repaired', 'broken'].map((fate) => disagreed.filter((item) => item.fate === fate).length),
    )
  },
  3_600_000,
)
