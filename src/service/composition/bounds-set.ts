import type { Settings } from '../../../config/schema.ts'
import { BUDGET_SCOPES, BUDGET_UNITS, type BudgetScope, type BudgetUnit } from '../ports/budgets.ts'
import type { LimitKind } from '../ports/limits.ts'

/** Which limits and budgets the settings set: of all others there is nothing to measure. */
export function boundsSet({ limits, budgets }: Pick<Settings, 'limits' | 'budgets'>): {
  readonly limits: readonly LimitKind[]
  readonly budgets: readonly { readonly scope: BudgetScope; readonly unit: BudgetUnit }[]
} {
  const some = (named: object) => Object.keys(named).length > 0
  const { verdict, tenant, tenants, total } = budgets
  const of = { verdict: [verdict], tenant: [tenant, ...Object.values(tenants)], total: [total] }
  return {
    limits: [
      ...(some(limits.models) ? (['model'] as const) : []),
      ...(some(limits.tenants) ? (['tenant'] as const) : []),
    ],
    budgets: BUDGET_SCOPES.flatMap((scope) =>
      BUDGET_UNITS.filter((unit) => of[scope].some((budget) => budget[unit] !== null)).map((unit) => ({ scope, unit })),
    ),
  }
}
