import type { Settings } from '../../config/schema.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import {
  BUDGET_SCOPES,
  BUDGET_UNITS,
  type BudgetScope,
  type BudgetSettings,
  type Budgets,
  type BudgetUnit,
  sharedAccount,
} from '../contracts/ports/budgets.ts'
import type { CallLimits, LimitKind, ScopeLimits } from '../contracts/ports/call-limits.ts'
import type { UsedShare } from '../contracts/ports/report.ts'
import { longestCaseMs } from '../judging/engine/deadline.ts'

/** Most tenants that are reported: of those that were looked at, the ones that have used most. */
const MOST_TENANTS = 10

/**
 * How much of the limits and budgets is used, as shares (1 is all), where there are any: of every model that is called,
 * of everything together, and of those tenants that have settings of their own or are given, the fullest ten.
 */
export function usedCapacity(deps: {
  limits: Pick<CallLimits, 'usage'>
  budgets: Pick<Budgets, 'total' | 'tenant'>
  /** Names under which models are called. */
  models: readonly string[]
  settings: {
    /** By name; `default` is for the rest. */
    readonly limits: Readonly<Record<'models' | 'tenants', Readonly<Record<string, ScopeLimits>>>>
    readonly budgets: BudgetSettings
  }
}) {
  const { limits, budgets, models, settings } = deps

  async function ofLimits(scope: 'model' | 'tenant', names: readonly string[]): Promise<UsedShare[]> {
    const all = settings.limits[`${scope}s`]
    const limited = names.flatMap((name) => {
      const own = entryOf(all, name) ?? all.default
      return own === undefined ? [] : [{ name, own }]
    })
    const used = await limits.usage(limited.map(({ name }) => `${scope}:${name}`))
    return limited.flatMap(({ name, own: { callsPerMinute, tokensPerMinute, inFlight } }, at) => [
      ...share(scope, name, 'calls', used[at]?.calls, callsPerMinute),
      ...share(scope, name, 'tokens', used[at]?.tokens, tokensPerMinute),
      ...share(scope, name, 'in-flight', used[at]?.inFlight, inFlight),
    ])
  }

  async function ofBudget(tenant: string | null): Promise<UsedShare[]> {
    const account = sharedAccount(settings.budgets, tenant)
    if (account === undefined) return []
    const balance = await (tenant === null ? budgets.total() : budgets.tenant(tenant))
    const { tokens, nanoUsd } = account.limit
    const [scope, name] = tenant === null ? (['total', ''] as const) : (['tenant', tenant] as const)
    return [
      ...share(scope, name, 'tokens', balance?.used.tokens, tokens),
      ...share(scope, name, 'usd', balance?.used.usd, nanoUsd === null ? null : nanoUsd / 1e9),
    ]
  }

  return async (tenants: readonly string[]): Promise<{ limits: UsedShare[]; budgets: UsedShare[] }> => {
    const named = [...Object.keys(settings.limits.tenants), ...Object.keys(settings.budgets.tenants)]
    const looked = [...new Set([...named.filter((name) => name !== 'default'), ...tenants])]
    const [byModel, byTenant, total, tenantBudgets] = await Promise.all([
      ofLimits('model', models),
      ofLimits('tenant', looked),
      ofBudget(null),
      Promise.all(looked.map(ofBudget)),
    ])
    return { limits: [...byModel, ...fullest(byTenant)], budgets: [...total, ...fullest(tenantBudgets.flat())] }
  }
}

function share(
  scope: UsedShare['scope'],
  name: string,
  unit: UsedShare['unit'],
  used: number | undefined,
  most: number | null | undefined,
): UsedShare[] {
  return used === undefined || most === null || most === undefined || most === 0
    ? []
    : [{ scope, name, unit, share: used / most }]
}

/** Everything about the tenants that have used most of anything. */
function fullest(all: readonly UsedShare[]): UsedShare[] {
  const byTenant = Map.groupBy(all, ({ name }) => name)
  const most = (of: readonly UsedShare[]) => Math.max(...of.map(({ share: used }) => used))
  return [...byTenant.values()]
    .sort((a, b) => most(b) - most(a))
    .slice(0, MOST_TENANTS)
    .flat()
}

/** Limits and budgets as they are now: `now` gives other settings after a reload. */
export function boundSettings(settings: Settings, now = () => settings) {
  return {
    get limits() {
      return now().limits
    },
    budgets: budgetSettings(settings, now),
  }
}

/** Budgets as they are now. */
export function budgetSettings(settings: Settings, now = () => settings): BudgetSettings {
  const { cases } = settings
  return {
    get verdict() {
      return now().budgets.verdict
    },
    get tenant() {
      return now().budgets.tenant
    },
    get tenants() {
      return now().budgets.tenants
    },
    get total() {
      return now().budgets.total
    },
    get share() {
      return now().shares.tenant
    },
    keepVerdictMs: longestCaseMs(cases) + cases.deadline,
  }
}

/** Which limits and budgets the settings set: of all others there is nothing to measure. */
export function configuredBounds({ limits, budgets }: Pick<Settings, 'limits' | 'budgets'>): {
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
