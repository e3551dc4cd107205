import { once } from 'node:events'
import { connect } from 'node:net'
import kafkajs from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { consumerGroup } from '../../../src/kit/stack/memory-kafka/group.ts'
import { partitionLog } from '../../../src/kit/stack/memory-kafka/partition.ts'
import { type MemoryKafka, startMemoryKafka } from '../../../src/kit/stack/servers/memory-kafka.ts'

describe('the in-memory broker', () => {
  let broker: MemoryKafka
  beforeAll(async () => {
    broker = await startMemoryKafka({ say: () => {} })
  })
  afterAll(() => broker?.close())
  const address = () => broker.settings.KAFKA_BROKERS ?? ''
  const admin = async () => {
    const client = new kafkajs.Kafka({ brokers: [address()], logLevel: kafkajs.logLevel.NOTHING })
    const one = client.admin({ retry: { retries: 0 } })
    await one.connect()
    return one
  }

  it.for([
    ['a length below zero', Buffer.from([0xff, 0xff, 0xff, 0xff])],
    ['a request that ends too early', Buffer.from([0, 0, 0, 4, 0, 3, 0, 4])],
    ['a request that nobody knows', Buffer.from([0, 0, 0, 8, 0x7f, 0, 0, 0, 0, 0, 0, 1])],
  ] as const)('ends a connection that sends %s, and serves the others', async ([, bytes]) => {
    const [host, port] = address().split(':')
    const socket = connect(Number(port), host)
    await once(socket, 'connect')
    socket.write(bytes)
    await once(socket, 'close')
    const one = await admin()
    expect((await one.describeCluster()).brokers).toHaveLength(1)
    await one.disconnect()
  })

  it('tells clients of newer versions which ones it serves', async () => {
    const [host, port] = address().split(':')
    const socket = connect(Number(port), host)
    const request = Buffer.from([0, 18, 0, 4, 0, 0, 0, 9, 0xff, 0xff])
    socket.write(Buffer.concat([Buffer.from([0, 0, 0, request.length]), request]))
    const [answer] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    expect([answer.readInt32BE(4), answer.readInt16BE(8)]).toEqual([9, 35]) // UNSUPPORTED_VERSION
    expect(answer.readInt32BE(10)).toBeGreaterThan(10)
  })

  it('has no topic that nobody used, and knows who is in a group and who is not', async () => {
    const one = await admin()
    await expect(one.fetchTopicMetadata({ topics: ['nobody-used-this'] })).rejects.toThrow(/does not host this topic/)
    expect(await one.listTopics()).toEqual([])
    const { groups } = await one.describeGroups(['nobody'])
    expect(groups).toMatchObject([{ groupId: 'nobody', state: 'Dead', members: [] }])
    await expect(one.deleteGroups(['nobody'])).rejects.toThrow()
    await one.disconnect()
  })
})

describe('a partition', () => {
  /** One record batch of version 2, as far as a broker looks at it. */
  const batch = (records: number, newest: number, bytes = 0) => {
    const header = Buffer.alloc(61 + bytes)
    header.writeInt32BE(header.length - 12, 8)
    header[16] = 2
    header.writeInt32BE(records - 1, 23)
    header.writeBigInt64BE(BigInt(newest), 35)
    return header
  }

  it('gives records offsets of its own, and finds the batch of an offset and of a time', () => {
    const log = partitionLog()
    expect(log.append(Buffer.concat([batch(3, 1_000), batch(2, 2_000)]))).toEqual({ offset: 0, fault: 0 })
    expect(log.append(batch(1, 3_000))).toEqual({ offset: 5, fault: 0 })
    const firstOf = (offset: number) => log.read(offset, 1_000)?.map((bytes) => Number(bytes.readBigInt64BE()))
    expect([0, 2, 3, 5, 6].map(firstOf)).toEqual([[0, 3, 5], [0, 3, 5], [3, 5], [5], []])
    expect(log.read(0, 1)).toHaveLength(1)
    expect([firstOf(-1), firstOf(7)]).toEqual([undefined, undefined])
    expect([500, 1_000, 1_001, 3_000, 3_001].map(log.since)).toEqual([0, 0, 3, 5, -1])
  })

  it('drops its oldest batches when it holds too much, and keeps the newest whatever its size', () => {
    const log = partitionLog()
    const mebibyte = 1 << 20
    for (let n = 0; n < 40; n++) log.append(batch(1, n, mebibyte))
    expect([log.start(), log.end()]).toEqual([24, 40])
    expect(log.read(0, 1)).toBeNull()
    log.append(batch(1, 41, 20 * mebibyte))
    expect([log.start(), log.end()]).toEqual([40, 41])
  })

  it.for([
    ['no bytes of a batch', Buffer.from('no batch')],
    ['an older format', Buffer.alloc(80)],
    ['a batch that ends too early', batch(1, 0).subarray(0, 60)],
    ['a batch behind a whole one that does', Buffer.concat([batch(1, 0), batch(1, 0, 10).subarray(0, 65)])],
  ] as const)('takes nothing of %s', ([, bytes]) => {
    const log = partitionLog()
    expect(log.append(bytes)).toEqual({ offset: -1, fault: 2 })
    expect(log.end()).toBe(0)
  })
})

describe('a consumer group', () => {
  const joining = (memberId = '', sessionMs = 10_000) => ({
    memberId,
    clientId: 'test',
    sessionMs,
    rebalanceMs: 10_000,
    protocols: new Map([['round-robin', Buffer.from('topics')]]),
  })
  const part = (text: string) => Buffer.from(text)

  it('makes all join again when one comes, and gives each what the leader says', async () => {
    const group = consumerGroup()
    const first = await group.join(joining())
    expect(first).toMatchObject({ fault: 0, generation: 1, protocol: 'round-robin', leader: first.memberId })
    expect(await group.sync(first.memberId, 1, new Map([[first.memberId, part('all')]]))).toMatchObject({ fault: 0 })
    expect(group.heartbeat(first.memberId, 1)).toBe(0)

    const coming = group.join(joining())
    expect(group.heartbeat(first.memberId, 1)).toBe(27) // REBALANCE_IN_PROGRESS
    const [again, second] = await Promise.all([group.join(joining(first.memberId)), coming])
    expect([again.generation, second.generation, second.leader]).toEqual([2, 2, first.memberId])
    expect(again.members.map(({ id }) => id).sort()).toEqual([first.memberId, second.memberId].sort())
    expect(second.members).toEqual([])
    const waits = group.sync(second.memberId, 2, new Map())
    const parts = new Map([
      [first.memberId, part('one')],
      [second.memberId, part('two')],
    ])
    expect((await group.sync(first.memberId, 2, parts)).assignment).toEqual(part('one'))
    expect((await waits).assignment).toEqual(part('two'))
    for (const id of parts.keys()) expect(group.leave(id)).toBe(0)
    expect(group.described()).toMatchObject({ state: 'Empty', members: [] })
  })

  it('goes on without a member that is not heard of any more', async () => {
    const group = consumerGroup()
    const lost = await group.join(joining('', 50))
    const coming = await group.join(joining())
    expect(coming).toMatchObject({ fault: 0, generation: 2, leader: coming.memberId })
    expect(group.heartbeat(lost.memberId, 1)).toBe(25) // UNKNOWN_MEMBER_ID
    group.leave(coming.memberId)
  })

  it('refuses a stranger, an older generation, and commits of whoever is no member while there are some', async () => {
    const group = consumerGroup()
    expect(group.mayCommit('', -1)).toBe(0)
    expect(await group.join(joining('stranger'))).toMatchObject({ fault: 25 })
    const { memberId } = await group.join(joining())
    await group.sync(memberId, 1, new Map())
    expect([group.mayCommit(memberId, 1), group.mayCommit(memberId, 0), group.mayCommit('', -1)]).toEqual([0, 22, 25])
    expect(await group.join({ ...joining(), protocols: new Map([['other', part('')]]) })).toMatchObject({ fault: 23 })
    expect(group.heartbeat(memberId, 1)).toBe(0)
    group.leave(memberId)
  })
})
