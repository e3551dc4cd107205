import { grantsOf, may, type NamedGrant } from '../contracts/facts/person-roles.ts'
import type { Sessions } from './sessions.ts'

/** Most names that are offered. */
const MOST = 100

/** Whom a post of a tenant can be assigned to: those whom the settings name, and those who are signed in here. In order. */
export function reviewersOf(people: readonly NamedGrant[], sessions: Sessions): (tenant: string) => readonly string[] {
  const named = people.flatMap(({ who }) => (who.startsWith('person:') ? [who.slice('person:'.length)] : []))
  return (tenant) => {
    const known = [...new Set(named)].map((by) => ({ by, grants: grantsOf({ by, groups: [] }, people) }))
    const able = [...known, ...sessions.present()].filter(
      ({ grants }) => grants.length > 0 && may(grants, 'decide', tenant),
    )
    return [...new Set(able.map(({ by }) => by))].toSorted().slice(0, MOST)
  }
}
