import { randomUUID } from 'node:crypto'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import { webhookId } from '../../contracts/facts/webhook-id.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import {
  boundsOf,
  type Delivery,
  type DeliveryRoom,
  KEEP_DELIVERY_MS,
  type LeasedDelivery,
  NO_BOUND,
  type Webhooks,
} from '../../contracts/ports/webhooks.ts'
import { nameOf } from '../thread/memory-table.ts'

// The twin of redis.ts and the Lua beside it: test/contracts/webhooks.ts holds both to the same promises.

/** What a delivery takes beside its bodies, and a lane beside its subject's id, in bytes. */
const [DELIVERY_BYTES, LANE_BYTES] = [500, 300]

interface Kept {
  readonly id: string
  readonly lane: string
  readonly of: Delivery
  /** Null once it was erased. */
  body: string | null
  readonly putAt: number
  /** Since when it waits. */
  since: number
  tries: number
  token: string | null
  /** When it may be tried; that of a lane's head counts. */
  at: number
  parked: { readonly why: string; readonly at: number } | null
}

/**
 * Deliveries to webhooks in memory. `forget` erases the content of those about a thread, and `strip` its words alone. What may still be
 * sent of a verdict `leftOf` returns. `heldBy` counts what they hold of a tenant, in bytes, and
 * `heldInAll` all that it holds.
 */
export function memoryWebhooks(
  clock: Clock,
  leftOf: (of: Delivery) => 'whole' | 'bare' | 'nothing',
  keepMs = KEEP_DELIVERY_MS,
  heldInAll?: (tenant: string) => number,
): Webhooks & { forget(ref: ThreadRef): void; strip(ref: ThreadRef): void; heldBy(tenant: string): number } {
  const all = new Map<string, Kept>()
  const newest = new Map<string, { readonly ref: ThreadRef; readonly revision: number; readonly at: number }>()
  const gone = new Set<string>()
  /** What is still kept. */
  function kept(): Kept[] {
    for (const { id, putAt } of all.values()) if (putAt + keepMs <= clock()) all.delete(id)
    return [...all.values()]
  }
  function newestOf(lane: string): number | null {
    const { revision = 0, at = Number.NEGATIVE_INFINITY } = newest.get(lane) ?? {}
    if (at + keepMs > clock()) return revision
    newest.delete(lane)
    return null
  }
  const waiting = () => kept().filter(({ parked }) => parked === null)
  const headOf = (lane: string) =>
    waiting()
      .filter((one) => one.lane === lane)
      .sort((a, b) => a.of.revision - b.of.revision)[0]

  /** Of one hook, or of all. */
  function queuedOf(tenant: string, hook?: string): number {
    const own = kept().filter(({ of }) => of.ref.tenant === tenant && (hook ?? of.hook) === of.hook)
    return own.reduce((sum, { of, body }) => sum + DELIVERY_BYTES + bytesIn(of.bare) + bytesIn(body ?? ''), 0)
  }
  function heldBy(tenant: string): number {
    const lanes = [...newest].map(([lane, { ref }]) =>
      ref.tenant === tenant && newestOf(lane) !== null ? laneBytes(ref) : 0,
    )
    return lanes.reduce((sum, bytes) => sum + bytes, queuedOf(tenant))
  }
  function hasRoom(of: Delivery, body: string, room: DeliveryRoom): boolean {
    const { queued, all: most } = boundsOf(of, room)
    const { tenant } = of.ref
    const size = DELIVERY_BYTES + bytesIn(of.bare) + bytesIn(body)
    if (most !== null && (heldInAll ?? heldBy)(tenant) + size + laneBytes(of.ref) > most) return false
    return queued === null || queuedOf(tenant, of.hook) + size <= queued
  }

  return {
    async put(given, room = NO_BOUND) {
      const leftOut: Delivery[] = []
      for (const of of given) {
        const lane = `${of.hook} ${of.protocol} ${nameOf(of.ref)}`
        const known = newestOf(lane)
        if (gone.has(of.hook) && !(of.retracts && known !== null)) continue
        if (known === null ? of.follows : known >= of.revision) continue
        const left = of.retracts ? 'whole' : leftOf(of)
        if (left === 'nothing') continue
        const body = left === 'whole' ? of.body : of.bare
        if (!hasRoom(of, body, room)) {
          leftOut.push(of)
          continue
        }
        if (of.retracts) for (const one of all.values()) if (one.lane === lane) one.body = null
        for (let head = headOf(lane); head?.body === null && head.token === null; head = headOf(lane))
          all.delete(head.id)
        const now = clock()
        newest.set(lane, { ref: of.ref, revision: of.revision, at: now })
        const id = webhookId(of.hook, of.verdictId)
        all.set(id, { id, lane, of, body, putAt: now, since: now, tries: 0, token: null, at: now, parked: null })
      }
      return leftOut
    },
    async setGone(hook, isGone) {
      if (isGone) gone.add(hook)
      else gone.delete(hook)
    },
    async take(hook, limit, leaseMs) {
      const leased: LeasedDelivery[] = []
      for (const lane of new Set(waiting().flatMap((one) => (one.of.hook === hook ? [one.lane] : [])))) {
        let head = headOf(lane)
        while (head !== undefined && head.body === null && head.at <= clock()) {
          all.delete(head.id)
          head = headOf(lane)
        }
        if (leased.length >= limit || head === undefined || head.body === null || head.at > clock()) continue
        head.token = randomUUID()
        head.at = clock() + leaseMs
        const { id, token, tries, body, of } = head
        leased.push({ id, token, hook, verdictId: of.verdictId, body, tries })
      }
      return leased
    },
    async settle({ id, token }, end) {
      const one = kept().find((some) => some.id === id)
      if (one === undefined || one.token !== token) return false
      one.token = null
      if (end === 'sent' || ('again' in end && one.body === null)) all.delete(id)
      else if ('again' in end) {
        one.tries++
        one.at = end.again
      } else one.parked = { why: end.park, at: clock() }
      return true
    },
    async parked(limit) {
      return kept()
        .flatMap(({ id, of, body, parked }) =>
          parked === null ? [] : [{ id, hook: of.hook, verdictId: of.verdictId, ...parked, erased: body === null }],
        )
        .sort((a, b) => a.at - b.at)
        .slice(0, limit)
    },
    async retry(id) {
      const one = kept().find((some) => some.id === id)
      if (one === undefined || one.parked === null) return 'unknown'
      if (newestOf(one.lane) !== one.of.revision) return 'superseded'
      if (one.body === null) return 'erased'
      one.parked = null
      one.tries = 0
      one.since = one.at = clock()
      return 'queued'
    },
    async counts() {
      const since = waiting().map((one) => one.since)
      return {
        waiting: since.length,
        parked: all.size - since.length,
        oldestMs: since.length === 0 ? null : Math.max(0, clock() - Math.min(...since)),
      }
    },
    heldBy,
    forget(ref) {
      for (const one of all.values()) if (nameOf(one.of.ref) === nameOf(ref)) one.body = null
    },
    strip(ref) {
      for (const one of all.values())
        if (nameOf(one.of.ref) === nameOf(ref) && one.body !== null) one.body = one.of.bare
    },
  }
}

function laneBytes({ postId }: ThreadRef): number {
  return LANE_BYTES + bytesIn(postId)
}

function bytesIn(text: string): number {
  return Buffer.byteLength(text)
}
