import type { Clock } from '../contracts/ports/clock.ts'

/** An end longer ago than this, in ms, says nothing about the model any more. */
const LATELY_MS = 600_000
/** Most tenants that are remembered; those that called longest ago go first. */
const MOST_TENANTS = 1_000

/** How each tenant's latest call to a model ended. */
export function latestOfTenants(clock: Clock) {
  const latest = new Map<string, { readonly worked: boolean; readonly at: number }>()
  return {
    ended(tenant: string | undefined, worked: boolean): void {
      if (tenant === undefined) return
      latest.delete(tenant)
      latest.set(tenant, { worked, at: clock() })
      for (const first of latest.keys()) if (latest.size > MOST_TENANTS) latest.delete(first)
    },
    /** Whether no other tenant's latest call failed, and one of theirs was answered. */
    onlyFails(tenant: string | undefined): boolean {
      if (tenant === undefined) return false
      const since = clock() - LATELY_MS
      const others = [...latest].filter(([other, { at }]) => other !== tenant && at >= since)
      return others.length > 0 && others.every(([, { worked }]) => worked)
    },
  }
}
