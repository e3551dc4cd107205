import type { Redis } from 'ioredis'
import { modelsInUse } from '../../../config/models.ts'
import type { Settings } from '../../../config/schema.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { Finding } from '../../contracts/facts/finding.ts'
import type { Events, Report } from '../../contracts/ports/report.ts'
import type { ProcessRole } from '../../operations/identity.ts'
import type { Keys } from '../../store/redis/keys.ts'
import type { RedisPart } from './redis.ts'

const [FRESH, KNOWN] = ['fresh', 'known'] as const
const DAY_MS = 86_400_000

/**
 * Whether this deployment had published nothing when one of its processes first started. What the first of them found is kept in
 * Redis; of one that has published before, or read of its topics, an emptied Redis says the same.
 */
async function isFreshDeployment(
  client: Redis,
  { fresh }: Pick<Keys, 'fresh'>,
  found: { readonly published: boolean; readonly positions: ReadonlyMap<string, string> },
): Promise<boolean> {
  const hasRead = [...found.positions.values()].some((offset) => BigInt(offset) > 0n)
  await client.set(fresh, found.published || hasRead ? KNOWN : FRESH, 'NX')
  return (await client.get(fresh)) === FRESH
}

/** The settings as they bind: of a fresh deployment that sets no total budget, with a day's dollars as such. */
export function boundedIfFresh(settings: Settings, isFresh: boolean): Settings {
  const { budgets } = settings
  const { fresh: usd, total } = budgets
  if (!isFresh || usd === null || total.usd !== null || total.tokens !== null) return settings
  return { ...settings, budgets: { ...budgets, total: { tokens: null, usd, per: DAY_MS } } }
}

/** The settings as they bind now, of a service in these roles; whether a day's dollars bind them is said once. */
export async function boundedNow(
  now: () => Settings,
  roles: readonly ProcessRole[],
  {
    redis: { failFast, keys },
    report,
    ...found
  }: {
    readonly redis: Pick<RedisPart, 'failFast' | 'keys'>
    readonly published: boolean
    readonly positions: ReadonlyMap<string, string>
    readonly report: Report
  },
): Promise<() => Settings> {
  // Whichever process starts first notes it: by the time of the first judge intake may have read long.
  const isFresh = await isFreshDeployment(failFast, keys, found)
  const spends = roles.includes('judge') || roles.includes('door')
  const bounded = () => boundedIfFresh(now(), isFresh && spends)
  if (bounded() !== now()) report('budget:fresh', freshBudget(bounded()))
  return bounded
}

/** The same for who only looks: by what Redis keeps of the first start. */
export async function boundedAsKept(
  client: Redis,
  { fresh }: Pick<Keys, 'fresh'>,
  now: () => Settings,
): Promise<() => Settings> {
  const isFresh = (await client.get(fresh)) === FRESH
  return () => boundedIfFresh(now(), isFresh)
}

/** What is said of it at the start. */
export function freshBudget(settings: Settings): Events['budget:fresh'] {
  const { total, whenSpent } = settings.budgets
  const then = { hold: 'cases wait until then', degrade: 'verdicts leave without what it would have paid for' }
  return {
    usd: total.usd ?? 0,
    free: modelsInUse(settings).filter((model) => entryOf(settings.models.prices, model) === undefined),
    advice: `Nothing was published before, and no total budget is set: models cost at most so much a day; ${then[whenSpent]} once it is spent. Models in "free" have no price and count as free. "gavel capacity" says what a day of your stream costs. Set budgets.total.usd, or budgets.fresh: null for none.`,
  }
}

/** For the doctor: what a day may cost at most. `state`: what Redis keeps, null before the first start. */
export function dayFinding(settings: Settings, state: string | null): Finding {
  const { total, fresh } = settings.budgets
  const what = "a day's cost"
  if (total.usd !== null || total.tokens !== null) return { what, state: 'ok', detail: 'is bounded by budgets.total' }
  if (state !== KNOWN && fresh !== null)
    return {
      what,
      state: 'ok',
      detail: `is at most $${fresh} (budgets.fresh), as nothing ${state === null ? 'has been' : 'had been'} published before the first start`,
      todo: 'Can wait. "gavel capacity" says what a day of your stream costs: set budgets.total.usd by that.',
    }
  return {
    what,
    state: 'ok',
    detail: 'is bounded by nothing',
    todo: 'Advice: a total budget makes a mistake cost one day’s money:\n    budgets: { total: { usd: DOLLARS } }',
  }
}
