import { atOnce } from '../platform/at-once.ts'
import { RequestRefused } from './problem.ts'

/** Most requests that wait at a time, in this process, and of one tenant. */
export interface WaiterLimits {
  readonly waiting: number
  readonly waitingPerTenant: number
}

/** Counts who waits, in all and by tenant. Throws the problem of too many. */
export function waitersOf({ waiting, waitingPerTenant }: WaiterLimits) {
  const enter = atOnce(waiting, waitingPerTenant)
  return {
    enter(tenant: string, waits = true): () => void {
      if (!waits) return () => {}
      const leave = enter(tenant)
      if (leave === null) throw new RequestRefused('waiting', 'too many requests wait for an answer', { retryAfter: 2 })
      return leave
    },
  }
}
