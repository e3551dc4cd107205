import { expect, test } from 'vitest'
import { modelSlots } from '../../src/models/model-slots.ts'

const REST = { serviceClass: 'rest', tenant: 'default' } as const

test('a slot that is given back twice counts once', async () => {
  const slots = modelSlots(
    { slots: 2, classes: { waiting: 0.25, rest: 0.5 }, minTimeout: null, latencyTolerance: null },
    Date.now,
  )
  const { signal } = new AbortController()
  const [one] = [await slots.take('small', REST, signal), await slots.take('small', REST, signal)]
  one.free()
  one.free()
  expect(slots.busy).toBe(1)
  await slots.take('small', REST, signal)
  expect(slots.busy).toBe(2)
})
