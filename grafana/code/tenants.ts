import { type Choice, dashboardOf } from './dashboard.ts'
import { lines, stat, table } from './panels.ts'

const TENANT: Choice = { name: 'tenant', label: 'Tenant', series: 'gavel_tenant_open_cases', of: 'tenant', multi: true }

/** Who loads it: the ten tenants with most open cases, and the fullest of their limits and budgets. */
export const tenants = () =>
  dashboardOf(
    {
      uid: 'gavel-tenants',
      title: 'Tenants',
      says: 'Which tenants load it, and whether one takes from the others. Only the ten with most open cases have series of their own; the dashboards of the others have all together.',
    },
    [TENANT],
    [
      {
        asks: 'Who loads it?',
        panels: [
          stat(
            {
              title: 'Share of the greatest tenant',
              says: 'Its open cases divided by those of the ten greatest, 0 where fewer than two tenants have some open: of one alone it would always be all. Above 80 % with more than 100 open: a flood, and an alert; the others still get their turns.',
              unit: 'percentunit',
              w: 6,
              runbooks: ['GavelTenantFlood'],
            },
            { orange: 0.5, red: 0.8 },
            {
              share:
                'max(gavel_tenant_open_cases) / (sum(max by (tenant) (gavel_tenant_open_cases)) > 0) * on () (count(max by (tenant) (gavel_tenant_open_cases) > 0) > bool 1)',
            },
          ),
          stat(
            {
              title: 'Tenants with open cases',
              says: 'How many of the ten greatest tenants have cases open now; at 10 there may be more.',
              unit: 'short',
              w: 6,
            },
            { from: 'blue' },
            { tenants: 'count(max by (tenant) (gavel_tenant_open_cases) > 0) or vector(0)' },
          ),
          stat(
            {
              title: 'Fullest limit of a tenant',
              says: 'Share of limits.tenants that the last minute used, of the tenant that is nearest to its own. At 1 its calls wait, and nobody else’s.',
              off: 'not set up',
              unit: 'percentunit',
              w: 6,
            },
            { orange: 0.8, red: 1 },
            { used: 'max(gavel_limit_used_ratio{scope="tenant"})' },
          ),
          stat(
            {
              title: 'Fullest budget of a tenant',
              says: 'Share of budgets.tenants that is used in its period, of the tenant that is nearest to its own.',
              off: 'not set up',
              unit: 'percentunit',
              w: 6,
              runbooks: ['GavelBudgetSpent'],
            },
            { orange: 0.8, red: 1 },
            { used: 'max(gavel_budget_used_ratio{scope="tenant"})' },
          ),
          lines(
            {
              title: 'Open cases by tenant',
              says: 'Open cases of the ten tenants that have most. One that towers above the rest floods; see its runbook for what can be done.',
              unit: 'short',
              w: 12,
              runbooks: ['GavelTenantFlood'],
            },
            { '{{tenant}}': 'max by (tenant) (gavel_tenant_open_cases{tenant=~"$tenant"})' },
            { stacked: true, values: true },
          ),
          table(
            {
              title: 'Tenants at a glance',
              says: 'Open cases of each of the ten greatest tenants, and its share of all that are open.',
              unit: 'short',
              h: 8,
              runbooks: ['GavelTenantFlood'],
            },
            { tenant: 'Tenant' },
            [
              { name: 'Open cases', expr: 'max by (tenant) (gavel_tenant_open_cases{tenant=~"$tenant"})', decimals: 0 },
              {
                name: 'Share',
                expr: 'max by (tenant) (gavel_tenant_open_cases{tenant=~"$tenant"}) / on () group_left () (sum(max by (tenant) (gavel_tenant_open_cases)) > 0)',
                unit: 'percentunit',
                colours: { orange: 0.5, red: 0.8 },
              },
            ],
            'Open cases',
          ),
        ],
      },
      {
        asks: 'What have they left?',
        panels: [
          lines(
            {
              title: 'Limits used by tenant',
              says: 'Share of its limit that each of the ten fullest tenants used in the last minute, by unit. At 1 its calls wait.',
              off: 'not set up',
              unit: 'percentunit',
              w: 12,
            },
            { '{{name}} {{unit}}': 'max by (name, unit) (gavel_limit_used_ratio{scope="tenant", name=~"$tenant"})' },
            { max: 1 },
          ),
          lines(
            {
              title: 'Budgets used by tenant',
              says: 'Share of its budget that each of the ten fullest tenants has used in the present period, by unit.',
              off: 'not set up',
              unit: 'percentunit',
              w: 12,
              runbooks: ['GavelBudgetSpent'],
            },
            { '{{name}} {{unit}}': 'max by (name, unit) (gavel_budget_used_ratio{scope="tenant", name=~"$tenant"})' },
            { max: 1 },
          ),
        ],
      },
    ],
  )
