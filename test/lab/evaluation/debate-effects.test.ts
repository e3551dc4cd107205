import { describe, expect, it } from 'vitest'
import { tell } from '../../support/pipeline.ts'
import { gateCurve, PLANTS, type PlantedDebate, plantedDebates } from '../../support/planted-debate.ts'

const ITEMS = 400

describe.each(Object.entries(PLANTS))('a planted debate that %s', (name, plant) => {
  it('is reported item by item as it was planted, under every gate', async () => {
    const planted = await plantedDebates(plant, ITEMS)
    const { items, cells } = planted
    tell(`Perspectives disagree on ${plant.disagree}, repaired ${plant.repair}, broken ${plant.break}; ${ITEMS} items:`)
    for (const line of gateCurve(planted)) tell(`  ${line}`)

    const count = (of: (item: PlantedDebate) => boolean) => items.filter(of).length
    const [repaired, broken] = [count(({ fate }) => fate === 'repaired'), count(({ fate }) => fate === 'broken')]
    const disagreed = count(({ disagree }) => disagree)
    // A plant in which both are alike would not tell before from after.
    expect(repaired).not.toBe(broken)
    const changed = (over: object) => ({
      repaired,
      broken,
      undecided: { before: 0, after: 0 },
      ...over,
    })
    const kept = (right: boolean, of = items) =>
      of.filter(({ fate, majority }) => fate === 'unchanged' && majority === right).length
    const contested = items.filter(({ disagree }) => disagree)

    const [always, ofAlways, ...others] = cells.always.debates ?? []
    expect(always).toMatchObject(
      changed({ cause: 'all', items: ITEMS, unchanged: { right: kept(true), wrong: kept(false) } }),
    )
    expect(ofAlways).toMatchObject({ ...always, cause: 'always' })
    expect(others).toEqual([])
    const byCause = new Map(cells.contested.debates?.map((effect) => [effect.cause, effect]))
    expect([...byCause.keys()].sort()).toEqual(['all', 'contested', 'unanimous'])
    expect(byCause.get('contested')).toMatchObject(
      changed({ items: disagreed, unchanged: { right: kept(true, contested), wrong: kept(false, contested) } }),
    )
    expect(byCause.get('unanimous')).toMatchObject({
      repaired: 0,
      broken: 0,
      items: ITEMS - disagreed,
      usdPerRepair: null,
    })
    expect(cells.never.debates?.[0]).toMatchObject({
      repaired: 0,
      broken: 0,
      unchanged: { right: count((item) => item.majority) },
    })

    const { usage, usdPerRepair } = byCause.get('all') ?? {}
    const debateCalls = (cells.always.debates?.[0]?.usage.calls ?? 0) / ITEMS
    expect(usage?.calls).toBe(disagreed * debateCalls)
    expect(usdPerRepair).toBe((usage?.costUsd ?? 0) / repaired)
    expect(usdPerRepair).toBeGreaterThan(0)
    expect(Math.round(cells.contested.perItem.calls * ITEMS)).toBe(3 * ITEMS + (usage?.calls ?? 0))

    const rightUnder = (gate: keyof typeof cells) => Math.round((cells[gate].labels?.accuracy.value ?? 0) * ITEMS)
    expect(rightUnder('contested') - rightUnder('never')).toBe(repaired - broken)
    expect(repaired > broken).toBe(name === 'pays')
    for (const { id, debated, label, gold } of cells.contested.outcomes) {
      const item = items.find((one) => one.id === id)
      expect([debated?.before === gold, label === gold]).toEqual([item?.majority, item?.judge])
    }
  }, 120_000)
})
