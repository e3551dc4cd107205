import type { BudgetRefusal, BudgetScope, BudgetUnit } from '../contracts/ports/budgets.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { Report } from '../contracts/ports/report.ts'

interface Spent {
  readonly scope: BudgetScope
  readonly unit: BudgetUnit
  readonly since: number
  readonly renewsAt: number
}

/** Most budgets whose state is remembered; the oldest go first. */
const MOST = 1_000

/** Reports once that a tenant's budget or the total one is spent, and once that there is room again after it has renewed. */
export function spentBudgets(report: Report, clock: Clock, whenSpent: () => 'hold' | 'degrade') {
  const spent = new Map<string, Spent>()
  const ofTotal = 'total'
  const ofTenant = (tenant: string) => `tenant:${tenant}`
  const advice = () =>
    whenSpent() === 'hold'
      ? 'Calls wait until it renews. Raise it in budgets, or see which tenant spends it: gavel top.'
      : 'Verdicts leave without what it would have paid for. Raise it in budgets, or see who spends it: gavel top.'

  return {
    refused({ scope, unit, why, renewsInMs }: BudgetRefusal, tenant: string): void {
      if (scope === 'verdict' || why !== 'spent' || renewsInMs === null) return
      const name = scope === 'total' ? ofTotal : ofTenant(tenant)
      if (spent.has(name)) return
      const now = clock()
      spent.set(name, { scope, unit, since: now, renewsAt: now + renewsInMs })
      for (const oldest of spent.keys()) {
        if (spent.size <= MOST) break
        spent.delete(oldest)
      }
      const renewsInSeconds = Math.round(renewsInMs / 1000)
      report('budget:spent', {
        scope,
        unit,
        ...(scope === 'tenant' ? { tenant } : {}),
        renewsInSeconds,
        advice: advice(),
      })
    },
    granted(tenant: string): void {
      if (spent.size === 0) return
      for (const name of [ofTotal, ofTenant(tenant)]) {
        const one = spent.get(name)
        if (one === undefined || clock() < one.renewsAt) continue
        spent.delete(name)
        const { scope, unit, since } = one
        const afterSeconds = Math.round((clock() - since) / 1000)
        report('budget:renewed', { scope, unit, ...(scope === 'tenant' ? { tenant } : {}), afterSeconds })
      }
    },
  }
}

export type SpentBudgets = ReturnType<typeof spentBudgets>
