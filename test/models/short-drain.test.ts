import { expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { shortDrain } from '../../src/models/time-limits.ts'

const told = (drain: string, tiers = '{}') =>
  shortDrain(loadSettings({ GAVEL_DRAIN: drain, GAVEL_MODELS_TIERS: tiers }))

test('a stop that ends before the longest call is told of', () => {
  expect(told('59s')).toMatchObject({
    drainMs: 59_000,
    callTimeoutMs: 60_000,
    advice: expect.stringMatching(/models\.callTimeout$/),
  })
  expect(told('60s')).toBeNull()
})

test('with a role on flex the longest call is as long as flexTimeout', () => {
  const flex = '{ describer: flex }'
  const advice = expect.stringMatching(/models\.flexTimeout$/)
  expect(told('60s', flex)).toMatchObject({ drainMs: 60_000, callTimeoutMs: 900_000, advice })
  expect(told('15m', flex)).toBeNull()
  expect(told('60s', '{ describer: priority }')).toBeNull()
})
