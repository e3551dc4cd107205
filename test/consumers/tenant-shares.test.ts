import { describe, expect, it } from 'vitest'
import type { PressureSignal } from '../../consumers/backpressure.ts'
import { othersUnread, scarcityOf, tenantShares } from '../../consumers/tenant-shares.ts'
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

describe('the shares of tenants', () => {
  function setUp() {
    const world = { isScarce: true, over: ['big'], othersWait: true, due: 0, overDue: ['crowd'] }
    const said: string[] = []
    const due = scarcityOf('due-depth', { resumeAtShare: 0.5 })
    const shares = tenantShares({
      measures: [
        { by: 'store-full', isScarce: () => world.isScarce, tenantsOver: async () => world.over },
        { by: 'due-depth', isScarce: due.isScarce, tenantsOver: async () => world.overDue },
      ],
      othersUnread: async (over) => world.othersWait && over.size > 0,
      report: (name, event) => void said.push([name, ...('tenants' in event ? event.tenants : [])].join(' ')),
    })
    const full: PressureSignal = { by: 'store-full', share: Number.POSITIVE_INFINITY, says: 'short of memory' }
    const pauses = async (signal = full) => (await shares.beside(async () => signal)()).share > 1
    const over = () => shares.over('store-full')
    const dueDepth = async (): Promise<PressureSignal> => ({ by: 'due-depth', share: world.due, says: 'many are due' })
    const pausesForDue = async () => (await shares.beside(due.told(dueDepth))()).share > 1
    return { world, said, shares, over, pauses, pausesForDue }
  }

  it('are kept while Redis is short of memory, a tenant holds more and others wait: intake reads on', async () => {
    const { said, shares, over, pauses } = setUp()
    expect([over(), await pauses()]).toEqual([[], true])
    await shares.poll()
    expect([over(), await pauses()]).toEqual([['big'], false])
    expect(await pauses({ by: 'due-depth', share: 2, says: 'too many threads due' })).toBe(true)
    await shares.poll()
    expect(said).toEqual(['shares:kept big'])
  })

  it.each([
    ['memory suffices', { isScarce: false }],
    ['no tenant holds too much', { over: [] }],
    ['nobody else has messages to read', { othersWait: false }],
  ])('are not kept where %s', async (_, change) => {
    const { world, said, shares, over, pauses } = setUp()
    Object.assign(world, change)
    await shares.poll()
    expect([over(), await pauses(), said]).toEqual([[], true, []])
    const second = setUp()
    await second.shares.poll()
    Object.assign(second.world, change)
    await second.shares.poll()
    expect([second.over(), await second.pauses()]).toEqual([[], true])
    expect(second.said).toEqual(['shares:kept big', 'shares:ended'])
  })

  it('are kept of what is due from its limit until half of that, and of each thing by itself', async () => {
    const { world, said, shares, over, pausesForDue } = setUp()
    const overDue = () => shares.over('due-depth')
    world.isScarce = false
    for (const [due, kept] of [
      [0.9, []],
      [1.1, ['crowd']],
      [0.6, ['crowd']],
      [0.4, []],
      [0.9, []],
    ] as const) {
      world.due = due
      await pausesForDue()
      await shares.poll()
      expect([overDue(), over(), await pausesForDue()], `${due}`).toEqual([kept, [], false])
    }
    world.due = 1.1
    world.overDue = []
    await pausesForDue()
    await shares.poll()
    expect([overDue(), await pausesForDue()]).toEqual([[], true])
    expect(said).toEqual(['shares:kept crowd', 'shares:ended'])
  })
})
