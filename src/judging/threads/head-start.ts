// The order of due work within a tenant: docs/order.md states the formula.

/** As much older a thread counts, in ms, for each doubling of what a late or wrong verdict on it costs. */
const DOUBLING_MS = 3_600_000
/** Nobody reaches more people than there are: what a platform says beyond that gains nothing, so that each wait has an end. */
const MOST_REACH = 2 ** 33
/** What was asked by itself is as urgent as a post that has reached so many: whoever asked waits for it. */
const ASKED_REACH = 1_000

/** How many ms older a thread counts for its reach: 0 for none, and never less for more. */
export function aheadByReach(reach = 0): number {
  return Math.round(DOUBLING_MS * Math.log2(1 + Math.min(MOST_REACH, Math.max(0, reach))))
}

/** How many people a post has reached, by the ms that it counts as older for them: exact up to some millions. */
export function reachedBy(aheadMs: number): number {
  return Math.round(2 ** (aheadMs / DOUBLING_MS) - 1)
}

/** How many ms older a thread counts for the protocols that judge it: by the one of which a late verdict costs most. */
export function aheadByProtocols(protocols: readonly { readonly lateCost?: number }[]): number {
  const most = protocols.reduce((cost, { lateCost = 1 }) => Math.max(cost, lateCost), 1)
  return Math.round(DOUBLING_MS * Math.log2(most))
}

export const ASKED_AHEAD = aheadByReach(ASKED_REACH)

/**
 * The urgency of due work within its tenant, the highest first: its age, as if it had been due for longer the more a late or wrong
 * verdict costs. It rises with age and reach; as all work ages alike, no two threads ever change places by waiting.
 */
export function urgencyOf(work: {
  readonly ageMs: number
  readonly reach?: number | undefined
  readonly protocols?: readonly { readonly lateCost?: number }[]
}): number {
  return work.ageMs + aheadByReach(work.reach) + aheadByProtocols(work.protocols ?? [])
}
