import { expect, it } from 'vitest'
import type { ScopeLimits } from '../../src/contracts/ports/call-limits.ts'
import type { UsedShare } from '../../src/contracts/ports/report.ts'
import { usedCapacity } from '../../src/operations/capacity.ts'
import { memoryBudgets } from '../../src/store/budget/memory.ts'
import { memoryLimits } from '../../src/store/limit/memory.ts'
import { budgetSettings, purchase } from '../contracts/budgets.ts'
import { limitedCall } from '../support/limited-call.ts'

const clock = () => 1_000_000
const lines = (all: readonly UsedShare[]) =>
  all.map(({ scope, name, unit, share }) => `${scope} ${name} ${unit} ${share}`)

it('tells the used share of each limit and budget that is set, and nothing of those that are not', async () => {
  const limits = memoryLimits(clock)
  const models: Record<string, ScopeLimits> = {
    m: { callsPerMinute: 10, tokensPerMinute: 200 },
    default: { inFlight: 4 },
  }
  const tenants: Record<string, ScopeLimits> = { t: { callsPerMinute: 2 } }
  const budgets = budgetSettings({
    tenants: { t: { tokens: 1_000, usd: null } },
    total: { tokens: null, usd: 2, per: 3_600_000 },
  })
  const spending = memoryBudgets(budgets, clock)
  await limits.reserve([{ name: 'model:m', limits: models.m ?? {} }], limitedCall({ tokens: 50 }))
  await limits.reserve([{ name: 'model:other', limits: models.default ?? {} }], limitedCall({ tokens: 7 }))
  await spending.reserve(purchase({ tokens: 250, usd: 0.5 }, { tenant: 't' }))
  const used = usedCapacity({
    limits,
    budgets: spending,
    models: ['m', 'other'],
    settings: { limits: { models, tenants }, budgets },
  })
  const all = await used(['unlimited'])
  expect(lines(all.limits)).toEqual([
    'model m calls 0.1',
    'model m tokens 0.25',
    'model other in-flight 0.25',
    'tenant t calls 0',
  ])
  expect(lines(all.budgets)).toEqual(['total  usd 0.25', 'tenant t tokens 0.25'])
})

it('tells of ten tenants at most, those that have used most of anything', async () => {
  const budgets = budgetSettings({ tenant: { tokens: 100, usd: 1, per: 3_600_000 } })
  const spending = memoryBudgets(budgets, clock)
  const names = Array.from({ length: 20 }, (_, at) => `t${at}`)
  for (const [at, tenant] of names.entries())
    await spending.reserve(purchase(at === 3 ? { usd: 0.9 } : { tokens: at }, { tenant }))
  const used = usedCapacity({
    limits: memoryLimits(clock),
    budgets: spending,
    models: [],
    settings: { limits: { models: {}, tenants: {} }, budgets },
  })
  const told = [...new Set((await used(names)).budgets.map(({ name }) => name))]
  expect(told).toEqual(['t3', 't19', 't18', 't17', 't16', 't15', 't14', 't13', 't12', 't11'])
})
