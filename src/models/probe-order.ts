import type { Clock } from '../contracts/ports/clock.ts'
import { tenantIn } from './account-key.ts'

/**
 * Whose turn it is to try a model again that is left alone: of those that wait, first the tenants that have had no call fail, and
 * of a tenant the accounts.
 */
export interface ProbeOrder {
  /** A call of this account failed; or one was answered. */
  failed(accountKey: string | undefined): void
  answered(accountKey: string | undefined): void
  hasFailed(accountKey: string | undefined): boolean
  /** This account may not call the model for so long, in ms, and will then ask again. */
  waits(accountKey: string | undefined, forMs: number): void
  /** Whether this account has to wait for others. */
  isBehind(accountKey: string | undefined): boolean
}

/** An ask that has to wait comes back within this after its wait, in ms, or has ended elsewhere. */
const BACK_MS = 65_000
/** Most accounts that are remembered for failures, and for waiting; those that were noted first go first. */
const MOST_CASES = 1_000

export function probeOrder(clock: Clock): ProbeOrder {
  const [tenants, accounts] = [orderOf(clock), orderOf(clock)]
  return {
    failed(accountKey) {
      tenants.failed(tenantIn(accountKey))
      accounts.failed(accountKey)
    },
    answered(accountKey) {
      tenants.answered(tenantIn(accountKey))
      accounts.answered(accountKey)
    },
    hasFailed: accounts.hasFailed,
    waits(accountKey, forMs) {
      tenants.waits(tenantIn(accountKey), forMs)
      accounts.waits(accountKey, forMs)
    },
    isBehind: (accountKey) => tenants.isBehind(tenantIn(accountKey)) || accounts.isBehind(accountKey),
  }
}

/** The same for keys of one kind. */
function orderOf(clock: Clock): ProbeOrder {
  const failures = new Set<string>()
  /** Who waits and has not failed, by when they have come back at the latest, in ms since 1970. */
  const waiting = new Map<string, number>()
  return {
    failed(accountKey) {
      if (accountKey === undefined) return
      waiting.delete(accountKey)
      failures.delete(accountKey)
      failures.add(accountKey)
      for (const first of failures) if (failures.size > MOST_CASES) failures.delete(first)
    },
    answered(accountKey) {
      if (accountKey === undefined) return
      waiting.delete(accountKey)
      failures.delete(accountKey)
    },
    hasFailed: (accountKey) => accountKey !== undefined && failures.has(accountKey),
    waits(accountKey, forMs) {
      if (accountKey === undefined || failures.has(accountKey)) return
      waiting.delete(accountKey)
      waiting.set(accountKey, clock() + forMs + BACK_MS)
      for (const first of waiting.keys()) if (waiting.size > MOST_CASES) waiting.delete(first)
    },
    isBehind(accountKey) {
      if (accountKey === undefined || !failures.has(accountKey)) return false
      const now = clock()
      for (const [other, until] of waiting) {
        if (now <= until) return true
        waiting.delete(other)
      }
      return false
    },
  }
}
