import { expect, it } from 'vitest'
import { type ClosableRegistrar, callsDrain, closable, sideBySide } from '../../src/operations/closable.ts'

let closed: string[]
const part = (name: string, failure?: string) => ({
  async close() {
    closed.push(name)
    if (failure !== undefined) throw new Error(failure)
  },
})
function open(keep: ClosableRegistrar, failure?: string) {
  closed = []
  keep(part('first'))
  keep(part('second', failure))
  keep(part('third'))
}

it('closes last opened first, once', async () => {
  const whole = await closable(async (keep) => open(keep) ?? { name: 'whole' })
  await whole.close()
  await whole.close()
  expect([whole.name, ...closed]).toEqual(['whole', 'third', 'second', 'first'])
})

it('closes the others where one can’t be closed, and says why that could not', async () => {
  const whole = await closable(async (keep) => open(keep, 'stuck') ?? {})
  await expect(whole.close()).rejects.toThrow('stuck')
  expect(closed).toEqual(['third', 'second', 'first'])
})

it('leaves nothing open where the building fails, and says why it did', async () => {
  const building = closable(async (keep) => {
    open(keep, 'stuck')
    throw new Error('no broker')
  })
  await expect(building).rejects.toThrow('no broker')
  expect(closed).toEqual(['third', 'second', 'first'])
})

it('leaves what a part tells of itself as it is', async () => {
  let count = 0
  const whole = await closable(async () => ({
    get count() {
      return count
    },
  }))
  count = 2
  expect(whole.count).toBe(2)
})

it('closes also the part that it returns', async () => {
  closed = []
  const whole = await closable(async (keep) => {
    keep(part('first'))
    return keep(part('returned'))
  })
  await whole.close()
  expect(closed).toEqual(['returned', 'first'])
})

it('closes some side by side, before what was opened earlier, and says which could not be', async () => {
  const slow = Promise.withResolvers<void>()
  const whole = await closable(async (keep) => {
    keep(part('first'))
    const beside = sideBySide(keep)
    beside({ close: () => slow.promise.then(() => void closed.push('slow')) })
    beside(part('stuck', 'stuck'))
    return {}
  })
  closed = []
  const closing = whole.close()
  await Promise.resolve()
  expect(closed).toEqual(['stuck'])
  slow.resolve()
  await expect(closing).rejects.toThrow('stuck')
  expect(closed).toEqual(['stuck', 'slow', 'first'])
})

it('leaves calls what of a stop is left to them', () => {
  expect([callsDrain(20_000, 0), callsDrain(20_000, 5_000), callsDrain(6_000, 0), callsDrain(6_000, 9_000)]).toEqual([
    17_000, 12_000, 4_000, 0,
  ])
})
