import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { unpricedFinding, unpricedRefusal } from '../../config/models.ts'
import { withModel } from '../../src/app/commands/with-model.ts'
import { startApp } from '../../src/app/composition/service.ts'

const given = (changes: Record<string, string>) =>
  loadSettings({ OPENAI_API_KEY: 'k', GAVEL_LOG_LEVEL: 'silent', ...changes })
const ROLES = { GAVEL_MODELS_ROLES: '{"default": ["mine"], "judge": ["gpt-4o", "other"]}' }

describe('a budget in dollars beside a model without a price', () => {
  test.each<[string, Record<string, string>, string]>([
    ['a verdict’s', { GAVEL_BUDGETS_VERDICT_USD: '1' }, 'budgets.verdict.usd'],
    ['every tenant’s', { GAVEL_BUDGETS_TENANT_USD: '1' }, 'budgets.tenant.usd'],
    ['one tenant’s', { GAVEL_BUDGETS_TENANTS: '{"small": {"tokens": null, "usd": 1}}' }, 'budgets.tenants.small.usd'],
    [
      'the total',
      { GAVEL_BUDGETS_TOTAL_USD: '1', GAVEL_BUDGETS_VERDICT_USD: '0.5' },
      'budgets.verdict.usd, budgets.total.usd',
    ],
  ])('is named, with the models: %s', (_, budget, named) => {
    const finding = unpricedFinding(given({ ...ROLES, ...budget }))
    expect(finding).toMatchObject({ what: 'budgets', state: 'broken' })
    expect(finding?.detail).toMatch(new RegExp(`^${named} can't limit mine, other: `))
  })

  test.each<[string, Record<string, string>]>([
    ['no budget is in dollars', { ...ROLES, GAVEL_BUDGETS_TOTAL_TOKENS: '1000' }],
    ['every model has a price', { GAVEL_BUDGETS_TOTAL_USD: '1' }],
    [
      'a model is free by its price',
      {
        GAVEL_MODELS_ROLES: '{"default": ["mine"]}',
        GAVEL_MODELS_PRICES: '{"mine": {"prompt": 0, "cached": 0, "completion": 0}}',
        GAVEL_BUDGETS_TOTAL_USD: '1',
      },
    ],
  ])('is none where %s', (_, changes) => {
    expect(unpricedFinding(given(changes))).toBeNull()
  })

  test('keeps the service and commands from starting, unless the settings take such models for free', async () => {
    const refused = given({ ...ROLES, GAVEL_BUDGETS_TOTAL_USD: '1' })
    const said: string[] = []
    const terminal = { out() {}, say: (line: unknown) => said.push(String(line)), progress() {} }
    await expect(startApp(refused, ['judge'])).rejects.toThrow(
      /budgets\.total\.usd can't limit mine, other.*models\.prices/,
    )
    await expect(withModel(refused, { terminal }, async () => 1)).rejects.toThrow(/can't limit mine, other/)
    // A process that asks no model has nothing to do with it; here it fails for the want of Redis.
    await expect(startApp(given({ ...ROLES, GAVEL_BUDGETS_TOTAL_USD: '1' }), ['publish'])).rejects.toThrow(/Redis/)

    const free = given({ ...ROLES, GAVEL_BUDGETS_TOTAL_USD: '1', GAVEL_BUDGETS_UNPRICED: 'free' })
    expect([unpricedFinding(free)?.state, unpricedRefusal(free)]).toEqual(['warning', null])
    expect(await withModel(free, { terminal }, async () => 1)).toBe(1)
    expect(said).toEqual([expect.stringMatching(/^budgets: budgets\.total\.usd can't limit mine, other/)])
  })

  test('no name from outside passes for a price', () => {
    const roles = { GAVEL_MODELS_ROLES: '{"default": ["constructor"]}', GAVEL_BUDGETS_TOTAL_USD: '1' }
    expect(unpricedFinding(given(roles))?.detail).toContain("can't limit constructor")
  })

  test('the case that was handed in is refused', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gavel-unpriced-'))
    const file = join(folder, 'budget.yaml')
    writeFileSync(
      file,
      [
        'models: { roles: { default: [my-model], arbiter: [my-model], describer: [my-model], curator: [my-model] } }',
        'budgets: { whenSpent: degrade, verdict: { usd: 0.000001 }, tenant: { usd: 0.000001, per: 1h }, total: { usd: 0.000001, per: 1d } }',
      ].join('\n'),
    )
    try {
      const finding = unpricedFinding(loadSettings({ OPENAI_API_KEY: 'x' }, file))
      expect(finding?.detail).toMatch(
        /^budgets\.verdict\.usd, budgets\.tenant\.usd, budgets\.total\.usd can't limit my-model: /,
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
