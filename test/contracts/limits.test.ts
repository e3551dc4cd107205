import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { CallLimits, LimitScope, Ticket } from '../../src/contracts/ports/call-limits.ts'
import type { RestartableServer } from '../../src/kit/stack/servers/local-server.ts'
import { memoryLimits } from '../../src/store/limit/memory.ts'
import { redisLimits } from '../../src/store/limit/redis.ts'
import { keysUnder } from '../../src/store/redis/keys.ts'
import { hammerLimits } from '../support/hammer-limits.ts'
import { limitedCall } from '../support/limited-call.ts'
import { onRedis } from '../support/on-redis.ts'
import { limitsContract, SHORT } from './limits.ts'

let server: RestartableServer
let client: Redis
onRedis.beforeAll(({ redis, client: one }) => {
  server = redis
  client = one
})

limitsContract('in memory', (settings) => {
  let now = 1_700_000_000_000
  return {
    limits: memoryLimits(() => now, { ...SHORT, ...settings }),
    async pass(ms) {
      now += ms
    },
  }
})

limitsContract('in Redis', (settings) => ({
  limits: redisLimits(client, keysOf(randomUUID()), { ...SHORT, ...settings }),
  pass: (ms) => sleep(ms),
}))

function keysOf(prefix: string) {
  return (name: string) => `{${prefix}}:limits:${name}`
}

describe('limits in Redis', () => {
  const scopes: LimitScope[] = [
    { name: 'model:m', limits: { callsPerMinute: 1_000, tokensPerMinute: 100_000, inFlight: 1_000 } },
    { name: 'tenant:t', limits: { tokensPerMinute: 50_000 } },
  ]
  const grant = async (limits: CallLimits, tokens: number): Promise<Ticket> => {
    const reply = await limits.reserve(scopes, limitedCall({ tokens }))
    if (!reply.granted) throw new Error('refused')
    return reply.ticket
  }

  it('take room once when a command is sent again after its reply was lost', async () => {
    const prefix = randomUUID()
    const sent = new Map<string, string[]>()
    const spied = client.duplicate()
    const limits = redisLimits(spied, keysOf(prefix), SHORT)
    const send = spied.sendCommand.bind(spied)
    spied.sendCommand = (command, ...rest) => {
      const args = command.args.map(String)
      if (command.name === 'evalsha') sent.set(args.join(), args)
      return send(command, ...rest)
    }
    await limits.settle(await grant(limits, 100), 60)
    await grant(limits, 10)
    spied.disconnect()
    expect(sent.size).toBe(3)
    const before = await client.hgetall(`{${prefix}}:limits:window:model:m`)
    for (const args of [...sent.values()].slice(1)) await client.call('EVALSHA', ...args)
    const after = await client.hgetall(`{${prefix}}:limits:window:model:m`)
    expect(after).toEqual(before)
    expect(after).toMatchObject({ calls: '2', tokens: '70' })
  })

  it.each([
    ['was erased', (key: string) => client.del(key)],
    ['has begun again', (key: string) => client.hincrby(key, 'run', 1)],
  ])('keep no place for a question whose case %s', async (_, end) => {
    const keys = keysUnder(randomUUID())
    const limits = redisLimits(client, keys.under, { ...SHORT, lateMs: 60_000, recheckMs: 60_000 }, keys.case(''))
    const one: LimitScope[] = [{ name: 'model:m', limits: { inFlight: 1 } }]
    const reserve = (tenant: string, asker: string) => limits.reserve(one, limitedCall({ tokens: 1, tenant, asker }))
    const name = 'hate~default~a|b/2~r1'
    await client.hset(keys.case(name), { status: 'open', run: 2 })
    const running = await reserve('a', 'running')
    if (!running.granted) throw new Error('refused')
    expect(await reserve('b', `${name}/2/0.1`)).toMatchObject({ granted: false })
    await limits.settle(running.ticket, 1)
    expect(await reserve('c', 'next'), 'the first in line comes first').toMatchObject({ granted: false })
    await end(keys.case(name))
    expect(await reserve('c', 'next')).toMatchObject({ granted: true })
  })

  it('leave nothing behind when nobody asks any more, and share one hash tag', async () => {
    const prefix = randomUUID()
    const limits = redisLimits(client, keysOf(prefix), SHORT)
    await grant(limits, 50_000)
    expect(await limits.reserve(scopes, limitedCall({ tokens: 50_000 }))).toMatchObject({ granted: false })
    const made = await client.keys(`*${prefix}*`)
    expect(made.length).toBe(9)
    for (const key of made) expect(key.startsWith(`{${prefix}}:`)).toBe(true)
    await expect
      .poll(() => client.keys(`*${prefix}*`), { timeout: SHORT.windowMs + SHORT.lateMs + 3_000, interval: 100 })
      .toEqual([])
  })

  it('keep what they count for as long as it counts, however close together or far apart calls come', async () => {
    const prefix = randomUUID()
    const [windowMs, leaseMs] = [6_000, 2_000]
    const limits = redisLimits(client, keysOf(prefix), { ...SHORT, windowMs, leaseMs })
    // What is left to the keys of a scope, and what must be: until its last call has left the window, until its last place lapses.
    const left = `
      local time = redis.call('TIME')
      local now = time[1] * 1000 + time[2] / 1000
      local bucket, lapse = redis.call('HGET', KEYS[1], 'newest'), redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2]
      local leaves = (bucket + 1) * ARGV[1] / 600 + ARGV[1]
      return { redis.call('PTTL', KEYS[1]), math.floor(leaves - now), redis.call('PTTL', KEYS[2]), math.floor(lapse - now) }`
    const expireInTime = async () => {
      for (const { name } of scopes) {
        const keys = [`window:${name}`, `in-flight:${name}`].map(keysOf(prefix))
        const said = await client.eval(left, 2, ...keys, windowMs)
        const [window = 0, leaves, places = 0, lapses] = z.array(z.number()).parse(said)
        expect(window, name).toBeGreaterThanOrEqual(leaves ?? 0)
        expect(places, name).toBeGreaterThanOrEqual(lapses ?? 0)
      }
    }
    for (let n = 0; n < 60; n++) {
      const ticket = await grant(limits, 1)
      await expireInTime()
      await grant(limits, 1)
      await expireInTime()
      if (n % 3 === 0) await sleep(60)
      if (n % 2 === 0) await limits.settle(ticket, 2)
    }
  })

  it('go on as long as they should after the clock went back and on again', async () => {
    const prefix = randomUUID()
    const limits = redisLimits(client, keysOf(prefix), { ...SHORT, windowMs: 60_000, leaseMs: 5_000 })
    const [window, places] = ['window:model:m', 'in-flight:model:m'].map(keysOf(prefix)) as [string, string]
    await grant(limits, 1)
    // What a call some seconds ago leaves, by a clock that went back.
    const now = Number(await client.hget(window, 'newest'))
    await client.hset(window, { newest: now - 30, oldest: now - 30 })
    await client.pexpire(window, 57_000)
    await client.pexpire(places, 2_000)
    await grant(limits, 1)
    expect(await client.pttl(window)).toBeGreaterThan(59_000)
    expect(await client.pttl(places)).toBeGreaterThan(4_500)
  })

  it('keep a place for its whole lease where the one before was given back in the same moment', async () => {
    const prefix = randomUUID()
    const limits = redisLimits(client, keysOf(prefix), { ...SHORT, windowMs: 60_000, leaseMs: 5_000 })
    for (let n = 0; n < 10; n++) {
      const ticket = await grant(limits, 1)
      for (const key of await client.keys(`*${prefix}*:in-flight:*`)) {
        expect(await client.pttl(key), key).toBeGreaterThan(4_500)
      }
      await limits.settle(ticket, 1)
      expect(await client.keys(`*${prefix}*:in-flight:*`)).toEqual([])
    }
  })

  it('stay as small under many calls as under few', async () => {
    const prefix = randomUUID()
    const limits = redisLimits(client, keysOf(prefix), { ...SHORT, windowMs: 6_000 })
    const free = [{ name: 'model:m', limits: {} }]
    for (let n = 0; n < 20; n++) {
      await Promise.all(
        Array.from({ length: 100 }, async () => {
          const reply = await limits.reserve(free, limitedCall({ tokens: 1 }))
          if (reply.granted) await limits.settle(reply.ticket, 1)
        }),
      )
    }
    expect(await client.hget(`{${prefix}}:limits:window:model:m`, 'calls')).toBe('2000')
    expect(await client.hlen(`{${prefix}}:limits:window:model:m`)).toBeLessThanOrEqual(2 * 601 + 4)
    expect((await client.keys(`*${prefix}*`)).length).toBe(1)
  })

  it('hold when 8 processes hammer them', async () => {
    const hits = await hammerLimits(server.settings.REDIS_URL ?? '', {
      windowMs: 2_000,
      seconds: 8,
      limits: { callsPerMinute: 200, tokensPerMinute: 20_000, inFlight: 20 },
      askers: 6,
    })
    for (const { faults, calls } of hits) {
      expect(faults).toEqual([])
      expect(calls).toBeGreaterThan(200)
    }
  })
})
