import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { command as doctor } from '../../../src/app/commands/doctor.ts'
import { startApp } from '../../../src/app/composition/service.ts'
import type { Finding } from '../../../src/contracts/facts/finding.ts'
import type { LocalServer } from '../../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../../src/kit/stack/servers/redis.ts'
import {
  type CheckSettings,
  configurationFindings,
  redisFindings,
  refusalFor,
} from '../../../src/store/redis/checks.ts'
import { connect } from '../../../src/store/redis/connect.ts'
import { keysUnder } from '../../../src/store/redis/keys.ts'
import { COMMANDS, undeclaredRefusal } from '../../../src/store/redis/permissions.ts'
import { SCRIPTS } from '../../../src/store/redis/script-file.ts'
import { invocation } from '../../support/commands.ts'
import { eventually, settingsOf, silent, tell } from '../../support/pipeline.ts'
import { startRedisSentinel } from '../../support/redis-servers.ts'

const PREFIX = 'test-checks'
const DOCUMENTED = `on >secret ~{${PREFIX}}:* &{${PREFIX}}:* +@all -@admin -@dangerous +info`

let server: LocalServer
let replica: LocalServer
let admin: Redis
let ofReplica: Redis
let url: string
const portOf = (one: LocalServer) => new URL(one.settings.REDIS_URL ?? '').port
beforeAll(async () => {
  server = await startRedis({ say: tell })
  url = server.settings.REDIS_URL ?? ''
  admin = new Redis(url)
  replica = await startRedis({ say: tell })
  ofReplica = new Redis(replica.settings.REDIS_URL ?? '')
})
afterEach(async () => {
  await ofReplica.call('REPLICAOF', 'NO', 'ONE')
  for (const one of [admin, ofReplica])
    await one.config('SET', 'maxmemory-policy', 'noeviction', 'min-replicas-to-write', '0')
  await eventually(async () => (await admin.info('replication')).includes('connected_slaves:0'), 10_000)
})
afterAll(async () => {
  admin?.disconnect()
  ofReplica?.disconnect()
  await Promise.all([server, replica].map((one) => one?.close()))
})

const settingsAt = (at: string, change: Partial<CheckSettings> = {}): CheckSettings => ({
  ...settingsOf({ REDIS_URL: at, GAVEL_REDIS_PREFIX: PREFIX }).redis,
  ...change,
})

async function findings(at = url, change: Partial<CheckSettings> = {}) {
  const settings = settingsAt(at, change)
  const client = connect(settings, () => {}, 'fail-fast')
  try {
    return await redisFindings(client, settings)
  } finally {
    client.disconnect()
  }
}
const faults = (found: Awaited<ReturnType<typeof findings>>) =>
  found.filter(({ fault }) => fault !== undefined).map(({ fault, state }) => `${fault} ${state}`)

/** `run` and `doctor` on the same settings: what the one refuses, the other calls broken. */
async function expectRefused(at: string, why: string): Promise<void> {
  const settings = settingsOf({ REDIS_URL: at, GAVEL_REDIS_PREFIX: PREFIX, GAVEL_LOG_LEVEL: 'silent' })
  await expect(startApp(settings, ['publish'])).rejects.toThrow(why)
  const io = { terminal: silent, signal: new AbortController().signal }
  const told: readonly Finding[] = await doctor.run(invocation(settings, [], {}, io))
  const broken = told.filter(({ what, state }) => what.startsWith('Redis') && state === 'broken')
  expect(broken.map(({ detail }) => detail).join()).toContain(why)
}

async function replicated(): Promise<void> {
  await ofReplica.call('REPLICAOF', '127.0.0.1', portOf(server))
  await eventually(async () => (await ofReplica.info('replication')).includes('master_link_status:up'), 20_000)
  await eventually(async () => (await admin.info('replication')).includes('state=online'), 20_000)
}

describe('run and doctor refuse a Redis', () => {
  it('that evicts', async () => {
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    expect(faults(await findings())).toEqual(['eviction broken'])
    await expectRefused(url, 'maxmemory-policy allkeys-lru')
  })

  it('that has no database of this number', async () => {
    expect(faults(await findings(`${url}/15`))).toEqual([])
    expect(faults(await findings(`${url}/99`))).toEqual(['database broken'])
    await expectRefused(`${url}/99`, 'no database 99')
    expect(() => settingsOf({ REDIS_URL: `${url}/gavel` })).toThrow('database')
  })

  it.each([
    ['no scripts', '-@scripting', 'eval, evalsha'],
    ['no eval', '-eval', 'eval'],
    ['no hset', '-hset', 'hset'],
    ['no reading of streams', '-xreadgroup -xautoclaim', 'xreadgroup, xautoclaim'],
    ['no blocking', '-@blocking', 'bzpopmin'],
    ['other keys', 'resetkeys ~other:*', 'no access to these keys'],
  ])('whose user may do everything but one thing: %s', async (_, rule, named) => {
    await admin.call('ACL', 'SETUSER', 'narrow', 'reset', ...DOCUMENTED.split(' '), ...rule.split(' '))
    const at = url.replace('//', '//narrow:secret@')
    const found = await findings(at)
    expect(faults(found)).toEqual(['rights broken'])
    expect(found.at(-1)?.detail).toContain(named)
    await expectRefused(at, named)
  })

  it('that is replicated and takes writes without a replica', async () => {
    await replicated()
    expect(faults(await findings())).toEqual(['split broken', 'split broken'])
    await expectRefused(url, 'two masters')
    expect(faults(await findings(url, { splitRisk: 'accept' }))).toEqual([
      'split-accepted warning',
      'split-accepted warning',
    ])
  })

  it('with a replica that would evict, or accept writes alone, if promoted', async () => {
    await replicated()
    await admin.config('SET', 'min-replicas-to-write', '1')
    expect(faults(await findings())).toEqual(['split broken'])
    await ofReplica.config('SET', 'min-replicas-to-write', '1', 'maxmemory-policy', 'volatile-ttl')
    expect(faults(await findings())).toEqual(['eviction broken'])
    await ofReplica.config('SET', 'maxmemory-policy', 'noeviction')
    expect(faults(await findings())).toEqual([])
  })
})

describe('a Redis', () => {
  it('with the user that docs/connections.md names is in order, and nothing is left behind on it', async () => {
    await admin.call('ACL', 'SETUSER', 'documented', 'reset', ...DOCUMENTED.split(' '))
    await admin.flushall()
    const found = await findings(url.replace('//', '//documented:secret@'))
    expect(faults(found)).toEqual([])
    expect(refusalFor(found)).toBeNull()
    expect(await admin.dbsize()).toBe(0)
  })

  it('that hides its configuration is warned about, not refused', async () => {
    const client = connect(settingsAt(url), () => {}, 'fail-fast')
    const info = client.info.bind(client)
    const hidden = /^(maxmemory_policy|aof_enabled|connected_slaves|min_slaves_good_slaves):.*\r\n/gm
    client.info = (async (...sections: string[]) =>
      (await info(...(sections as []))).replace(hidden, '')) as typeof client.info
    const found = await redisFindings(client, settingsAt(url, { sentinels: ['a:1'] }))
    client.disconnect()
    expect(refusalFor(found)).toBeNull()
    expect(found.filter(({ state }) => state === 'warning').map(({ detail }) => detail)).toEqual([
      expect.stringContaining('maxmemory-policy'),
      expect.stringContaining('maxmemory'),
      expect.stringContaining('append-only'),
      expect.stringContaining('without a replica'),
    ])
  })
})

describe('the checks of doctor alone, which need more rights than the service', () => {
  async function configuration(settings: CheckSettings, asked = settings): Promise<string[]> {
    const client = connect(settings, () => {}, 'fail-fast')
    try {
      const found = await configurationFindings(client, asked)
      expect(found.every(({ state, todo }) => state === 'warning' && todo !== undefined)).toBe(true)
      return found.map(({ detail }) => detail)
    } finally {
      client.disconnect()
    }
  }

  it('is how soon a write is on the disk', async () => {
    expect(await admin.config('GET', 'appendonly')).toContain('yes')
    for (const [policy, says] of [
      ['no', [expect.stringContaining('(appendfsync no)')]],
      ['always', []],
      ['everysec', []],
    ] as const) {
      await admin.config('SET', 'appendfsync', policy)
      expect(await configuration(settingsAt(url)), policy).toEqual(says)
    }
    await admin.call('ACL', 'SETUSER', 'documented', 'reset', ...DOCUMENTED.split(' '))
    expect(await configuration(settingsAt(url.replace('//', '//documented:secret@')))).toEqual([
      expect.stringContaining('does not show its appendfsync'),
    ])
  })

  it('is whether a master that is cut off stops before another is promoted', { timeout: 120_000 }, async () => {
    const sentinels = await startRedisSentinel('word', { minReplicas: 1 })
    const master = new Redis({ host: '127.0.0.1', port: await sentinels.masterPort(), password: 'word' })
    try {
      const { redis } = settingsOf(sentinels.settings)
      // Its sentinels wait for a second.
      for (const [seconds, says] of [
        ['2', [expect.stringMatching(/takes writes for 2 s .* after 1 s/)]],
        ['1', []],
        ['0', [expect.stringContaining('for ever')]],
      ] as const) {
        await master.config('SET', 'min-replicas-max-lag', seconds)
        expect(await configuration(redis), seconds).toEqual(says)
      }
      expect(await configuration(redis, { ...redis, sentinelPassword: 'wrong' })).toEqual([
        expect.stringContaining('does not show this user whether it stops'),
      ])
    } finally {
      master.disconnect()
      await sentinels.close()
    }
  })
})

it.each([
  'ERR script tried accessing undeclared key, key: {test-checks}:probe/other',
  'ERR Script attempted to access keys that were not declared',
])('a server that takes no script which builds names of keys is told apart: %s', async (says) => {
  const client = connect(settingsAt(url), () => {}, 'fail-fast')
  try {
    expect(await undeclaredRefusal(client, keysUnder(PREFIX))).toBeNull()
    const refused = Object.assign(Object.create(client) as typeof client, {
      evalsha: (sha: string, count: number, ...given: string[]) =>
        given.some((one) => one.endsWith('/other'))
          ? Promise.reject(new Error(says))
          : client.evalsha(sha, count, ...given),
    })
    expect(await undeclaredRefusal(refused, keysUnder(PREFIX))).toBe(says)
    const found = (await redisFindings(refused, settingsAt(url))).filter(({ fault }) => fault === 'scripts')
    expect(found).toEqual([expect.objectContaining({ state: 'broken', detail: expect.stringContaining(says) })])
    expect(refusalFor(found)).toContain('--default_lua_flags=allow-undeclared-keys')
  } finally {
    client.disconnect()
  }
})

it('every command of a script, ours or BullMQ’s, is tried', () => {
  const ours = readdirSync(SCRIPTS, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.lua'))
    .map((name) => join(SCRIPTS, name))
  const bullmq = join(import.meta.dirname, '../../../node_modules/bullmq/dist/esm/scripts')
  const theirs = readdirSync(bullmq)
    .filter((name) => name.endsWith('.js'))
    .map((name) => join(bullmq, name))
  expect(theirs.length).toBeGreaterThan(40)
  const used = [...ours, ...theirs].flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/(?:rcall|redis\.p?call)\(\s*\\?['"]([A-Za-z]+)/g)].map(([, name]) =>
      (name ?? '').toUpperCase(),
    ),
  )
  const tried = new Set(COMMANDS.map((line) => line.split(' ', 1)[0] ?? ''))
  // Without the right to a channel a door looks for its answers each second, and says so (answers/put.lua).
  expect([...new Set(used)].filter((name) => name !== 'PUBLISH' && !tried.has(name))).toEqual([])
})
