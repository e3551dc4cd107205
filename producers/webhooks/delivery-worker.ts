import { entryOf } from '../../src/contracts/facts/entry-of.ts'
import type { Clock } from '../../src/contracts/ports/clock.ts'
import type { Report } from '../../src/contracts/ports/report.ts'
import type {
  LeasedDelivery,
  Receiver,
  SendWebhook,
  TryEnd,
  TryResult,
  Webhooks,
} from '../../src/contracts/ports/webhooks.ts'

/** A receiver's Retry-After counts up to this, in ms. */
const LONGEST_RETRY_AFTER_MS = 3_600_000
/** What settling and a busy process may take beside the try itself, in ms. */
const MARGIN_MS = 10_000
/** The status by which a receiver asks for no more deliveries. */
const GONE = 410

/**
 * Sends what is due to receivers, to each at most its share of `atOnce` at a time, whatever waits for others or is slow, and tries
 * again what failed, later each time; what fails to the end is parked. It is sent at least once: a process that dies between sending and noting it has it sent again, under the same id.
 */
export function deliveryWorker(deps: {
  readonly webhooks: Webhooks
  readonly hooks: Readonly<Record<string, Receiver>>
  readonly send: SendWebhook
  readonly settings: { readonly atOnce: number; readonly timeout: number; readonly retries: readonly number[] }
  readonly clock: Clock
  readonly report: Report
}) {
  const { webhooks, hooks, send, settings, clock, report } = deps
  const leaseMs = 2 * settings.timeout + MARGIN_MS
  // Of its own, and never less than one: one that doesn't answer holds each place for the whole timeout.
  const share = Math.max(1, Math.floor(settings.atOnce / Object.keys(hooks).length))
  /** By hook: places that are taken. */
  const taken = new Map<string, number>()
  const inFlight = new Set<Promise<void>>()
  /** Receivers that are gone: nothing is queued for them, and what waits does so until this process starts anew, by other settings perhaps. */
  const gone = new Set<string>()
  const asked = new Set<string>()
  let isClosing = false

  /** Resolves to whether it was sent. */
  async function deliver(delivery: LeasedDelivery, takenAt: number): Promise<boolean> {
    const receiver = entryOf(hooks, delivery.hook)
    // A process that stood still sends nothing that another may have by now.
    if (receiver === undefined || clock() - takenAt > leaseMs - settings.timeout) return false
    const tried = await send(receiver, { id: delivery.id, body: delivery.body, at: clock() })
    const end = endOf(delivery, tried, settings.retries, clock())
    if (tried.status === GONE) {
      gone.add(delivery.hook)
      await webhooks.setGone(delivery.hook, true)
    }
    const outcome = end === 'sent' ? 'sent' : 'again' in end ? 'failed' : 'parked'
    if (!(await webhooks.settle(delivery, end))) return false
    report('webhook:tried', {
      hook: delivery.hook,
      outcome,
      why: end === 'sent' ? '' : tried.why,
      caseId: delivery.verdictId,
    })
    return end === 'sent'
  }

  /** Begins what is due at one receiver, as far as it has room. */
  async function fill(hook: string): Promise<void> {
    const room = share - (taken.get(hook) ?? 0)
    if (room <= 0 || isClosing || gone.has(hook)) return
    const occupy = (places: number) => taken.set(hook, (taken.get(hook) ?? 0) + places)
    occupy(room)
    const takenAt = clock()
    const deliveries = await webhooks.take(hook, room, leaseMs).catch((error: unknown) => {
      occupy(-room)
      throw error
    })
    occupy(deliveries.length - room)
    for (const delivery of deliveries) {
      const one = deliver(delivery, takenAt)
        .finally(() => occupy(-1))
        // A receiver that takes what it is sent gets the next at once; one that fails does not before the next poll.
        .then((sent) => (sent ? fill(hook) : undefined))
        .catch((error: unknown) => report('error', { where: 'webhooks', error }))
        .finally(() => inFlight.delete(one))
      inFlight.add(one)
    }
  }

  return {
    /** Begins what is due, as far as there is room, and does not wait for its end. */
    async poll(): Promise<void> {
      for (const hook of Object.keys(hooks)) {
        if (!asked.has(hook)) await webhooks.setGone(hook, false)
        asked.add(hook)
        await fill(hook)
      }
    },
    /** Reports how many deliveries wait, and how many are parked. */
    async count(): Promise<void> {
      const { waiting, parked, oldestMs } = await webhooks.counts()
      report('webhooks:counted', { waiting, parked, oldestSeconds: (oldestMs ?? 0) / 1_000 })
    },
    /** What has begun ends. */
    async close(): Promise<void> {
      isClosing = true
      while (inFlight.size > 0) await Promise.all(inFlight)
    },
  }
}

function endOf(
  { tries }: LeasedDelivery,
  { status, why, retryAfterMs, redirectsTo }: TryResult,
  retries: readonly number[],
  now: number,
): TryEnd {
  if (typeof status === 'number' && status >= 200 && status < 300) return 'sent'
  const waitMs = retries[tries]
  if (waitMs === undefined || status === 'refused' || status === GONE)
    return {
      park: redirectsTo === undefined ? why : `${why}: it redirects to ${redirectsTo}, and no redirect is followed`,
    }
  return { again: now + Math.max(waitMs, Math.min(retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS)) }
}
