import { entryOf } from '../facts/entry-of.ts'

/** The usage of calls: prompt and answer tokens together, and US dollars at the prices in the settings. */
export interface Amount {
  readonly tokens: number
  readonly usd: number
}

export const NOTHING: Amount = { tokens: 0, usd: 0 }

/** The scope of a budget: one verdict, one tenant for a period, or everything for a period. */
export const BUDGET_SCOPES = ['verdict', 'tenant', 'total'] as const
export type BudgetScope = (typeof BUDGET_SCOPES)[number]

export const BUDGET_UNITS = ['tokens', 'usd'] as const
export type BudgetUnit = (typeof BUDGET_UNITS)[number]

/**
 * Why a budget has no room. `in-flight`: there would be room if calls in flight used less than their bounds. `spent`:
 * there is none. `too-large`: the call's bound alone exceeds the whole budget.
 */
export const REFUSAL_REASONS = ['in-flight', 'spent', 'too-large'] as const
export type RefusalReason = (typeof REFUSAL_REASONS)[number]

/** The most that may be spent; null: no limit of that kind. */
export interface BudgetLimit {
  readonly tokens: number | null
  readonly usd: number | null
}

export interface BudgetSettings {
  /** One case, over all its rounds, retries and take-overs. It never renews. */
  readonly verdict: BudgetLimit
  /** Each tenant. Renews every `per` ms, counted from 1970: an hourly budget on the hour. */
  readonly tenant: BudgetLimit & { readonly per: number }
  /** Limits of individual tenants, instead of `tenant`'s. */
  readonly tenants: Readonly<Record<string, BudgetLimit>>
  /** Everything together. Renews every `per` ms, counted from 1970: a daily budget at midnight UTC. */
  readonly total: BudgetLimit & { readonly per: number }
  /**
   * The part of the total, 0 to 1, that a tenant without limits of its own has at once while another asks, in this window or the one
   * before; it has the rest as the window passes.
   */
  readonly share: number
  /** How long a verdict's account is kept after its last call, in ms: longer than a case can be open. */
  readonly keepVerdictMs: number
}

/** A call that asks for its share of the budgets. */
export interface Purchase {
  /** Chosen by the caller, unique to this call. Reserving twice with the same ticket changes nothing. */
  readonly ticket: string
  readonly caseId: string
  readonly tenant: string
  /** An upper bound of what the call can use. */
  readonly atMost: Amount
  /** Longer than the call can last, in ms. Until then what it may give back counts as in flight. */
  readonly leaseMs: number
}

export interface BudgetRefusal {
  readonly granted: false
  readonly scope: BudgetScope
  readonly unit: BudgetUnit
  readonly why: RefusalReason
  /** When to try again, in ms. Null if waiting does not help: a verdict's budget is spent, or the call is too large. */
  readonly renewsInMs: number | null
}

/** `unlimited`: no budget counts the call, which need not be settled. */
export type ReserveOutcome = { readonly granted: true; readonly unlimited?: true } | BudgetRefusal

/** An account's balance. */
export interface Balance {
  /** Settled and reserved. */
  readonly used: Amount
  /** The part of `used` that is reserved by calls in flight. */
  readonly inFlight: Amount
}

/**
 * The money and tokens for models. Reservations never take an account over its limit, however many processes reserve at
 * once; only usage above a call's bound can. Time is the store's own. A call belongs to the window in which it was
 * reserved, even if it is settled later.
 *
 * A reservation that is never settled, because its process died, stays booked at its upper bound: the endpoint may have
 * answered and charged for it. When its lease ends, no call waits any longer for what it might give back; a later
 * settlement still counts.
 */
export interface Budgets {
  /** Takes the bound from every account of the call at once, or from none. If several refuse, returns the longest wait. */
  reserve(purchase: Purchase): Promise<ReserveOutcome>
  /**
   * Replaces the bound by the real usage, once: the first settlement counts. Usage above the bound is booked in full.
   * `unknown`, with nothing changed, for a ticket that was never granted or whose accounts are closed.
   */
  settle(ticket: string, spent: Amount): Promise<'settled' | 'unknown'>
  /** The account of everything together, in this window; null if it has no limit and is not kept. */
  total(): Promise<Balance | null>
  /** The account of a tenant, in this window; likewise. */
  tenant(name: string): Promise<Balance | null>
}

/** One account that a call is booked on. */
export interface Account {
  readonly scope: BudgetScope
  readonly name: string
  /** null: never renews. */
  readonly perMs: number | null
  readonly limit: { readonly tokens: number | null; readonly nanoUsd: number | null }
  /** It is a tenant's part of the total: so much of the limit at once while others ask. */
  readonly share?: number
}

/** The accounts that a call is booked on. Those without a limit are left out. */
export function accountsOf(settings: BudgetSettings, call: Pick<Purchase, 'caseId' | 'tenant'>): Account[] {
  const { verdict, tenant, tenants, total, share } = settings
  const own = account('tenant', call.tenant, entryOf(tenants, call.tenant) ?? tenant, tenant.per)
  const all = account('total', 'all', total, total.per)
  const part = own.length > 0 || share >= 1 ? [] : all
  return [
    ...account('verdict', call.caseId, verdict, null),
    ...own,
    // The first that has nothing left is named.
    ...all,
    ...part.map((one): Account => ({ ...one, scope: 'tenant', name: `share:${call.tenant}`, share })),
  ]
}

/** The account of everything together, or of one tenant; undefined if it has no limit. */
export function sharedAccount(settings: BudgetSettings, tenant: string | null): Account | undefined {
  const wanted = tenant === null ? 'total' : 'tenant'
  return accountsOf(settings, { caseId: '', tenant: tenant ?? '' }).find(
    ({ scope, share }) => scope === wanted && share === undefined,
  )
}

function account(scope: BudgetScope, id: string, { tokens, usd }: BudgetLimit, perMs: number | null): Account[] {
  if (tokens === null && usd === null) return []
  const limit = { tokens, nanoUsd: usd === null ? null : Math.round(usd * 1e9) }
  return [{ scope, name: `${scope}:${id}`, perMs, limit }]
}

/** The part of a tenant's share that is open to it so far into the window, while others ask. */
export function openPart(share: number, passed: number): number {
  return share + (1 - share) * passed
}

/** When a deferred call tries again if calls in flight may make room, in ms: about as long as a call lasts. */
export const ROOM_SOON_MS = 1_000

/** Whole tokens and billionths of a dollar, rounded up: sums of integers do not drift. */
export function booked({ tokens, usd }: Amount): { tokens: number; nanoUsd: number } {
  return { tokens: whole(tokens), nanoUsd: whole(usd * 1e9) }
}

export function amountOf({ tokens, nanoUsd }: { tokens: number; nanoUsd: number }): Amount {
  return { tokens, usd: nanoUsd / 1e9 }
}

/**
 * An endpoint can report any number as its usage: negative numbers become 0, and huge ones are capped so that sums stay
 * exact.
 */
function whole(value: number): number {
  // The last digits of a decimal product are noise, and must not round it up.
  return Math.min(Math.max(0, Math.ceil(value - 1e-3)), 1e15)
}
