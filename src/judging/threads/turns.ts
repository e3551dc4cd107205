import type { ThreadRef } from '../../contracts/facts/thread.ts'
import { TENANT_SHARE } from '../../contracts/facts/thread.ts'

// The twin of src/store/thread/take-turns.lua: a change here is a change there. Random histories compare them (test/judging/threads).

/** A due thread: its place in its tenant's order, and when it became due. */
interface DueThread {
  readonly ref: ThreadRef
  readonly at: number
  readonly since: number
}

/** A tenant with threads that are due. */
interface WaitingThreads {
  /** When the next of them became due: without head start, for it tells nothing between tenants. */
  readonly since: number
  /** In the order in which they are due. */
  readonly refs: readonly ThreadRef[]
  /** Cases that the tenant has open, plus its threads that have been taken. */
  readonly open: number
  readonly taken: number
}

/**
 * Whose turn it is among the due threads: repeatedly, the tenant with the fewest open cases, with its first thread;
 * each thread taken counts as one open case. On a tie, the tenant that had fewer at first goes first, then the one
 * whose first thread has been due for longest.
 */
export function takeTurns(
  due: readonly DueThread[],
  openOf: ReadonlyMap<string, number>,
  { limit, maxOpen }: { limit: number; maxOpen: number },
): ThreadRef[] {
  const tenants = waitingTenants(due, openOf)
  const chosen: ThreadRef[] = []
  const openNow = [...openOf.values()].reduce((sum, open) => sum + open, 0)
  for (let left = Math.ceil(maxOpen + maxOpen / TENANT_SHARE) - openNow; chosen.length < limit; left--) {
    const [index, next] = nextTurn(tenants)
    if (next === undefined) break
    // A tenant without an open case always gets one, so that none waits for another's cases to end.
    if (next.open > 0 && next.open >= Math.min(maxOpen, TENANT_SHARE * left)) break
    chosen.push(...next.refs.slice(next.taken, next.taken + 1))
    tenants[index] = { ...next, taken: next.taken + 1, open: next.open + 1 }
  }
  return chosen
}

/**
 * In the tenants' order, but of each tenant first the earliest thread of each share, then the second of each, and so on: who
 * floods goes after those who don't. No more than `most` of a share.
 */
export function sharesTakeTurns<One extends { readonly ref: ThreadRef; readonly share: string }>(
  inOrder: readonly One[],
  most: number,
): One[] {
  const taken = new Map<string, number>()
  const counted = inOrder.map((one) => {
    const nth = taken.get(one.share) ?? 0
    taken.set(one.share, nth + 1)
    return { one, nth }
  })
  const ofTenant = new Map(
    [...Map.groupBy(counted, ({ one }) => one.ref.tenant)].map(([tenant, some]) => [
      tenant,
      some
        .filter(({ nth }) => nth < most)
        .toSorted((a, b) => a.nth - b.nth)
        .values(),
    ]),
  )
  return inOrder.flatMap(({ ref }) => ofTenant.get(ref.tenant)?.next().value?.one ?? [])
}

function waitingTenants(due: readonly DueThread[], openOf: ReadonlyMap<string, number>): WaitingThreads[] {
  const inOrder = due.toSorted((a, b) => a.at - b.at)
  return [...Map.groupBy(inOrder, ({ ref }) => ref.tenant)]
    .map(([tenant, waiting]) => ({
      refs: waiting.map(({ ref }) => ref),
      since: waiting[0]?.since ?? 0,
      open: openOf.get(tenant) ?? 0,
      taken: 0,
    }))
    .sort((a, b) => a.open - b.open || a.since - b.since)
}

function nextTurn(tenants: readonly WaitingThreads[]): [number, WaitingThreads | undefined] {
  const waiting = [...tenants.entries()].filter(([, { refs, taken }]) => taken < refs.length)
  const fewest = waiting.reduce<[number, WaitingThreads] | undefined>(
    (best, one) => (best === undefined || one[1].open < best[1].open ? one : best),
    undefined,
  )
  return fewest ?? [-1, undefined]
}
