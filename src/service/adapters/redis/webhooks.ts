import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { webhookId } from '../../domain/webhook-id.ts'
import type { Claimed, Webhooks } from '../../ports/webhooks.ts'
import { type Keys, memberOf } from './keys.ts'
import { script } from './script.ts'

const putDelivery = script('webhooks/put', {
  keys: ['root'],
  args: ['id', 'lane', 'hook', 'member', 'verdictId', 'revision', 'retracts', 'body', 'bare', 'keep'],
})
const takeDue = script('webhooks/take', { keys: ['root'], args: ['hook', 'limit', 'lease', 'token'] })
const settleTry = script('webhooks/settle', { keys: ['root'], args: ['id', 'token', 'again', 'why'] })
const retryParked = script('webhooks/retry', { keys: ['root'], args: ['id'] })

const taken = z.array(z.tuple([z.string(), z.string(), z.string(), z.number()]))
const retried = z.enum(['queued', 'superseded', 'erased', 'unknown'])

/** How long a delivery is kept, parked or not, in ms. */
const KEEP_MS = 7 * 24 * 3_600_000

/** Deliveries to webhooks in Redis. */
export function redisWebhooks(client: Redis, keys: Keys): Webhooks {
  const root = keys.under('hooks:')
  return {
    async put(all) {
      for (const { hook, verdictId, ref, protocol, revision, retracts, body, bare } of all) {
        const member = memberOf(ref)
        const id = webhookId(hook, verdictId)
        const lane = `${hook} ${protocol} ${member}`
        await putDelivery(client, {
          ...{ root, id, lane, hook, member, verdictId, revision, retracts, body, bare },
          keep: KEEP_MS,
        })
      }
    },
    async take(hooks, limit, leaseMs) {
      const claimed: Claimed[] = []
      // Each has a share of what may be taken, whatever waits for the others.
      const share = Math.max(1, Math.ceil(limit / Math.max(1, hooks.length)))
      for (const hook of hooks) {
        const left = Math.min(share, limit - claimed.length)
        if (left <= 0) break
        const token = randomUUID()
        for (const [id, verdictId, body, tries] of taken.parse(
          await takeDue(client, { root, hook, limit: left, lease: leaseMs, token }),
        ))
          claimed.push({ id, token, hook, verdictId, body, tries })
      }
      return claimed
    },
    async settle({ id, token }, end) {
      const again = typeof end === 'object' && 'again' in end ? end.again : null
      const why = typeof end === 'object' && 'park' in end ? end.park : ''
      return (await settleTry(client, { root, id, token, again, why })) === 1
    },
    async parked(limit) {
      const ids = await client.zrange(`${root}parked`, '0', String(limit - 1))
      const all = await Promise.all(
        ids.map(async (id) => {
          const {
            hook = '',
            verdictId = '',
            why = '',
            parkedAt,
            member = '',
          } = await client.hgetall(`${root}delivery:${id}`)
          if (parkedAt === undefined) {
            // It was kept for long enough.
            await client.zrem(`${root}parked`, id)
            return []
          }
          const erased = (await client.hexists(`${root}content:${member}`, id)) === 0
          return [{ id, hook, verdictId, why, at: Number(parkedAt), erased }]
        }),
      )
      return all.flat()
    },
    retry: async (id) => retried.parse(await retryParked(client, { root, id })),
    async counts() {
      const [waiting, parked, first, [seconds]] = await Promise.all([
        client.zcard(`${root}waiting`),
        client.zcard(`${root}parked`),
        client.zrange(`${root}waiting`, '0', '0', 'WITHSCORES'),
        client.time(),
      ])
      const at = z.tuple([z.string(), z.coerce.number()]).safeParse(first.flat())
      return { waiting, parked, oldestMs: at.success ? Math.max(0, Number(seconds) * 1_000 - at.data[1]) : null }
    },
  }
}

/** Where the bodies of deliveries about a thread are. */
export function hookContent(keys: Keys, member: string): string {
  return keys.under(`hooks:content:${member}`)
}
