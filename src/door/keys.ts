import { type ApiKey, foundKey, SCOPES } from '../contracts/facts/api-key.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import { rates, wrongGuesses } from '../platform/rates.ts'
import { RequestRefused } from './problem.ts'
import type { Caller, DoorRoute, KeyRate } from './route.ts'

export interface KeyParts {
  /** The keys as they are now, by id. */
  readonly keys: () => ReadonlyMap<string, ApiKey>
  /** The rate that all keys of a tenant have together which have none of their own. */
  readonly rate: KeyRate
  /** The tenant as which every client of the port may do everything without a key; null: a key is needed. */
  readonly openAs: string | null
  readonly clock: Clock
}

/** Who a request comes from, and whether they may ask so much. */
export function callers({ keys, rate, openAs, clock }: KeyParts) {
  const used = rates()
  const guess = wrongGuesses(clock)

  /** In whose rate a caller counts: more keys are not more turns. */
  const accountOf = ({ id, tenant }: Caller) => (keys().get(id)?.rate === undefined ? `of ${tenant}` : id)

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
    identify(route: KeyRequirement, headers: Headers, query: URLSearchParams, network: string): Caller {
      const caller = knownCaller(route, headers, query)
      if (caller !== null) return caller
      // Good keys are found before this: nobody is shut out by another who guesses.
      const seconds = guess(network)
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
     * once they are known; `owed` are those that it owes already. Both throw the problem of a rate that is reached.
     */
    admit(caller: Caller): (units: number, owed: number) => void {
      const account = accountOf(caller)
      const take = (units: number, own: number) => {
        const seconds = used.take(account, caller.rate, { units, own }, clock())
        if (seconds !== null) throw rateReached(caller, account, seconds)
      }
      take(1, 0)
      return (units, owed) => {
        if (units > 1) take(units - 1, 1 + owed)
      }
    },
    /** Charges what was read or answered, and strangers nothing: it is owed, and the next request waits until it is paid. */
    owe(caller: Caller, units: number): void {
      if (units > 0 && caller.id !== '')
        used.take(accountOf(caller), caller.rate, { units, own: Number.POSITIVE_INFINITY }, clock())
    },
  }
}

function rateReached({ id, rate: { perSecond, burst } }: Caller, account: string, retryAfter: number): RequestRefused {
  const unit =
    'one for each message, for each call of a model that may be made, and for each 4 KiB of bodies and 16 KiB of answers'
  const whose = account === id ? 'the key has' : "the tenant's keys have together"
  return new RequestRefused('rate', `${whose} ${perSecond} units a second, ${burst} at once: ${unit}`, {
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
