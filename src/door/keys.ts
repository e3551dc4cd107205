import { type ApiKey, foundKey, SCOPES } from '../contracts/facts/api-key.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import { RequestRefused } from './problem.ts'
import type { Caller, DoorRoute, KeyRate } from './route.ts'

/** Wrong keys from one address: more in a row have to wait. */
const WRONG: KeyRate = { perSecond: 5, burst: 50 }
/** Keys, and addresses, whose rates are known at a time. */
const MOST_NAMES = 20_000

export interface KeyParts {
  /** The keys as they are now, by id. */
  readonly keys: () => ReadonlyMap<string, ApiKey>
  /** The rate of keys that have none of their own. */
  readonly rate: KeyRate
  /** The tenant as which every client of the port may do everything without a key; null: a key is needed. */
  readonly openAs: string | null
  readonly clock: Clock
}

/** Who a request comes from, and whether they may ask so much. */
export function callers({ keys, rate, openAs, clock }: KeyParts) {
  const used = rates(MOST_NAMES)
  const wrong = rates(MOST_NAMES)

  function callerOf(key: ApiKey): Caller {
    const { id, tenant, scopes, by } = key
    return { id, tenant, scopes: new Set(scopes), by, rate: key.rate ?? rate }
  }

  /** Null if the key is unknown. Throws the problem of one that is missing, or may not do this. */
  function knownCaller(
    { scope, orScope, googleKeys }: KeyRequirement,
    headers: Headers,
    query: URLSearchParams,
  ): Caller | null {
    const given = keyIn(headers, googleKeys ? query : null)
    if (given === null) {
      if (openAs === null) throw new RequestRefused('key-missing', 'the request has no key')
      return { id: 'loopback', tenant: openAs, scopes: new Set(SCOPES), by: 'loopback', rate }
    }
    const key = foundKey(keys(), given, clock())
    if (key === null) return null
    const caller = callerOf(key)
    const isAllowed = [scope, orScope].some((one) => one === null || (one && caller.scopes.has(one)))
    if (!isAllowed) throw new RequestRefused('scope', `the key has not the scope ${scope}`)
    return caller
  }

  return {
    /** Throws the problem of a key that is missing, unknown, or may not do this. */
    identify(route: KeyRequirement, headers: Headers, query: URLSearchParams, address: string): Caller {
      const caller = knownCaller(route, headers, query)
      if (caller !== null) return caller
      // Good keys are found before this: nobody is shut out by another who guesses.
      const seconds = wrong.take(address, WRONG, 1, clock())
      if (seconds !== null)
        throw new RequestRefused('rate', 'too many wrong keys came from this address', { retryAfter: seconds })
      throw unknownKey()
    },
    /** Throws the problem of a key that was good, and is unknown by now or may not do this any more: no guess, so it counts for none. */
    identifyAgain(route: KeyRequirement, headers: Headers, query: URLSearchParams): void {
      if (knownCaller(route, headers, query) === null) throw unknownKey()
    },
    /** Counts so many units of a request. Throws the problem of a rate that is reached. */
    charge(caller: Caller, units: number): void {
      if (units <= 0) return
      const seconds = used.take(caller.id, caller.rate, units, clock())
      if (seconds !== null)
        throw new RequestRefused('rate', `the key may send ${caller.rate.perSecond} a second`, { retryAfter: seconds })
    },
  }
}

type KeyRequirement = Pick<DoorRoute, 'scope' | 'orScope' | 'googleKeys'>

function unknownKey(): RequestRefused {
  return new RequestRefused('key-unknown', 'the key is unknown, revoked or expired')
}

function keyIn(headers: Headers, query: URLSearchParams | null): string | null {
  const bearer = headers.get('authorization')
  if (bearer !== null) return /^Bearer +(\S{1,200}) *$/i.exec(bearer)?.[1] ?? ''
  if (query === null) return null
  return headers.get('x-goog-api-key') ?? query.get('key')
}

/** Token buckets by name. */
interface Rates {
  /** Takes so much at this rate; null if there was room, else for how many seconds there is none. */
  take(name: string, rate: KeyRate, cost: number, now: number): number | null
}

interface Bucket {
  tokens: number
  at: number
}

/**
 * Buckets of this many names at most; of others the one that was used longest ago is forgotten. What costs more than a burst
 * is let in when the bucket is full, and is owed.
 */
function rates(mostNames: number): Rates {
  const buckets = new Map<string, Bucket>()
  return {
    take(name, { perSecond, burst }, cost, now) {
      const before = buckets.get(name) ?? { tokens: burst, at: now }
      const tokens = Math.min(burst, before.tokens + (Math.max(0, now - before.at) / 1000) * perSecond)
      const needed = Math.min(cost, burst)
      buckets.delete(name)
      buckets.set(name, { tokens: tokens >= needed ? tokens - cost : tokens, at: now })
      for (const oldest of buckets.keys()) {
        if (buckets.size <= mostNames) break
        buckets.delete(oldest)
      }
      return tokens >= needed ? null : (needed - tokens) / perSecond
    },
  }
}
