import { Counter, Gauge } from 'prom-client'
import { WEBHOOK_OUTCOMES } from '../../contracts/ports/report.ts'
import type { MetricGroup } from './group.ts'

/** What is sent to webhooks, and what never can be; of what is sent nothing has a series where no receiver is set. */
export const webhookMetrics: MetricGroup = (registry) => {
  const tries = new Counter({
    name: 'gavel_webhook_tries_total',
    help: 'Tries to send a verdict to a receiver, by how they ended: sent, failed and to be tried again, or parked after the last; dropped: never tried, as its tenant holds its share of Redis.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const waiting = new Gauge({
    name: 'gavel_webhooks_waiting',
    help: 'Verdicts that wait to be sent to a receiver. Shared: the same in each process that sends.',
    labelNames: [],
    registers: [registry],
  })
  const parked = new Gauge({
    name: 'gavel_webhooks_parked',
    help: 'Verdicts that no try has brought to their receiver (gavel webhooks list). Shared.',
    labelNames: [],
    registers: [registry],
  })
  const oldest = new Gauge({
    name: 'gavel_webhook_oldest_seconds',
    help: 'How long the oldest of those that wait has waited; 0 if none does. Shared.',
    labelNames: [],
    registers: [registry],
  })
  const givenUp = new Counter({
    name: 'gavel_statements_given_up_total',
    help: 'Statements of reasons that could not be made in time, or for which a receiver had no room: it does not get them (gavel report reconcile).',
    labelNames: [],
    registers: [registry],
  })
  for (const gauge of [waiting, parked, oldest]) gauge.remove()
  return {
    'webhook:tried': ({ outcome }) => tries.inc({ outcome }),
    'statement:given-up': () => givenUp.inc(),
    'webhooks:counted': (counted) => {
      for (const outcome of WEBHOOK_OUTCOMES) tries.inc({ outcome }, 0)
      waiting.set(counted.waiting)
      parked.set(counted.parked)
      oldest.set(counted.oldestSeconds)
    },
  }
}
