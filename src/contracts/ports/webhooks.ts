import type { ThreadRef } from '../facts/thread.ts'

/** How long a delivery is kept, parked or not, in ms: then it is forgotten. */
export const KEEP_DELIVERY_MS = 7 * 24 * 3_600_000

/** A verdict on its way to one address. A lane is all of one hook, protocol and subject. */
export interface Delivery {
  /** The hook's name in the settings. */
  readonly hook: string
  readonly verdictId: string
  /** The outbox entry that it comes of, and the case. */
  readonly from: { readonly entry: string; readonly caseId: string }
  readonly ref: ThreadRef
  readonly protocol: string
  readonly revision: number
  /** Its receiver did not ask for such: it is sent where its lane has an older one, whose place it takes. */
  readonly follows: boolean
  /** It retracts what was sent before it: older ones of its lane lose their content. */
  readonly retracts: boolean
  /** It is told beside verdicts, once: with less memory than Redis needs it is the first to be left out. */
  readonly isNotice?: boolean
  /** The request's body. */
  readonly body: string
  /** The same without words that may quote the subject: it is sent in its place once some of these were deleted. */
  readonly bare: string
}

/** Bytes of Redis that a tenant may hold with a further delivery; null: no limit. A retraction is bound by none. */
export interface DeliveryRoom {
  /** Of one receiver's deliveries that wait or are parked. */
  readonly queued: number | null
  /** Of anything, with a notice. */
  readonly withNotice: number | null
}

export const NO_BOUND: DeliveryRoom = { queued: null, withNotice: null }

/** The bounds of one delivery. */
export function boundsOf({ retracts, isNotice = false }: Delivery, { queued, withNotice }: DeliveryRoom) {
  return { queued: retracts && !isNotice ? null : queued, all: isNotice ? withNotice : null }
}

/** A delivery that this process has to itself until its lease ends. */
export interface LeasedDelivery {
  /** The same at each try: receivers know a repeat by it. */
  readonly id: string
  readonly token: string
  readonly hook: string
  readonly verdictId: string
  readonly body: string
  /** How often it was tried before. */
  readonly tries: number
}

/** How a try ended. `again`: at this time, ms since 1970; `park`: it is tried again only by `retry`, and why. */
export type TryEnd = 'sent' | { readonly again: number } | { readonly park: string }

export interface ParkedDelivery {
  readonly id: string
  readonly hook: string
  readonly verdictId: string
  readonly why: string
  /** When it was parked, ms since 1970. */
  readonly at: number
  /** Its content is gone, as its subject was deleted: it can't be sent any more. */
  readonly erased: boolean
}

/**
 * Deliveries to webhooks, durable. In a lane they are handed out in order of revision, one at a time: the next when the one
 * before was sent or parked. None that is older than what its lane has sent, parked or queued is ever handed out again.
 */
export interface Webhooks {
  /**
   * Repeatable: a revision that is not newer than the lane's newest is known. A verdict that a deletion has taken out of the outbox,
   * or whose case is withheld, is queued `bare`; and not at all if its subject was deleted, or the request that it answers dropped.
   * Returns those that are left out for want of room.
   */
  put(all: readonly Delivery[], room?: DeliveryRoom): Promise<readonly Delivery[]>
  /** The hook's receiver wants no more, or may be asked again: for one that is gone nothing is queued but retractions of what it was sent, nor left out for want of room. */
  setGone(hook: string, isGone: boolean): Promise<void>
  /** Heads of the hook's lanes that are due, for this process alone during the lease. */
  take(hook: string, limit: number, leaseMs: number): Promise<readonly LeasedDelivery[]>
  /** False, with nothing done, if the lease has passed to another. */
  settle(delivery: Pick<LeasedDelivery, 'id' | 'token'>, end: TryEnd): Promise<boolean>
  /** Longest parked first. */
  parked(limit: number): Promise<readonly ParkedDelivery[]>
  /** `superseded`: its lane has something newer that was sent, is queued or parked. `erased`: its content is gone. */
  retry(id: string): Promise<'queued' | 'superseded' | 'erased' | 'unknown'>
  /** `oldestMs`: for how long the longest has waited, parked ones apart; null if none waits. */
  counts(): Promise<{ readonly waiting: number; readonly parked: number; readonly oldestMs: number | null }>
}

/** To whom verdicts are sent. */
export interface Receiver {
  readonly url: string
  /** `whsec_…`: all of them sign. */
  readonly secrets: readonly string[]
  /** It may be at an address that is not public, and without TLS. */
  readonly allowPrivate: boolean
}

/** The outcome of a try: an HTTP status; null if there was no answer; `refused` if it was not sent, and never will be. */
export interface TryResult {
  readonly status: number | null | 'refused'
  readonly why: string
  /** How long the receiver wants to be left alone, in ms. */
  readonly retryAfterMs: number | null
  /** Where a redirect leads, which is not followed: a URL without user, password and query, cut. The receiver's word, for no log. */
  readonly redirectsTo?: string
}

/** Sends one message, once. Resolves also where it could not be sent. `at`: wall time, ms since 1970. */
export type SendWebhook = (
  to: Receiver,
  message: { readonly id: string; readonly body: string; readonly at: number },
) => Promise<TryResult>
