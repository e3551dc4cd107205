import { randomUUID } from 'node:crypto'
import type { ThreadRef } from '../../domain/thread.ts'
import { webhookId } from '../../domain/webhook-id.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Claimed, Delivery, Webhooks } from '../../ports/webhooks.ts'
import { nameOf } from './thread-table.ts'

interface Kept {
  readonly id: string
  readonly lane: string
  readonly of: Delivery
  /** Null once it was erased. */
  body: string | null
  readonly since: number
  tries: number
  token: string | null
  /** When it may be tried; that of a lane's head counts. */
  at: number
  parked: { readonly why: string; readonly at: number } | null
}

/** Deliveries to webhooks in memory. `forget` erases the content of those about a thread, and `strip` its words alone. */
export function memoryWebhooks(clock: Clock): Webhooks & { forget(ref: ThreadRef): void; strip(ref: ThreadRef): void } {
  const all = new Map<string, Kept>()
  const newest = new Map<string, number>()
  const waiting = () => [...all.values()].filter(({ parked }) => parked === null)
  const headOf = (lane: string) =>
    waiting()
      .filter((one) => one.lane === lane)
      .sort((a, b) => a.of.revision - b.of.revision)[0]

  return {
    async put(given) {
      for (const of of given) {
        const lane = `${of.hook} ${of.protocol} ${nameOf(of.ref)}`
        if ((newest.get(lane) ?? Number.NEGATIVE_INFINITY) >= of.revision) continue
        if (of.retracts) for (const one of all.values()) if (one.lane === lane) one.body = null
        newest.set(lane, of.revision)
        const id = webhookId(of.hook, of.verdictId)
        const now = clock()
        all.set(id, { id, lane, of, body: of.body, since: now, tries: 0, token: null, at: now, parked: null })
      }
    },
    async take(hooks, limit, leaseMs) {
      const claimed: Claimed[] = []
      const share = Math.max(1, Math.ceil(limit / Math.max(1, hooks.length)))
      for (const hook of hooks) {
        let left = Math.min(share, limit - claimed.length)
        for (const lane of new Set(waiting().flatMap((one) => (one.of.hook === hook ? [one.lane] : [])))) {
          let head = headOf(lane)
          while (head !== undefined && head.body === null && head.at <= clock()) {
            all.delete(head.id)
            head = headOf(lane)
          }
          if (left <= 0 || head === undefined || head.body === null || head.at > clock()) continue
          left--
          head.token = randomUUID()
          head.at = clock() + leaseMs
          const { id, token, tries, body, of } = head
          claimed.push({ id, token, hook, verdictId: of.verdictId, body, tries })
        }
      }
      return claimed
    },
    async settle({ id, token }, end) {
      const one = all.get(id)
      if (one === undefined || one.token !== token) return false
      one.token = null
      if (end === 'sent') all.delete(id)
      else if ('again' in end) {
        one.tries++
        one.at = end.again
      } else one.parked = { why: end.park, at: clock() }
      return true
    },
    async parked(limit) {
      return [...all.values()]
        .flatMap(({ id, of, body, parked }) =>
          parked === null ? [] : [{ id, hook: of.hook, verdictId: of.verdictId, ...parked, erased: body === null }],
        )
        .sort((a, b) => a.at - b.at)
        .slice(0, limit)
    },
    async retry(id) {
      const one = all.get(id)
      if (one === undefined || one.parked === null) return 'unknown'
      if (newest.get(one.lane) !== one.of.revision) return 'superseded'
      if (one.body === null) return 'erased'
      one.parked = null
      one.tries = 0
      one.at = clock()
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
    forget(ref) {
      for (const one of all.values()) if (nameOf(one.of.ref) === nameOf(ref)) one.body = null
    },
    strip(ref) {
      for (const one of all.values())
        if (nameOf(one.of.ref) === nameOf(ref) && one.body !== null) one.body = one.of.bare
    },
  }
}
