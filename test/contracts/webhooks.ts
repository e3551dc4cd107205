import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { Delivery, LeasedDelivery, Webhooks } from '../../src/contracts/ports/webhooks.ts'
import { thread } from './samples.ts'

/** Deliveries, apart from those of every other test. */
export interface WebhookStore {
  readonly webhooks: Webhooks
  /** Of an entry that is in the outbox. */
  readonly from: Delivery['from']
  /** As a deletion of the thread does, in its own step. */
  forget(ref: ThreadRef): Promise<void>
  /** As a deletion of comments does. */
  strip(ref: ThreadRef): Promise<void>
  now(): number
  pass(ms: number): Promise<void>
  close(): Promise<void>
}

const LEASE = 60_000
/** Long enough that a slow machine does not end it, short enough to wait for. */
const SHORT = 300

/** What any store of deliveries promises. */
export function webhookContract(name: string, make: (keepMs?: number) => Promise<WebhookStore>): void {
  describe(`deliveries to webhooks ${name}`, () => {
    let store: WebhookStore
    beforeEach(async () => {
      store = await make()
    })
    afterEach(() => store.close())

    const delivery = (postId: string, revision: number, change: Partial<Delivery> = {}): Delivery => ({
      hook: 'shop',
      protocol: 'hate',
      ref: thread(postId, 'acme'),
      from: store.from,
      revision,
      follows: false,
      retracts: false,
      verdictId: `hate@acme~${postId}~r${revision}`,
      body: `body of ${postId} r${revision}`,
      bare: `bare ${postId} r${revision}`,
      ...change,
    })
    const take = async (limit = 9, lease = LEASE, hooks = ['shop', 'club']) => {
      const claims: LeasedDelivery[] = []
      for (const hook of hooks) claims.push(...(await store.webhooks.take(hook, limit, lease)))
      return claims
    }
    const bodies = async () => (await take()).map(({ body }) => body).sort()
    const first = async (lease = LEASE) => {
      const [claim] = await take(1, lease, ['shop'])
      if (claim === undefined) throw new Error('nothing is due')
      return claim
    }

    it('go out in order of revision, the next of a lane when the one before was sent, and lanes side by side', async () => {
      await store.webhooks.put([delivery('p1', 1), delivery('p1', 2), delivery('p2', 7), delivery('p1', 3)])
      const claims = await take()
      expect(claims.map(({ body }) => body).sort()).toEqual(['body of p1 r1', 'body of p2 r7'])
      expect(await take()).toEqual([])
      for (const claim of claims) expect(await store.webhooks.settle(claim, 'sent')).toBe(true)
      const second = await first()
      expect([second.body, second.tries]).toEqual(['body of p1 r2', 0])
      await store.webhooks.settle(second, 'sent')
      expect(await bodies()).toEqual(['body of p1 r3'])
    })

    it('are separate lanes for each hook and protocol, and are taken up to a limit', async () => {
      const many = Array.from({ length: 20 }, (_, nth) => delivery(`p${nth}`, 1))
      await store.webhooks.put([
        ...many,
        delivery('p0', 1, { hook: 'club' }),
        delivery('p0', 1, { protocol: 'safety' }),
      ])
      const hooks = (await take(4)).map(({ hook }) => hook)
      expect(hooks).toEqual(['shop', 'shop', 'shop', 'shop', 'club'])
      expect(await take(9, LEASE, ['nobody'])).toEqual([])
    })

    it('are known when they come again, and so is what is older than their lane', async () => {
      await store.webhooks.put([delivery('p1', 2)])
      await store.webhooks.put([delivery('p1', 2), delivery('p1', 1)])
      const claim = await first()
      await store.webhooks.settle(claim, 'sent')
      await store.webhooks.put([delivery('p1', 2), delivery('p1', 1)])
      expect([await take(), await store.webhooks.counts()]).toEqual([[], { waiting: 0, parked: 0, oldestMs: null }])
    })

    it('are left out where their tenant would hold more with them, and retractions never are', async () => {
      const size = 500 + 'body of p1 r1'.length + 'bare p1 r1'.length
      const lane = 300 + 'p1'.length
      const room = { queued: 2 * size, withNotice: null }
      const all = ['p1', 'p2', 'p3'].map((postId) => delivery(postId, 1))
      for (const one of all.slice(0, 2)) expect(await store.webhooks.put([one], room)).toEqual([])
      expect(await store.webhooks.put(all, room)).toEqual(all.slice(2))
      const other = delivery('p3', 1, { ref: thread('p3', 'other') })
      expect(await store.webhooks.put([other], room)).toEqual([])
      expect(await store.webhooks.put([delivery('p1', 2, { retracts: true })], { queued: 0, withNotice: 0 })).toEqual(
        [],
      )
      // What was sent leaves room, and the lanes of what was sent keep none but notices out.
      for (const claim of await take()) await store.webhooks.settle(claim, 'sent')
      for (const claim of await take()) await store.webhooks.settle(claim, 'sent')
      const notice = delivery('p3', 1, { retracts: true, isNotice: true })
      expect(await store.webhooks.put([notice], { queued: size - 1, withNotice: null })).toEqual([notice])
      expect(await store.webhooks.put([notice], { queued: size, withNotice: 3 * lane + size - 1 })).toEqual([notice])
      expect(await store.webhooks.put([notice], { queued: size, withNotice: 3 * lane + size })).toEqual([])
      expect(await store.webhooks.put([delivery('p4', 1)], { queued: 2 * size, withNotice: 0 })).toEqual([])
    })

    it('have room by their receiver: what waits for one that is down keeps nothing from another', async () => {
      const size = 500 + 'body of p1 r1'.length + 'bare p1 r1'.length
      const room = { queued: 2 * size, withNotice: null }
      const all = ['p1', 'p2', 'p3'].map((postId) => delivery(postId, 1))
      expect(await store.webhooks.put(all, room)).toHaveLength(1)
      const others = all.map((one) => ({ ...one, hook: 'club' }))
      expect(await store.webhooks.put(others.slice(0, 2), room)).toEqual([])
      for (const claim of await take(9, LEASE, ['club'])) await store.webhooks.settle(claim, 'sent')
      expect(await store.webhooks.put(others, room)).toEqual([])
    })

    it('are not queued for a receiver that is gone, nor left out, until it may be asked again', async () => {
      await store.webhooks.setGone('shop', true)
      const put = () => store.webhooks.put([delivery('p1', 1), delivery('p1', 1, { hook: 'club' })])
      expect([await put(), (await take()).map(({ hook }) => hook)]).toEqual([[], ['club']])
      await store.webhooks.setGone('shop', false)
      expect([await put(), (await take()).map(({ hook }) => hook)]).toEqual([[], ['shop']])
    })

    it('have the same id at each try, and are tried again at their time', async () => {
      await store.webhooks.put([delivery('p1', 1), delivery('p1', 2)])
      const claim = await first()
      expect(claim.id).toMatch(/^msg_[\w-]{27}$/)
      expect(await store.webhooks.settle(claim, { again: store.now() + SHORT })).toBe(true)
      expect(await take()).toEqual([])
      await store.pass(SHORT + 20)
      const again = await first()
      expect(again).toMatchObject({ id: claim.id, body: 'body of p1 r1', tries: 1 })
      expect(again.token).not.toBe(claim.token)
    })

    it('pass to another process when a lease has ended, and the first one’s word counts no more', async () => {
      await store.webhooks.put([delivery('p1', 1), delivery('p1', 2)])
      const dead = await first(SHORT)
      await store.pass(SHORT + 20)
      const other = await first()
      expect(other.id).toBe(dead.id)
      for (const end of ['sent', { again: 0 }, { park: 'why' }] as const)
        expect(await store.webhooks.settle(dead, end)).toBe(false)
      expect(await store.webhooks.settle(other, 'sent')).toBe(true)
      expect(await store.webhooks.settle(other, 'sent')).toBe(false)
      expect(await bodies()).toEqual(['body of p1 r2'])
    })

    it('that are parked let the next go out, and come back only where nothing newer is known', async () => {
      await store.webhooks.put([delivery('p1', 1), delivery('p1', 2), delivery('p2', 1)])
      for (const claim of await take()) await store.webhooks.settle(claim, { park: 'status 500' })
      const parked = await store.webhooks.parked(9)
      expect(parked.map(({ verdictId, why, erased }) => [verdictId, why, erased]).sort()).toEqual([
        ['hate@acme~p1~r1', 'status 500', false],
        ['hate@acme~p2~r1', 'status 500', false],
      ])
      expect(await store.webhooks.counts()).toMatchObject({ waiting: 1, parked: 2 })
      const idOf = (verdictId: string) => parked.find((one) => one.verdictId === verdictId)?.id ?? ''
      expect(await store.webhooks.retry(idOf('hate@acme~p1~r1'))).toBe('superseded')
      expect(await store.webhooks.retry(idOf('hate@acme~p2~r1'))).toBe('queued')
      expect(await store.webhooks.retry(idOf('hate@acme~p2~r1'))).toBe('unknown')
      expect(await bodies()).toEqual(['body of p1 r2', 'body of p2 r1'])
      expect(await store.webhooks.retry(idOf('hate@acme~p1~r1'))).toBe('superseded')
      expect(await store.webhooks.parked(1)).toHaveLength(1)
    })

    it('whose label nobody asked for go out where their lane has an older one, sent or parked, and take its place', async () => {
      await store.webhooks.put([delivery('p1', 1), delivery('p2', 1), delivery('p3', 1, { follows: true })])
      const claims = await take()
      expect(claims.map(({ body }) => body).sort()).toEqual(['body of p1 r1', 'body of p2 r1'])
      for (const claim of claims)
        await store.webhooks.settle(claim, claim.body.includes('p1') ? 'sent' : { park: 'status 500' })
      await store.webhooks.put(['p1', 'p2', 'p3'].map((postId) => delivery(postId, 2, { follows: true })))
      const [parked] = await store.webhooks.parked(9)
      expect(await store.webhooks.retry(parked?.id ?? '')).toBe('superseded')
      expect(await bodies()).toEqual(['body of p1 r2', 'body of p2 r2'])
    })

    it('lose their content when their subject is deleted, waiting, leased and parked, and the next goes out', async () => {
      await store.webhooks.put([delivery('p1', 1), delivery('p2', 1), delivery('p3', 1)])
      const park = (await take()).find(({ body }) => body === 'body of p1 r1')
      await store.webhooks.settle({ id: park?.id ?? '', token: park?.token ?? '' }, { park: 'status 500' })
      await store.forget(thread('p1', 'acme'))
      expect(await store.webhooks.parked(9)).toMatchObject([{ erased: true }])
      expect(await store.webhooks.retry(park?.id ?? '')).toBe('erased')
      await store.webhooks.put([delivery('p4', 1), delivery('p4', 2)])
      await store.forget(thread('p4', 'acme'))
      await store.forget(thread('p4', 'other'))
      await store.webhooks.put([delivery('p4', 3)])
      expect(await bodies()).toEqual(['body of p4 r3'])
      expect(await store.webhooks.counts()).toMatchObject({ waiting: 3, parked: 1 })
    })

    it('go on without their words when comments of their subject are deleted', async () => {
      await store.webhooks.put([delivery('p1', 1), delivery('p1', 2), delivery('p2', 1)])
      await store.strip(thread('p1', 'acme'))
      await store.webhooks.put([delivery('p1', 3)])
      const claim = (await take()).find(({ body }) => body.includes('p1'))
      expect(claim?.body).toBe('bare p1 r1')
      await store.webhooks.settle({ id: claim?.id ?? '', token: claim?.token ?? '' }, { park: 'status 500' })
      expect(await store.webhooks.parked(9)).toMatchObject([{ erased: false }])
      expect(await bodies()).toEqual(['bare p1 r2'])
      expect(await store.webhooks.counts()).toMatchObject({ waiting: 3, parked: 1 })
    })

    it('that were erased hold up no retraction, however long they were to wait', async () => {
      await store.webhooks.put([delivery('p1', 1), delivery('p1', 2), delivery('p2', 1), delivery('p3', 1)])
      const later = { again: store.now() + 5 * 3_600_000 }
      const claims = await take()
      const claimOf = (postId: string) => claims.find(({ body }) => body.includes(postId)) ?? { id: '', token: '' }
      for (const postId of ['p1', 'p3']) await store.webhooks.settle(claimOf(postId), later)
      await store.forget(thread('p3', 'acme'))
      const retractions = ['p1', 'p2', 'p3'].map((postId) => delivery(postId, 3, { retracts: true }))
      await store.webhooks.put(retractions)
      // A process has the one before.
      expect(await bodies()).toEqual(['body of p1 r3', 'body of p3 r3'])
      expect(await store.webhooks.settle(claimOf('p2'), later)).toBe(true)
      expect(await bodies()).toEqual(['body of p2 r3'])
      expect(await store.webhooks.counts()).toMatchObject({ waiting: 3, parked: 0 })
    })

    it('are forgotten when they have been kept for long enough, waiting or parked, and counted no more', async () => {
      const keepMs = 1_000
      const short = await make(keepMs)
      const all = [delivery('p1', 1), delivery('p2', 1), delivery('p1', 1, { hook: 'club' })]
      await short.webhooks.put(all.map((one) => ({ ...one, from: short.from })))
      const [claim] = await short.webhooks.take('club', 1, LEASE)
      await short.webhooks.settle(claim ?? { id: '', token: '' }, { park: 'gone' })
      await short.pass(keepMs + 50)
      expect(await short.webhooks.counts()).toEqual({ waiting: 0, parked: 0, oldestMs: null })
      expect([await short.webhooks.parked(9), await short.webhooks.take('shop', 9, LEASE)]).toEqual([[], []])
      await short.close()
    })

    it('lose it to a retraction in their own lane', async () => {
      await store.webhooks.put([delivery('p1', 1), delivery('p1', 1, { hook: 'club' })])
      const park = (await take()).find(({ hook }) => hook === 'shop')
      await store.webhooks.settle({ id: park?.id ?? '', token: park?.token ?? '' }, { park: 'gone' })
      await store.webhooks.put([delivery('p1', 2), delivery('p1', 3, { retracts: true })])
      expect(await store.webhooks.parked(9)).toMatchObject([{ erased: true }])
      expect(await bodies()).toEqual(['body of p1 r3'])
    })
  })
}
