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
      const [first] = latest.keys()
      if (latest.size > MOST_TENANTS && first !== undefined) latest.delete(first)
    },
    /**
     * Whether the other tenant that was heard of last was answered, so many ms ago at most. Not each of them is looked at: of many, the
     * latest call of one has always failed by itself.
     */
    onlyFails(tenant: string | undefined, withinMs = LATELY_MS): boolean {
      if (tenant === undefined) return false
      const other = [...latest].findLast(([one]) => one !== tenant)?.[1]
      return other?.worked === true && other.at >= clock() - withinMs
    },
  }
}
