import type { ServiceClass } from '../../contracts/facts/service-class.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import { TENANT_SHARE } from '../../contracts/facts/thread.ts'
import { isWaitedDue } from './thread.ts'

// The twin of src/store/thread/take-turns.lua: a change here is a change there. Random histories compare them (test/judging/threads).

/** A due thread: its place in its tenant's order, and when it became due, without head start, for that tells nothing between tenants. */
interface DueThread {
  readonly ref: ThreadRef
  readonly at: number
  readonly since: number
}

/** A tenant with threads that are due. */
interface WaitingThreads {
  /** In the order in which they are due. */
  readonly refs: readonly ThreadRef[]
  /** Cases that the tenant has open, plus its threads that have been taken. */
  readonly open: number
  readonly taken: number
}

/**
 * Whose turn it is among the due threads: repeatedly, the tenant with the fewest open cases, with its first thread;
 * each thread taken counts as one open case. On a tie, the tenant that had fewer at first goes first, then the one
 * whose first thread has been due for longest. Requests for which somebody waits come first, and take turns in places of their own.
 */
export function takeTurns(
  due: readonly DueThread[],
  { rest: openOf, waiting }: Readonly<Record<ServiceClass, ReadonlyMap<string, number>>>,
  { limit, maxOpen, maxWaiting }: { limit: number; maxOpen: number; maxWaiting: number },
): ThreadRef[] {
  const tenants = waitingTenants(due, openOf)
  const chosen = waitedTurns(due, waiting, maxWaiting).slice(0, limit)
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

/** The requests for which somebody waits that have a place: of each tenant the first, then the second of each, and so on. */
function waitedTurns(due: readonly DueThread[], openOf: ReadonlyMap<string, number>, most: number): ThreadRef[] {
  const left = most - [...openOf.values()].reduce((sum, open) => sum + open, 0)
  const turns = ofTenants(due.filter(({ at }) => isWaitedDue(at)))
    .flatMap(([tenant, some]) => some.map(({ ref }, nth) => ({ ref, open: (openOf.get(tenant) ?? 0) + nth })))
    .toSorted((a, b) => a.open - b.open)
  const chosen: ThreadRef[] = []
  if (most === 0) return chosen
  for (const { ref, open } of turns) if (open === 0 || (chosen.length < left && open < most / 2)) chosen.push(ref)
  return chosen
}

/** The due threads of each tenant in their order, the tenant whose first has been due for longest first. */
function ofTenants(due: readonly DueThread[]): [string, DueThread[]][] {
  const inOrder = due.toSorted((a, b) => a.at - b.at)
  return [...Map.groupBy(inOrder, ({ ref }) => ref.tenant)].toSorted(
    ([, [one]], [, [other]]) => (one?.since ?? 0) - (other?.since ?? 0),
  )
}

function waitingTenants(due: readonly DueThread[], openOf: ReadonlyMap<string, number>): WaitingThreads[] {
  return ofTenants(due)
    .map(([tenant, some]) => {
      const refs = some.flatMap(({ ref, at }) => (isWaitedDue(at) ? [] : [ref]))
      return { refs, open: openOf.get(tenant) ?? 0, taken: 0 }
    })
    .filter(({ refs }) => refs.length > 0)
    .toSorted((a, b) => a.open - b.open)
}

function nextTurn(tenants: readonly WaitingThreads[]): [number, WaitingThreads | undefined] {
  const waiting = [...tenants.entries()].filter(([, { refs, taken }]) => taken < refs.length)
  const fewest = waiting.reduce<[number, WaitingThreads] | undefined>(
    (best, one) => (best === undefined || one[1].open < best[1].open ? one : best),
    undefined,
  )
  return fewest ?? [-1, undefined]
}
