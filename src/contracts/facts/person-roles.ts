/** What people may do here; each role may also do what those before it may. */
export const ROLES = ['viewer', 'moderator', 'lead', 'admin'] as const
export type PersonRole = (typeof ROLES)[number]

/** What a page asks for, and from which role on people have it. */
export const RIGHTS = {
  /** Verdicts, threads, search, and whether the service is well. */
  see: 'viewer',
  /** Take an item of the queue, decide, take back what one decided oneself. */
  decide: 'moderator',
  /** Take back what others decided, and release what they reserved. */
  overrule: 'lead',
  /** What waits where in the service, and what is wrong with it: names of topics, servers and tenants. */
  operate: 'admin',
} as const satisfies Readonly<Record<string, PersonRole>>
export type PersonRight = keyof typeof RIGHTS

/** A role over subjects of these tenants; without: of all. */
export interface Grant {
  readonly role: PersonRole
  readonly tenants?: readonly string[] | undefined
}

/** A person, by the name that their sign-in gives. */
export interface Person {
  readonly by: string
  readonly groups: readonly string[]
}

/** Who has which role: `person:NAME` or `group:NAME`. */
export interface NamedGrant extends Grant {
  readonly who: string
}

/** What a person may do by the settings; empty: they may not come in. */
export function grantsOf({ by, groups }: Person, people: readonly NamedGrant[]): readonly Grant[] {
  const names = new Set([`person:${by}`, ...groups.map((group) => `group:${group}`)])
  return people.filter(({ who }) => names.has(who)).map(({ role, tenants }) => ({ role, tenants }))
}

/** The tenants over whose subjects one has a right; undefined: all, empty: none. */
export function tenantsOf(grants: readonly Grant[], right: PersonRight): readonly string[] | undefined {
  const fitting = grants.filter(({ role }) => ROLES.indexOf(role) >= ROLES.indexOf(RIGHTS[right]))
  const named = fitting.map(({ tenants }) => tenants)
  return named.includes(undefined) ? undefined : [...new Set(named.flatMap((tenants) => tenants ?? []))]
}

export function may(grants: readonly Grant[], right: PersonRight, tenant: string): boolean {
  return tenantsOf(grants, right)?.includes(tenant) ?? true
}

/** The highest role that somebody has over subjects of a tenant, or (null) of any. */
export function roleIn(grants: readonly Grant[], tenant: string | null): PersonRole | null {
  const held = grants.filter(({ tenants }) => tenant === null || (tenants?.includes(tenant) ?? true))
  return ROLES.findLast((role) => held.some((grant) => grant.role === role)) ?? null
}
