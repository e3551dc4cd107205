import type { Settings } from '../../../config/schema.ts'
import type { DeliveryContext } from '../../../producers/publisher/delivery.ts'
import { delivering } from '../../../producers/webhooks/delivering.ts'
import { deliveriesOf } from '../../../producers/webhooks/matching.ts'
import { webhookSender } from '../adapters/webhook-sender.ts'
import type { Protocol } from '../engine/script.ts'
import type { Closable } from '../operations/closable.ts'
import type { Loops } from '../operations/loop.ts'
import type { Clock } from '../ports/clock.ts'
import type { Report } from '../ports/report.ts'
import type { Webhooks } from '../ports/webhooks.ts'

/** How often to look for what is due, in ms. */
const LOOK_MS = 500
/** How often to count what waits and what is parked, in ms. */
const COUNT_MS = 10_000

/** How the publisher has verdicts sent to the receivers that the settings name. */
export function hookingOf(
  { webhooks: { to } }: Settings,
  webhooks: Pick<Webhooks, 'put'>,
  protocols: readonly Protocol[],
): Pick<DeliveryContext, 'hook' | 'judgesReplies'> {
  const ofReplies = new Set(protocols.filter(({ subject }) => subject === 'reply').map(({ name }) => name))
  return {
    hook: async (published) => webhooks.put(deliveriesOf(to, published)),
    judgesReplies: (protocol) => ofReplies.has(protocol),
  }
}

/** Sends verdicts to the receivers that the settings name; where they name none, nothing is looked for. */
export function webhooksPart(
  { webhooks: { to, atOnce, timeout, retries } }: Settings,
  { webhooks, loops, clock, report }: { webhooks: Webhooks; loops: Loops; clock: Clock; report: Report },
): Closable {
  if (Object.keys(to).length === 0) return { close: async () => {} }
  const work = delivering({
    ...{ webhooks, hooks: to, clock, report },
    send: webhookSender({ timeoutMs: timeout }),
    settings: { atOnce, timeoutMs: timeout, retriesMs: retries },
  })
  loops.start('webhooks', LOOK_MS, work.look)
  loops.start('webhooks count', COUNT_MS, async () => {
    const { waiting, parked, oldestMs } = await webhooks.counts()
    report('webhooks:counted', { waiting, parked, oldestSeconds: (oldestMs ?? 0) / 1_000 })
  })
  return work
}
