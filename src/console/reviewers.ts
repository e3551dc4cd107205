import { grantsOf, may, type NamedGrant, tenantsOf } from '../contracts/facts/person-roles.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { ReviewQueue } from '../contracts/ports/review.ts'
import type { Sessions } from './sessions.ts'

/** Most of those who decided of late; and how far back they did, in ms. */
const [MOST, RECENT_MS] = [100, 7 * 86_400_000]

/** Whom a post of a tenant can be assigned to. */
export interface KnownReviewers {
  readonly namesOf: (tenant: string) => Promise<readonly string[]>
  /** The same of all tenants that this person may see. */
  readonly namesOfAll: (tenants: readonly string[] | undefined) => Promise<readonly string[]>
  /** There is nobody else: the settings name each person, and no group, whose people are known once they sign in. */
  readonly areAll: boolean
}

/**
 * Whom a post of a tenant can be assigned to: those whom the settings name, those who are signed in here, and those who decided on
 * posts of the tenant of late. In order.
 */
export function reviewersOf(
  people: readonly NamedGrant[],
  { sessions, queue, clock }: { sessions: Sessions; queue: Pick<ReviewQueue, 'deciders'>; clock: Clock },
): KnownReviewers {
  const named = people.flatMap(({ who }) => (who.startsWith('person:') ? [who.slice('person:'.length)] : []))
  const areAll = named.length > 0 && named.length === people.length
  const namesOf = async (tenant: string) => {
    const known = [...new Set(named)].map((by) => ({ by, grants: grantsOf({ by, groups: [] }, people) }))
    const able = [...known, ...sessions.present()].filter(
      ({ grants }) => grants.length > 0 && may(grants, 'decide', tenant),
    )
    // Of them it is not known whether they still may; who is not among all who may does not.
    const recent = areAll ? [] : await queue.deciders(tenant, clock() - RECENT_MS, MOST)
    return [...new Set([...able.map(({ by }) => by), ...recent])].toSorted()
  }
  const namesOfAll = async (tenants: readonly string[] | undefined) => {
    if (tenants !== undefined) return [...new Set((await Promise.all(tenants.map(namesOf))).flat())].toSorted()
    // Of who sees all tenants nobody has the list: whoever decides for any of them is known.
    const anywhere = [
      ...sessions.present(),
      ...named.map((by) => ({ by, grants: grantsOf({ by, groups: [] }, people) })),
    ]
    const able = anywhere.filter(({ grants }) => tenantsOf(grants, 'decide')?.length !== 0)
    return [...new Set([...able.map(({ by }) => by), ...(await namesOf('default'))])].toSorted()
  }
  return { namesOf, namesOfAll, areAll }
}
