import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { webhookId } from '../../contracts/facts/webhook-id.ts'
import {
  boundsOf,
  type Delivery,
  type DeliveryRoom,
  KEEP_DELIVERY_MS,
  NO_BOUND,
  type Webhooks,
} from '../../contracts/ports/webhooks.ts'
import { type Keys, memberOf } from '../redis/keys.ts'
import { script } from '../redis/script.ts'

// The rules are in the Lua beside this file, which these methods call.

const putDelivery = script('webhook/put', {
  keys: ['root', 'outbox', 'thread', 'case', 'owners'],
  args: [
    'entry',
    'id',
    'lane',
    'hook',
    'member',
    'verdictId',
    'revision',
    'follows',
    'retracts',
    'body',
    'bare',
    'mostQueued',
    'most',
    'keep',
  ],
})
const takeDue = script('webhook/take', { keys: ['root'], args: ['hook', 'limit', 'lease', 'token'] })
const settleTry = script('webhook/settle', { keys: ['root'], args: ['id', 'token', 'again', 'why'] })
const retryParked = script('webhook/retry', { keys: ['root'], args: ['id'] })

const taken = z.array(z.tuple([z.string(), z.string(), z.string(), z.number()]))
const countAll = script('webhook/count', { keys: ['root'], args: ['most'] })
const counted = z.tuple([z.number(), z.number(), z.number().nullable()])
const retried = z.enum(['queued', 'superseded', 'erased', 'unknown'])

/** What its receiver holds is being counted, in steps that keep nobody else from Redis for long. */
const COUNTING = -2

/** Most deliveries that are forgotten with one count. */
const FORGOTTEN_AT_ONCE = 10_000

/** Deliveries to webhooks in Redis. */
export function redisWebhooks(client: Redis, keys: Keys, keepMs = KEEP_DELIVERY_MS): Webhooks {
  const root = keys.under('hooks:')

  async function putInLane(lane: string, all: readonly Delivery[], room: DeliveryRoom): Promise<Delivery[]> {
    const leftOut: Delivery[] = []
    for (const delivery of all) {
      const { hook, verdictId, from, ref, revision, follows, retracts, body, bare } = delivery
      const member = memberOf(ref)
      const bounds = boundsOf(delivery, room)
      const given = {
        root,
        outbox: keys.outbox,
        thread: keys.thread(member),
        case: keys.case(from.caseId),
        owners: keys.deletedOwners,
        entry: from.entry,
        keep: keepMs,
        id: webhookId(hook, verdictId),
        lane,
        hook,
        member,
        verdictId,
        revision,
        follows,
        retracts,
        body,
        bare,
        mostQueued: bounds.queued,
        most: bounds.all,
      }
      let became = await putDelivery(client, given)
      while (became === COUNTING) became = await putDelivery(client, given)
      if (became === -1) leftOut.push(delivery)
    }
    return leftOut
  }

  return {
    async put(all, room = NO_BOUND) {
      const lanes = Map.groupBy(all, ({ hook, protocol, ref }) => `${hook} ${protocol} ${memberOf(ref)}`)
      // Publication waits for this: as many receivers as there are take no longer than one.
      return (await Promise.all([...lanes].map(([lane, own]) => putInLane(lane, own, room)))).flat()
    },
    async take(hook, limit, leaseMs) {
      const token = randomUUID()
      const leased = taken.parse(await takeDue(client, { root, hook, limit, lease: leaseMs, token }))
      return leased.map(([id, verdictId, body, tries]) => ({ id, token, hook, verdictId, body, tries }))
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
    async setGone(hook, isGone) {
      await (isGone ? client.sadd(`${root}gone`, hook) : client.srem(`${root}gone`, hook))
    },
    retry: async (id) => retried.parse(await retryParked(client, { root, id })),
    async counts() {
      const [waiting, parked, oldestMs] = counted.parse(await countAll(client, { root, most: FORGOTTEN_AT_ONCE }))
      return { waiting, parked, oldestMs }
    },
  }
}

/** Where the bodies of deliveries about a thread are. */
export function hookContent(keys: Keys, member: string): string {
  return keys.under(`hooks:content:${member}`)
}
