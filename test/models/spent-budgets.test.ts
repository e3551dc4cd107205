import { expect, test } from 'vitest'
import type { BudgetRefusal } from '../../src/contracts/ports/budgets.ts'
import { spentBudgets } from '../../src/models/spent-budgets.ts'

function setUp() {
  let now = 0
  let whenSpent: 'hold' | 'degrade' = 'hold'
  const told: object[] = []
  const budgets = spentBudgets(
    (name, event) => void told.push({ name, ...event }),
    () => now,
    () => whenSpent,
  )
  return { ...budgets, told, pass: (ms: number) => (now += ms), degrade: () => (whenSpent = 'degrade') }
}
const refusal = (scope: BudgetRefusal['scope'], change: Partial<BudgetRefusal> = {}): BudgetRefusal => ({
  granted: false,
  scope,
  unit: 'tokens',
  why: 'spent',
  renewsInMs: 60_000,
  ...change,
})

test('a spent budget is told once, and once more when there is room after it has renewed', () => {
  const { refused, granted, told, pass } = setUp()
  for (let n = 0; n < 100; n++) refused(refusal('tenant'), 'acme')
  // A smaller call has room in what is left.
  granted('acme')
  pass(90_000)
  granted('other')
  expect(told).toEqual([
    {
      name: 'budget:spent',
      scope: 'tenant',
      unit: 'tokens',
      tenant: 'acme',
      renewsInSeconds: 60,
      advice: expect.stringContaining('budgets'),
    },
  ])
  granted('acme')
  granted('acme')
  expect(told.slice(1)).toEqual([
    { name: 'budget:renewed', scope: 'tenant', unit: 'tokens', tenant: 'acme', afterSeconds: 90 },
  ])
})

test('the total one is told by itself, and ends with any tenant’s call', () => {
  const { refused, granted, told, pass } = setUp()
  refused(refusal('tenant'), 'acme')
  refused(refusal('total', { unit: 'usd' }), 'acme')
  refused(refusal('total', { unit: 'usd' }), 'other')
  pass(60_000)
  granted('other')
  expect(told).toMatchObject([
    { name: 'budget:spent', scope: 'tenant' },
    { name: 'budget:spent', scope: 'total', unit: 'usd' },
    { name: 'budget:renewed', scope: 'total', afterSeconds: 60 },
  ])
})

test.each([
  ['a verdict’s own', refusal('verdict', { renewsInMs: null })],
  ['one that calls in flight may give enough back to', refusal('total', { why: 'in-flight' })],
  ['one that is too small for the call', refusal('total', { why: 'too-large', renewsInMs: null })],
])('%s is no spent budget', (_, one) => {
  const { refused, told } = setUp()
  refused(one, 'acme')
  expect(told).toEqual([])
})

test('a spent budget is told with what is done about it now, also after a reload', () => {
  const { refused, told, degrade } = setUp()
  refused(refusal('tenant'), 'acme')
  degrade()
  refused(refusal('total'), 'acme')
  expect(told).toMatchObject([
    { scope: 'tenant', advice: expect.stringContaining('Calls wait') },
    { scope: 'total', advice: expect.stringContaining('Verdicts leave without') },
  ])
})
