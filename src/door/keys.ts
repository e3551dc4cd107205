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
      const seconds = wrong.take(address, WRONG, { units: 1, own: 0 }, clock())
      if (seconds !== null)
        throw new RequestRefused('rate', 'too many wrong keys came from this address', { retryAfter: seconds })
      throw unknownKey()
    },
    /** Throws the problem of a key that was good, and is unknown by now or may not do this any more: no guess, so it counts for none. */
    identifyAgain(route: KeyRequirement, headers: Headers, query: URLSearchParams): void {
      if (knownCaller(route, headers, query) === null) throw unknownKey()
    },
    /**
     * Lets a request in if its key has a unit left, and charges that unit. What it returns charges the request's other units,
     * once they are known. Both throw the problem of a rate that is reached.
     */
    admit({ id, rate }: Caller): (units: number) => void {
      const take = (units: number, own: number) => {
        const seconds = used.take(id, rate, { units, own }, clock())
        if (seconds !== null) throw rateReached(rate, seconds)
      }
      take(1, 0)
      return (units) => {
        if (units > 1) take(units - 1, 1)
      }
    },
    /** Charges what was answered: it is owed, and the next request waits until it is paid. */
    owe({ id, rate }: Caller, units: number): void {
      if (units > 0) used.take(id, rate, { units, own: Number.POSITIVE_INFINITY }, clock())
    },
  }
}

function rateReached({ perSecond, burst }: KeyRate, retryAfter: number): RequestRefused {
  const unit = 'one for each message, for each call of a model that may be made, and for each 16 KiB of answers'
  return new RequestRefused('rate', `the key has ${perSecond} units a second, ${burst} at once: ${unit}`, {
    retryAfter,
  })
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
  /**
   * Takes so many units, however many there are, if one is left beside the `own` that the same request took before; null then, else
   * in how many seconds there is one.
   */
  take(name: string, rate: KeyRate, cost: { readonly units: number; readonly own: number }, now: number): number | null
}

interface Bucket {
  tokens: number
  at: number
}

/**
 * Buckets of this many names at most; of others the one that was used longest ago is forgotten. What costs more than is left is let
 * in, and owed: the next waits until a unit is there. So a request may cost more than a burst, and small ones keep no large one out.
 */
function rates(mostNames: number): Rates {
  const buckets = new Map<string, Bucket>()
  return {
    take(name, { perSecond, burst }, { units, own }, now) {
      const before = buckets.get(name) ?? { tokens: burst, at: now }
      const tokens = Math.min(burst, before.tokens + (Math.max(0, now - before.at) / 1000) * perSecond)
      const isLetIn = tokens + own >= 1
      buckets.delete(name)
      buckets.set(name, { tokens: isLetIn ? tokens - units : tokens, at: now })
      for (const oldest of buckets.keys()) {
        if (buckets.size <= mostNames) break
        buckets.delete(oldest)
      }
      return isLetIn ? null : (1 - tokens) / perSecond
    },
  }
}
