import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { LocalServer } from '../../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../../src/kit/stack/servers/redis.ts'
import { refusalOf } from '../../../src/store/redis/refusals.ts'
import { luaOf } from '../../../src/store/redis/script.ts'
import { eventually, tell } from '../../support/pipeline.ts'

// What a full disk, missing replicas, a replica in the place of its master and one that loads its data come to in a service:
// test/e2e/redis-refusals.test.ts.

let server: LocalServer
let ofCluster: LocalServer
let admin: Redis
const clients: Redis[] = []
beforeAll(async () => {
  server = await startRedis({ say: tell })
  ofCluster = await startRedis({ say: tell, args: ['--cluster-enabled', 'yes', '--cluster-port', '0'] })
  admin = client(server)
})
afterAll(async () => {
  for (const one of clients) one.disconnect()
  await Promise.all([server, ofCluster].map((one) => one?.close()))
})

function client(of: LocalServer, user?: { username: string; password: string }): Redis {
  const { port } = new URL(of.settings.REDIS_URL ?? '')
  const one = new Redis({
    host: '127.0.0.1',
    port: Number(port),
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    ...user,
  })
  one.on('error', () => {})
  clients.push(one)
  return one
}

const WRITES = luaOf("return redis.call('SET', KEYS[1], ARGV[1])")

/** What is made of a command's refusal, and of a script's. */
async function faultsOf(one: Redis): Promise<(string | undefined)[]> {
  const tried = [one.set('key', 'value'), WRITES(one, ['key'], ['value'])]
  return (await Promise.allSettled(tried)).map((end) =>
    end.status === 'fulfilled' ? 'none' : refusalOf(end.reason)?.fault,
  )
}

it('a password that is asked for since is known by its name', async () => {
  const before = client(server)
  await before.ping()
  await admin.call('ACL', 'SETUSER', 'leaver', 'on', '>one', '~*', '+@all')
  await admin.config('SET', 'requirepass', 'word')
  try {
    expect(await faultsOf(client(server))).toEqual(['access', 'access'])
    const said = await admin.call('AUTH', 'leaver', 'two').catch((error: unknown) => error)
    expect(refusalOf(said)).toMatchObject({ fault: 'access', says: expect.stringContaining('WRONGPASS') })
  } finally {
    await admin.config('SET', 'requirepass', '')
  }
})

it('a right that a user lacks is known by its name, also in a script', async () => {
  await admin.call('ACL', 'SETUSER', 'reader', 'on', '>word', '~*', '+@all', '-set')
  const reader = client(server, { username: 'reader', password: 'word' })
  expect(await faultsOf(reader)).toEqual(['rights', 'rights'])
  await admin.call('ACL', 'SETUSER', 'elsewhere', 'on', '>word', '~other:*', '+@all')
  expect(await faultsOf(client(server, { username: 'elsewhere', password: 'word' }))).toEqual(['rights', 'rights'])
})

it('a cluster with slots that nobody has is known by its name', async () => {
  expect(await faultsOf(client(ofCluster))).toEqual(['cluster-down', 'cluster-down'])
})

it('a replica that lost its master, and answers nothing, is known by its name', async () => {
  await admin.config('SET', 'replica-serve-stale-data', 'no')
  await admin.call('REPLICAOF', '127.0.0.1', '1')
  try {
    let found: unknown
    await eventually(async () => {
      found = await admin.get('key').catch((error: unknown) => refusalOf(error)?.fault)
      return found === 'master-down'
    }, 10_000)
    expect(found).toBe('master-down')
  } finally {
    await admin.call('REPLICAOF', 'NO', 'ONE')
  }
})
