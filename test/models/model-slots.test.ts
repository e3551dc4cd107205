import { expect, test } from 'vitest'
import { modelSlots } from '../../src/models/model-slots.ts'

test('a slot that is given back twice counts once', async () => {
  const slots = modelSlots({ slots: 2, minTimeout: null, latencyTolerance: null }, Date.now)
  const { signal } = new AbortController()
  const [one] = [await slots.take('small', signal), await slots.take('small', signal)]
  one.free()
  one.free()
  expect(slots.busy).toBe(1)
  await slots.take('small', signal)
  expect(slots.busy).toBe(2)
})
