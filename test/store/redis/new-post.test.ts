import { describe, expect, it } from 'vitest'
import { keysUnder, memberOf } from '../../../src/store/redis/keys.ts'
import { readScript } from '../../../src/store/redis/script-file.ts'
import { redisThreads } from '../../../src/store/thread/redis.ts'
import { ARRIVAL, postOf, RULES, said, T0, thread } from '../../contracts/samples.ts'
import { functionsOf } from '../../support/lua-names.ts'
import { onRedis } from '../../support/on-redis.ts'

// Most posts are new. In instructions of Redis (callgrind), a function that a run of a script makes and does not call costs about
// a tenth of a command.

describe('a post of which nothing was known', () => {
  onRedis.for([
    ['read with its comments', { threaded: true, atOnce: false }] as const,
    ['judged at once', { threaded: false, atOnce: true }] as const,
    ['both', { threaded: true, atOnce: true }] as const,
  ])('takes six commands: %s', async ([name, judged], { client }) => {
    const threads = redisThreads(client, keysUnder(name), { keepTombstoneMs: 60_000, keepAfterFinalMs: 1_000 })
    const put = async (nth: number) => {
      const ref = thread(`p${nth}`)
      const place = { partition: 1, offset: String(nth), timestamp: T0 }
      const arrival = { ...ARRIVAL, now: T0 + nth, firstDue: T0 + nth, place, ...judged }
      expect(await threads.putPost(ref, postOf(ref), arrival, RULES)).toBe('judged')
    }
    // The first loads the script, and begins the order.
    await put(0)
    await client.config('RESETSTAT')
    for (let nth = 1; nth <= 20; nth++) await put(nth)
    const calls = [...(await client.info('commandstats')).matchAll(/^cmdstat_(\S+):calls=(\d+)/gm)]
      .map(([, command = '', count]) => [command, Number(count) / 20] as const)
      .filter(([command]) => !['evalsha', 'config|resetstat', 'info'].includes(command))
    expect(Object.fromEntries(calls)).toEqual({ exists: 1, hset: 1, hincrby: 1, zincrby: 1, zadd: 1, zrank: 1 })
  })

  it('makes few functions', () => {
    const [included = ''] = readScript('thread/put-post').lua.split('\nlocal thread = KEYS[1]\n')
    expect(functionsOf(included).length).toBeLessThanOrEqual(18)
  })

  onRedis(
    'is noted as taken from a few topics, however many its messages say that they were mapped from',
    async ({ client }) => {
      const keys = keysUnder('mapped')
      const threads = redisThreads(client, keys, { keepTombstoneMs: 60_000, keepAfterFinalMs: 1_000 })
      const ref = thread('p')
      for (let nth = 0; nth < 40; nth++) {
        const place = { topic: `topic-${nth}`, partition: 1, offset: '1', timestamp: T0 }
        await threads.putPost(ref, postOf(ref, { reach: nth }), { ...ARRIVAL, now: T0, place }, RULES)
        await threads.putComments(ref, [{ ...said(`c${nth}`), place }], T0 + nth, RULES)
      }
      const places = await client.hmget(keys.thread(memberOf(ref)), 'postPlace', 'commentPlace')
      for (const noted of places) {
        expect(noted?.split(',')).toHaveLength(8)
        expect(noted).toMatch(/,topic-39\/1 1 \d+$/)
      }
    },
  )
})
