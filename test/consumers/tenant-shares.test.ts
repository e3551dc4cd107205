import { describe, expect, it } from 'vitest'
import type { PressureSignal } from '../../consumers/backpressure.ts'
import { besideThoseOver, othersUnread, tenantShares } from '../../consumers/tenant-shares.ts'
import type { IncomingMessage, TopicHistory } from '../../src/contracts/ports/topic.ts'

/** Topics of one partition each, as tenants' names in order; what was read of them is told by its offsets. */
function topicsOf(held: Record<string, string[]>) {
  const committed: Record<string, number> = {}
  const read: string[] = []
  const broken = { at: '' }
  const history: TopicHistory = {
    rangesOf: async (topic) => new Map([[0, { from: 0n, to: BigInt(held[topic]?.length ?? 0) }]]),
    async read(topic, ranges, take) {
      const { from, to } = ranges.get(0) ?? { from: 0n, to: 0n }
      for (let offset = from; offset < to; offset++) {
        if (broken.at === `${topic}@${offset}`) throw new Error('Kafka is away')
        read.push(`${topic}@${offset}`)
        await take([messageOf(topic, offset, held[topic]?.[Number(offset)] ?? '')])
      }
    },
  }
  const look = othersUnread({
    topics: Object.keys(held),
    history,
    committed: async () =>
      new Map(Object.entries(committed).map(([topic, next]) => [topic, new Map([[0, BigInt(next)]])])),
  })
  return { held, committed, read, broken, othersWait: (...over: string[]) => look(new Set(over)) }
}

function messageOf(topic: string, offset: bigint, tenant: string): IncomingMessage {
  const value = Buffer.from(tenant === '' ? 'no JSON' : JSON.stringify({ tenant, text: '"tenant":"other"' }))
  return { topic, partition: 0, offset: `${offset}`, key: null, headers: {}, timestamp: 0, value }
}

it('the door counts a lack of memory to those that are over their share, as long as there are some', async () => {
  let over: readonly string[] = []
  const signal = (by: PressureSignal['by']) => besideThoseOver(() => over)(async () => ({ by, share: 2, says: by }))
  const [full, verdicts] = [signal('store-full'), signal('outbox-depth')]
  expect([(await full()).share, (await verdicts()).share]).toEqual([2, 2])
  over = ['acme']
  expect([(await full()).share, (await verdicts()).share]).toEqual([0, 2])
})

describe('whether others have messages to read', () => {
  it('is found behind all that a tenant sent, and known until that was read', async () => {
    const topics = topicsOf({ posts: ['big', 'big', '', 'small', 'big'], comments: ['small'] })
    expect(await topics.othersWait('big')).toBe(true)
    expect(await topics.othersWait('big')).toBe(true)
    expect(topics.read).toEqual(['posts@0', 'posts@1', 'posts@2', 'posts@3'])
    topics.committed.posts = 4
    expect(await topics.othersWait('big')).toBe(true)
    topics.committed.comments = 1
    expect(await topics.othersWait('big')).toBe(false)
    expect(topics.read.slice(4)).toEqual(['posts@4', 'comments@0'])
  })

  it('reads nothing twice, only what has come since', async () => {
    const topics = topicsOf({ posts: ['big', 'big'] })
    expect(await topics.othersWait('big')).toBe(false)
    topics.held.posts?.push('big')
    expect(await topics.othersWait('big')).toBe(false)
    topics.held.posts?.push('small')
    expect(await topics.othersWait('big')).toBe(true)
    expect(topics.read).toEqual(['posts@0', 'posts@1', 'posts@2', 'posts@3'])
  })

  it('is of the others alone, and of a tenant that no longer holds too much', async () => {
    const topics = topicsOf({ posts: ['big', 'large'] })
    expect(await topics.othersWait('big', 'large')).toBe(false)
    expect(await topics.othersWait('big')).toBe(true)
    expect(await topics.othersWait('big', 'large')).toBe(false)
  })

  it('goes on where it broke off', async () => {
    const topics = topicsOf({ posts: ['big', 'big', 'small'] })
    topics.broken.at = 'posts@1'
    await expect(topics.othersWait('big')).rejects.toThrow('away')
    topics.broken.at = ''
    expect(await topics.othersWait('big')).toBe(true)
    expect(topics.read).toEqual(['posts@0', 'posts@1', 'posts@2'])
  })
})

describe.each(['store-full', 'due-depth'] as const)('the shares of tenants: %s', (by) => {
  function setUp() {
    const world = { isScarce: true, over: ['big'], othersWait: true, others: 0.3 }
    const said: string[] = []
    const shares = tenantShares({
      by,
      isScarce: () => world.isScarce,
      tenantsOver: async () => world.over,
      othersUnread: async (over) => world.othersWait && over.size > 0,
      othersShare: async () => world.others,
      report: (name, event) => void said.push([name, ...('tenants' in event ? event.tenants : [])].join(' ')),
    })
    const much: PressureSignal = { by, share: Number.POSITIVE_INFINITY, says: 'too much' }
    const pauses = async (signal = much) => (await shares.beside(async () => signal)()).share > 1
    return { world, said, shares, pauses }
  }

  it('are kept while there is too much, a tenant has more and others wait: intake reads on', async () => {
    const { world, said, shares, pauses } = setUp()
    expect([shares.isInForce(), await pauses()]).toEqual([false, true])
    await shares.poll()
    expect([shares.isInForce(), await pauses()]).toEqual([true, false])
    expect(await pauses({ by: 'outbox-depth', share: 2, says: 'too many verdicts unpublished' })).toBe(true)
    world.others = 1.1
    expect(await pauses()).toBe(true)
    await shares.poll()
    expect(said).toEqual(['shares:kept big'])
  })

  it.each([
    ['there is not too much', { isScarce: false }],
    ['no tenant has too much', { over: [] }],
    ['nobody else has messages to read', { othersWait: false }],
  ])('are not kept where %s', async (_, change) => {
    const { world, said, shares, pauses } = setUp()
    Object.assign(world, change)
    await shares.poll()
    expect([shares.isInForce(), await pauses(), said]).toEqual([false, true, []])
    const second = setUp()
    await second.shares.poll()
    Object.assign(second.world, change)
    await second.shares.poll()
    expect([second.shares.isInForce(), await second.pauses()]).toEqual([false, true])
    expect(second.said).toEqual(['shares:kept big', 'shares:ended'])
  })
})
