import { randomUUID } from 'node:crypto'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { PermanentError } from '../contracts/facts/errors.ts'
import { type Amount, type BudgetRefusal, NOTHING } from '../contracts/ports/budgets.ts'
import type { Ticket } from '../contracts/ports/call-limits.ts'
import { type AskContext, CallDeferred, callOwnerOf, leaveLine, type ModelPrompt } from './context.ts'
import { upperBound } from './cost.ts'
import type { GatewayState } from './parts.ts'
import { longestCallMs, tierOf } from './time-limits.ts'

// This decides whether a call that found no room waits or fails. Whether there is room, the Lua in src/store/budget and
// src/store/limit decides.

/** The room that budgets and limits granted to one call, or why there is none. */
export interface CallReservation {
  readonly callId: string
  /** An upper bound of what the call can use. */
  readonly atMost: Amount
  /** Why it was not granted, the budget's error first: a refusal (`CallDeferred`, `PermanentError`), or an error of the store. */
  readonly errors: readonly unknown[]
  /** It must be settled with the budgets. */
  readonly money: boolean
  readonly ticket: Ticket | null
}

/** The usage of a call as far as it is known, and whether limits count it: providers also count calls that they reject. */
export interface CallUse {
  readonly spent: Amount
  readonly counted: boolean
}

/** The use of a call that was not made. */
export const NO_USE: CallUse = { spent: NOTHING, counted: false }

/**
 * Reserves room under every budget and limit for what the model is to be asked. Throws `PermanentError` (deadline) alone, once the case's deadline has passed; refusals are in `errors`. It must be settled: one of
 * the two may have been granted.
 */
export async function reserve(
  gateway: GatewayState,
  context: AskContext,
  model: string,
  { ask, messages, thinkingTokens }: ModelPrompt,
): Promise<CallReservation> {
  const { settings, clock } = gateway
  if (context.deadline <= clock()) throw new PermanentError('deadline', "the case's deadline has passed")
  const callId = randomUUID()
  const { imageTokens, prices } = settings
  const tier = tierOf(settings, context.protocol, ask.role)
  const atMost = upperBound(ask, messages, entryOf(prices, model), { imageTokens, tier, thinkingTokens })
  // Both in one round trip: if only one of them granted room, it is given back.
  const [money, room] = await Promise.allSettled([
    reserveMoney(gateway, context, callId, atMost),
    reserveRoom(gateway, context, model, atMost),
  ])
  // No room is kept for a call that waits for a budget.
  if (money.status === 'rejected' && room.status === 'rejected') leaveLine(room.reason)
  return {
    callId,
    atMost,
    errors: [money, room].flatMap((one) => (one.status === 'rejected' ? [one.reason] : [])),
    money: money.status === 'fulfilled' && money.value,
    ticket: room.status === 'fulfilled' ? room.value : null,
  }
}

/** Throws the first error if a budget or limit has not granted the call: it refused, or its store failed. */
export function throwIfNotGranted({ errors }: CallReservation): void {
  if (errors.length > 0) throw errors[0]
}

/**
 * Replaces the reservation by the real usage; a call that is not counted is given back to the limits in full. Errors are
 * reported: what is not given back expires.
 */
export function settle(
  { limits, budgets, report }: GatewayState,
  { caseId }: AskContext,
  { callId, ticket, money }: CallReservation,
  { spent, counted }: CallUse,
): void {
  const failed = (where: 'limits' | 'budgets') => (error: unknown) => report('error', { where, error, caseId, callId })
  if (ticket !== null)
    void (counted ? limits.settle(ticket, spent.tokens) : limits.refund(ticket)).catch(failed('limits'))
  if (money) void budgets.settle(callId, spent).catch(failed('budgets'))
}

/** Throws like `reserve` and `throwIfNotGranted` if there is no room for the call now. What is prepared for it afterwards reserves nothing. */
export async function tryReservation(
  gateway: GatewayState,
  context: AskContext,
  model: string,
  prompt: ModelPrompt,
): Promise<void> {
  const { limits, budgets, report } = gateway
  const reservation = await reserve(gateway, context, model, prompt)
  const { callId, ticket, money } = reservation
  try {
    throwIfNotGranted(reservation)
  } finally {
    // Awaited, so that the call itself does not find its own room still taken.
    const released = await Promise.allSettled([
      ticket === null ? null : limits.refund(ticket),
      money ? budgets.settle(callId, NOTHING) : null,
    ])
    for (const one of released)
      if (one.status === 'rejected')
        report('error', { where: 'gateway', error: one.reason, caseId: context.caseId, callId })
  }
}

/** True if it must be settled. */
async function reserveMoney(
  { budgets, settings, spentBudgets, report }: GatewayState,
  { caseId, subject: { tenant } }: AskContext,
  ticket: string,
  atMost: Amount,
): Promise<boolean> {
  const leaseMs = longestCallMs(settings) + LEASE_SPARE_MS
  const reserved = await budgets.reserve({ ticket, caseId, tenant, atMost, leaseMs })
  if (reserved.granted) {
    spentBudgets.granted(tenant)
    return reserved.unlimited !== true
  }
  report('budget:refused', { scope: reserved.scope, unit: reserved.unit, why: reserved.why, caseId })
  spentBudgets.refused(reserved, tenant)
  throw refusalOf(reserved, settings.whenSpent)
}

async function reserveRoom(
  { limits, settings, report }: GatewayState,
  context: AskContext,
  model: string,
  { tokens }: Amount,
): Promise<Ticket | null> {
  const { caseId, askId, accountKey } = context
  const owner = callOwnerOf(context)
  const { tenant } = owner
  const { models, tenants } = settings.limits
  const scopes = [
    { kind: 'model' as const, name: `model:${model}`, limits: entryOf(models, model) ?? models.default ?? {} },
    { kind: 'tenant' as const, name: `tenant:${tenant}`, limits: entryOf(tenants, tenant) ?? tenants.default ?? {} },
  ].filter(({ limits: of }) => Object.values(of).some((limit) => limit !== undefined))
  if (scopes.length === 0) return null
  const call = { asker: askId, tokens, accountKey, ...owner }
  const reserved = await limits.reserve(
    scopes.map(({ name, limits: of }) => ({ name, limits: of })),
    call,
  )
  if (reserved.granted) return reserved.ticket
  const { kind = 'model', ...scope } = scopes.find(({ name }) => name === reserved.scope) ?? {
    name: reserved.scope,
    limits: {},
  }
  report('call:limited', { scope: kind, waitMs: reserved.waitMs, caseId })
  const wait = { delayMs: reserved.waitMs, costsAttempt: false }
  const deferred = new CallDeferred('limited', `the limit of ${reserved.scope} is reached`, wait)
  deferred.leaveLine = () =>
    void limits.leave(scope, call).catch((error: unknown) => report('error', { where: 'limits', error, caseId }))
  throw deferred
}

/** A reservation lives longer than the longest call by this much. */
const LEASE_SPARE_MS = 30_000
/**
 * A deferred ask is retried at least this often: a limit may have been raised meanwhile, and no deferral may last until
 * the deadline.
 */
const LONGEST_HOLD_MS = 30_000

function refusalOf(
  { scope, unit, why, renewsInMs }: BudgetRefusal,
  whenSpent: GatewayState['settings']['whenSpent'],
): Error {
  const what = `the ${scope} budget in ${unit} (${why})`
  if (renewsInMs === null || (whenSpent === 'degrade' && why !== 'in-flight')) return new PermanentError('budget', what)
  return new CallDeferred('budget', what, { delayMs: Math.min(renewsInMs, LONGEST_HOLD_MS), costsAttempt: false })
}
