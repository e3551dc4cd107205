import type { RedisGuard } from '../../../consumers/redis-guard.ts'
import type { Hook } from '../../../producers/webhooks/matching.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { Webhooks } from '../../contracts/ports/webhooks.ts'

/** Of a tenant's share of Redis, for all its receivers alike: one that is down for long keeps none of its tenant's posts out, and drops only its own. */
const QUEUED_PART = 0.5

/**
 * Queues deliveries within their tenant's share of Redis, and reports those that are left out: what they tell is on its topic and in the
 * record. While Redis is short of memory notices go first.
 */
export function boundedDeliveries(
  hooks: Readonly<Record<string, Pick<Hook, 'tenant'>>>,
  of: {
    readonly webhooks: Pick<Webhooks, 'put'>
    /** Bytes that a tenant may hold; null: no limit. */
    readonly mostKept: () => number | null
    readonly watch: Pick<RedisGuard, 'isScarce'>
    readonly report: Report
  },
): Pick<Webhooks, 'put'> {
  const { webhooks, mostKept, watch, report } = of
  return {
    async put(all) {
      const most = mostKept()
      const withNotice = watch.isScarce ? most : null
      const byTenant = [...Map.groupBy(all, ({ ref }) => ref.tenant)].map(([tenant, own]) => {
        const receivers = Object.values(hooks).filter((hook) => hook.tenant === tenant).length
        const queued = most === null ? null : (most * QUEUED_PART) / Math.max(1, receivers)
        return webhooks.put(own, { queued, withNotice })
      })
      const leftOut = (await Promise.all(byTenant)).flat()
      // A statement is tried again, and counted where it is given up.
      for (const { hook, verdictId } of leftOut.filter((one) => !one.verdictId.startsWith('statement ')))
        report('webhook:tried', { hook, outcome: 'dropped', why: 'over-share', caseId: verdictId })
      return leftOut
    },
  }
}
