import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LeastFirst } from '../../../src/contracts/facts/least-first.ts'

const STEPS = fc.array(
  fc.record({ nth: fc.nat(12), of: fc.integer({ min: -5, max: 5 }), kind: fc.constantFrom('put', 'remove') }),
  { maxLength: 60 },
)

test('the least of those that are in is first, whatever comes, changes and leaves', () => {
  fc.assert(
    fc.property(STEPS, (steps) => {
      const items = Array.from({ length: 13 }, (_, nth) => ({ nth, of: 0 }))
      const inside = new Set<(typeof items)[number]>()
      const least = new LeastFirst<(typeof items)[number]>(
        (one, other) => (one.of - other.of || one.nth - other.nth) < 0,
      )
      for (const { nth, of, kind } of steps) {
        const item = items[nth]
        if (item === undefined) continue
        if (kind === 'put') {
          item.of = of
          inside.add(item)
          least.put(item)
        } else {
          inside.delete(item)
          least.remove(item)
        }
        const [first] = [...inside].toSorted((one, other) => one.of - other.of || one.nth - other.nth)
        expect(least.first).toBe(first)
        expect(least.isEmpty).toBe(inside.size === 0)
      }
    }),
  )
})
