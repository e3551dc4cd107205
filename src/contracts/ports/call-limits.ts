import { PermanentError } from '../facts/errors.ts'
import type { ClassShares, ServiceClass } from '../facts/service-class.ts'

/** The limits of one scope (a model, a tenant). Absent: no limit. */
export interface ScopeLimits {
  readonly callsPerMinute?: number | undefined
  readonly tokensPerMinute?: number | undefined
  /** Calls in flight at once, in all processes together. */
  readonly inFlight?: number | undefined
}

/** The scope of a limit: one model, or one tenant. */
export const LIMIT_KINDS = ['model', 'tenant'] as const
export type LimitKind = (typeof LIMIT_KINDS)[number]

export interface LimitScope {
  readonly name: string
  readonly limits: ScopeLimits
}

/** The content of a scope's window: granted calls, their tokens, and calls in flight. */
export interface LimitUsage {
  readonly calls: number
  readonly tokens: number
  readonly inFlight: number
}

/** Capacity that was reserved for one call. */
export interface Ticket {
  readonly id: string
  readonly scopes: readonly string[]
  readonly tokens: number
  /** When it was granted, by the store's clock, in ms since 1970. */
  readonly at: number
}

/** A call for which capacity is wanted. */
export interface LimitedCall {
  /** Names the call, the same at each try. */
  readonly asker: string
  readonly tokens: number
  readonly serviceClass: ServiceClass
  readonly tenant: string
  /** Whose it is within the tenant. */
  readonly accountKey: string
}

export type LimitReply =
  | { readonly granted: true; readonly ticket: Ticket }
  /** Nothing was reserved; `scope` is the one with the longest wait. */
  | { readonly granted: false; readonly waitMs: number; readonly scope: string }

/**
 * Capacity for calls, shared by all processes. In no sliding minute are more calls or tokens granted than a scope
 * allows; only usage above what was reserved can exceed it, and then later calls wait for that as well. About half of a limit may
 * be granted at once. What is left is granted only as far as it lasts, at half of the limit's rate, until more leaves the window:
 * one tenant's burst must not take the whole minute of the others.
 */
export interface CallLimits {
  /**
   * Reserves capacity for one call under every scope at once, or none at all: then `waitMs` is the time until the next try. It
   * is never more than a minute, and shorter while calls are in flight, since those may free capacity early.
   *
   * A refused call waits in the line of that scope until it is granted, leaves, or tries again too late. The tenants of both classes of service take turns
   * in the line by what they were granted of the limit, a class of them as its share says; within a tenant and class the accounts
   * do, call by call. The capacity that the first in line waits for is given to no other, nor what the first of a class does to others of that class, so that small calls can't starve a
   * large one; its place in flight, to its own tenant's calls of its class alone; neither is kept while it is late by a fifth of `lateMs`. Throws `PermanentError` (rejected) if the call is larger than a limit.
   */
  reserve(scopes: readonly LimitScope[], call: LimitedCall): Promise<LimitReply>
  /**
   * Replaces the reservation by the real usage, and frees the call's place in flight. Lower usage frees the difference at once;
   * higher usage is recorded as of now. If one ticket is ended several times, the first counts.
   */
  settle(ticket: Ticket, tokens: number): Promise<void>
  /** The call was not made: everything is freed. */
  refund(ticket: Ticket): Promise<void>
  /**
   * Gives up the place of a refused call in the line of the scope that refused it. Does nothing if it has none. If it was the first in
   * line, it counts as granted for its tenant's turn, also where it tries again too late: others have waited for it.
   */
  leave(scope: LimitScope, call: LimitedCall): Promise<void>
  /** The current content of these scopes' windows, in order. */
  usage(scopes: readonly string[]): Promise<LimitUsage[]>
}

export interface LimitSettings {
  /** Length of the sliding window, in ms: a minute, except in tests. */
  readonly windowMs: number
  /** A place in flight whose call was not ended expires after this long, in ms: later than any call ends. */
  readonly leaseMs: number
  /**
   * While calls are in flight the first in line gets a wait of at most this many ms, and those behind it
   * less and less often, so that a long line costs little.
   */
  readonly recheckMs: number
  /** A call that tries again more than this many ms after its wait, loses its place in line. */
  readonly lateMs: number
  /** While calls of both classes are in line, they are granted in this proportion. */
  readonly classes: ClassShares
}

export const LIMIT_DEFAULTS: LimitSettings = {
  windowMs: 60_000,
  leaseMs: 30_000,
  recheckMs: 500,
  lateMs: 5_000,
  classes: { waiting: 0.25, rest: 0.5 },
}

/** Who takes turns in line: a tenant, once for each class. */
export function partyOf({ serviceClass, tenant }: Pick<LimitedCall, 'serviceClass' | 'tenant'>): string {
  return `${serviceClass}/${tenant}`
}

/** The shares of both classes, as a multiple of this one's. */
export function bothClasses(classes: ClassShares, serviceClass: ServiceClass): number {
  return (classes.waiting + classes.rest) / classes[serviceClass]
}

/** The part of the scarcest of a scope's limits that a call takes. */
export function partOfLimits(limits: ScopeLimits, tokens: number): number {
  const { callsPerMinute = Infinity, tokensPerMinute = Infinity, inFlight = Infinity } = limits
  return Math.max(1 / callsPerMinute, tokens / tokensPerMinute, 1 / inFlight)
}

/** A call that no window of a limit has room for. */
export class LargerThanLimit extends PermanentError {}

/** Throws `LargerThanLimit` (rejected) for a call that would wait forever. */
export function mustFit(scopes: readonly LimitScope[], tokens: number): void {
  if (!Number.isSafeInteger(tokens) || tokens < 0) throw new RangeError(`invalid token count ${tokens}`)
  if (new Set(scopes.map(({ name }) => name)).size < scopes.length) throw new RangeError('duplicate scope')
  for (const { name, limits } of scopes) {
    const needs = { callsPerMinute: 1, tokensPerMinute: tokens, inFlight: 1 }
    for (const limit of ['callsPerMinute', 'tokensPerMinute', 'inFlight'] as const) {
      const allowed = limits[limit]
      if (allowed === undefined || allowed >= needs[limit]) continue
      throw new LargerThanLimit(
        'rejected',
        limit === 'tokensPerMinute'
          ? `the call may take ${tokens} tokens and ${name} allows ${allowed} a minute: raise tokensPerMinute, or lower the prompt's size or the stage's maxTokens`
          : `${name} allows no call at all: raise ${limit} to 1 or more, or leave it out for no limit`,
      )
    }
  }
}

/** The longest wait of the `rank`th in line (0 is the first) while capacity may be freed early, in ms. */
export function recheckAfter(rank: number, { recheckMs, windowMs }: LimitSettings): number {
  return Math.min(windowMs, recheckMs * (1 + rank / 4))
}
