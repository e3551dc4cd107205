import { RequestRefused } from './problem.ts'

/** Most requests that wait at a time, in this process, and of one tenant. */
export interface WaiterLimits {
  readonly waiting: number
  readonly waitingPerTenant: number
}

/** Counts who waits, in all and by tenant. Throws the problem of too many. */
export function waitersOf({ waiting, waitingPerTenant }: WaiterLimits) {
  const ofTenant = new Map<string, number>()
  let all = 0
  return {
    enter(tenant: string, waits = true): () => void {
      if (!waits) return () => {}
      const own = ofTenant.get(tenant) ?? 0
      if (all >= waiting || own >= waitingPerTenant)
        throw new RequestRefused('waiting', 'too many requests wait for an answer', { retryAfter: 2 })
      all++
      ofTenant.set(tenant, own + 1)
      return () => {
        all--
        const left = (ofTenant.get(tenant) ?? 1) - 1
        if (left === 0) ofTenant.delete(tenant)
        else ofTenant.set(tenant, left)
      }
    },
  }
}
