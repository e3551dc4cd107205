import { expect } from 'vitest'
import type { TakenRecord } from '../../../src/contracts/ports/jetstream.ts'
import { redisJetstream } from '../../../src/store/jetstream/redis.ts'
import { keysUnder } from '../../../src/store/redis/keys.ts'
import { onRedis as it } from '../../support/on-redis.ts'

const POST: TakenRecord = { rev: '3mkrumhne2222', createdAt: 1_777_629_600_000, root: null, isDeleted: false }
const NOTHING = { taken: new Map<string, TakenRecord>(), gone: new Set<string>() }
const REPLY: TakenRecord = { ...POST, root: 'at://did:plc:ann/app.bsky.feed.post/p1' }

it('keeps the position, and what was taken, of posts, replies and what was deleted', async ({ client }) => {
  const jetstream = redisJetstream(client, keysUnder('kept'))
  expect(await jetstream.position()).toBeNull()
  const deleted = { ...POST, isDeleted: true }
  const position = { time: 1_777_629_600_000_123, relay: 'wss://relay.example/subscribe', seq: null }
  await jetstream.save(
    position,
    {
      taken: new Map([
        ['p', POST],
        ['r', REPLY],
        ['d', deleted],
      ]),
      gone: new Set(['did:plc:ann', 'did:plc:bob']),
    },
    60_000,
  )
  expect(await jetstream.position()).toEqual(position)
  expect(await jetstream.taken(['r', 'unknown', 'p', 'd'])).toEqual([REPLY, null, POST, deleted])
  expect(await jetstream.taken([])).toEqual([])
  await jetstream.save({ ...position, seq: 7 }, NOTHING, 60_000)
  expect(await jetstream.position()).toEqual({ ...position, seq: 7 })
  expect((await jetstream.gone(5)).toSorted()).toEqual(['did:plc:ann', 'did:plc:bob'])
  await jetstream.erased('did:plc:ann')
  expect(await jetstream.gone(5)).toEqual(['did:plc:bob'])
})

it('remembers for as long as it is told to', async ({ client }) => {
  const [jetstream, keys] = [redisJetstream(client, keysUnder('times')), keysUnder('times')]
  await jetstream.save({ time: 1, relay: '', seq: null }, { ...NOTHING, taken: new Map([['p', POST]]) }, 60_000)
  const [key = ''] = await client.keys(keys.jetstreamTaken('*'))
  expect(await client.pttl(key)).toBeGreaterThan(50_000)
  expect(await client.pttl(keys.jetstreamPosition)).toBe(-1)
  expect(Number(await client.call('MEMORY', 'USAGE', key))).toBeLessThan(300)
})
