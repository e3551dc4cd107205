import { entryOf } from '../src/contracts/facts/entry-of.ts'
import type { Finding } from '../src/contracts/facts/finding.ts'
import { DEFAULT_ENDPOINT, placeOf } from '../src/contracts/facts/model-name.ts'
import type { Settings } from './schema.ts'

/**
 * A budget in dollars counts nothing of a model without a price, and never stops it. Broken where the settings refuse that, a
 * warning where they take such models for free; null where no budget is in dollars, or every model has a price.
 */
export function unpricedFinding(settings: Settings): Finding | null {
  const { budgets, models } = settings
  const inDollars = budgetsInDollars(settings)
  const unpriced = modelsInUse(settings).filter((name) => entryOf(models.prices, name) === undefined)
  if (inDollars.length === 0 || unpriced.length === 0) return null
  const named = inDollars.map((name) => `budgets.${name}.usd`).join(', ')
  return {
    what: 'budgets',
    state: budgets.unpriced === 'refuse' ? 'broken' : 'warning',
    detail: `${named} can't limit ${unpriced.join(', ')}: no price is set, so ${unpriced.length === 1 ? 'it counts' : 'they count'} as free`,
    todo: 'Set models.prices for each (0 where it is free), or a budget in tokens; budgets.unpriced: free takes them for free.',
  }
}

/** The budgets that are in dollars, by their names under `budgets`. */
export function budgetsInDollars({ budgets }: Settings): string[] {
  return [
    ...(['verdict', 'tenant', 'total'] as const).filter((name) => budgets[name].usd !== null),
    ...Object.entries(budgets.tenants).flatMap(([name, { usd }]) => (usd === null ? [] : [`tenants.${name}`])),
  ]
}

/** The same in one line, if it keeps a command from starting; null if nothing does. */
export function unpricedRefusal(settings: Settings): string | null {
  const finding = unpricedFinding(settings)
  return finding?.state === 'broken' ? `${finding.what}: ${finding.detail}. ${finding.todo}` : null
}

/** All models that some role may ask, each once. */
export function modelsInUse({ models }: Settings): string[] {
  return [...new Set(Object.values(models.roles).flat())]
}

/** Those of them that nobody can ask: they are the default endpoint's, which has no key. */
export function modelsWithoutKey(settings: Settings): string[] {
  if (settings.openai.apiKey !== '') return []
  return modelsInUse(settings).filter((model) => placeOf(model, settings.endpoints).endpoint === DEFAULT_ENDPOINT)
}
