import { expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { onTier } from '../../../src/cli/tier.ts'

test('a tier holds for every role, and a case lasts as long as its slow calls', () => {
  const settings = loadSettings({ GAVEL_MODELS_TIERS: '{ judge: priority }' })
  expect(onTier(settings, undefined)).toBe(settings)
  const flex = onTier(settings, 'flex')
  expect(flex.models.tiers).toEqual({ default: 'flex' })
  expect(flex.cases.deadline).toBe(8 * settings.models.flexTimeout)
  expect(onTier(settings, 'priority').cases.deadline).toBe(settings.cases.deadline)
})
