import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect } from 'vitest'
import type { Exporter } from '../../src/contracts/ports/exporter.ts'
import { redisExporter } from '../../src/store/redis/exporter.ts'
import { keysUnder } from '../../src/store/redis/keys.ts'
import { onRedis as it } from '../support/on-redis.ts'

const LEASE_MS = 300
let [one, two]: [Exporter, Exporter] = [] as never

it.beforeEach(({ client }) => {
  const keys = keysUnder(`test-${randomUUID()}`)
  one = redisExporter(client, keys, LEASE_MS)
  two = redisExporter(client, keys, LEASE_MS)
})

describe('the lease of the one that exports shared state, in Redis', () => {
  it('is one process’s as long as it looks, and the others are given what it shares', async () => {
    expect(await one.poll()).toBeNull()
    expect(await two.poll()).toBe('')
    await one.share('{"a":1}')
    for (let look = 0; look < 5; look++) {
      expect(await one.poll()).toBeNull()
      expect(await two.poll()).toBe('{"a":1}')
      await sleep(LEASE_MS / 3)
    }
  })

  it('ends by itself, and what was shared with it a while later', async () => {
    await one.poll()
    await one.share('old')
    await sleep(LEASE_MS * 1.2)
    expect(await two.poll()).toBeNull()
    expect(await one.poll()).toBe('old')
    await sleep(LEASE_MS)
    await two.poll()
    expect(await one.poll()).toBe('')
  })

  it('is given up by its holder alone', async () => {
    await one.poll()
    await two.leave()
    expect(await two.poll()).toBe('')
    await one.leave()
    expect(await two.poll()).toBeNull()
  })
})
