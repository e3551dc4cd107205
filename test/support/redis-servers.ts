import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { findOnPath } from '../../src/kit/stack/servers/command.ts'
import {
  freePort,
  type LocalServer,
  type RestartableServer,
  spawnServer,
} from '../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import type { Certificates } from './certificates.ts'
import { eventually, tell } from './pipeline.ts'

/** Several servers of Redis that belong together, and the settings that lead to them, by their environment names. */
export interface RedisServers<Server = LocalServer> {
  readonly settings: Record<string, string>
  readonly servers: readonly Server[]
  close(): Promise<void>
}

const SLOTS = 16_384

/** A cluster of three masters without replicas; with certificates it speaks TLS alone. */
export async function startRedisCluster(
  password = '',
  certificates?: Certificates,
): Promise<RedisServers<RestartableServer>> {
  const locked = password === '' ? [] : ['--requirepass', password, '--masterauth', password]
  const nodes: { server: RestartableServer; client: Redis; port: number; busPort: number }[] = []
  const close = async () => {
    await Promise.all(nodes.map(({ server }) => server.close()))
  }
  try {
    for (let count = 0; count < 3; count++) {
      // The bus is 10,000 ports higher by default, where outgoing connections have theirs.
      const [port, busPort] = [await freePort(), await freePort()]
      const own = [
        '--cluster-enabled',
        'yes',
        '--cluster-port',
        String(busPort),
        '--cluster-config-file',
        `nodes-${port}`,
      ]
      const args = [...own, ...locked, ...(certificates ? ['--tls-cluster', 'yes'] : [])]
      const server = await startRedis({ say: tell, port, args, ...(certificates && { tls: certificates }) })
      const client = new Redis({
        host: '127.0.0.1',
        port,
        password,
        ...(certificates && { tls: { ca: readFileSync(certificates.ca) } }),
      })
      nodes.push({ server, client, port, busPort })
    }
    for (const [index, { client }] of nodes.entries()) {
      const [from, to] = [index, index + 1].map((share) => Math.ceil((share * SLOTS) / nodes.length))
      await client.call('CLUSTER', 'ADDSLOTSRANGE', from ?? 0, (to ?? 0) - 1)
      for (const other of nodes) await client.call('CLUSTER', 'MEET', '127.0.0.1', other.port, other.busPort)
    }
    await eventually(async () => {
      const states = await Promise.all(nodes.map(async ({ client }) => String(await client.cluster('INFO'))))
      return states.every((state) => state.includes('cluster_state:ok') && state.includes('cluster_known_nodes:3'))
    }, 20_000)
  } catch (error) {
    await close()
    throw error
  } finally {
    for (const { client } of nodes) client.disconnect()
  }
  return {
    settings: { GAVEL_REDIS_CLUSTER: nodes.map(({ port }) => `127.0.0.1:${port}`).join(',') },
    servers: nodes.map(({ server }) => server),
    close,
  }
}

/** Resolves when a replica has all that its master had; before that a failover would lead to an empty one. */
async function caughtUp(port: number, password: string): Promise<void> {
  const client = new Redis({ host: '127.0.0.1', port, password })
  try {
    await eventually(async () => (await client.info('replication')).includes('master_link_status:up'), 20_000)
  } finally {
    client.disconnect()
  }
}

interface SentinelOptions {
  readonly replicas?: number
  /** More than half of them agree on what to do. */
  readonly sentinels?: number
  readonly minReplicas?: number
}

/** A master, replicas and sentinels; the master comes first of the servers. */
export interface Sentinels extends RedisServers<RestartableServer> {
  /** Options of a client that goes where the sentinels say. */
  readonly client: {
    readonly sentinels: { readonly host: string; readonly port: number }[]
    readonly name: string
    readonly password: string
    readonly sentinelPassword: string
  }
  /** A user whose connections to all sentinels can be cut, and stay so until they are let in again. */
  readonly guest: { readonly settings: Record<string, string>; shutOut(): Promise<void>; letIn(): Promise<void> }
  /** The port of the master that most sentinels name now. */
  masterPort(): Promise<number>
}

/** A master, one replica and one sentinel, unless it is said otherwise. */
export async function startRedisSentinel(
  password: string,
  { replicas = 1, sentinels: watchers = 1, minReplicas = 0 }: SentinelOptions = {},
): Promise<Sentinels> {
  const masterPort = await freePort()
  const locked = ['--requirepass', password, '--masterauth', password]
  const own = [...locked, '--min-replicas-to-write', String(minReplicas), '--min-replicas-max-lag', '2']
  const master = await startRedis({ say: tell, port: masterPort, args: [...own, '--repl-diskless-sync-delay', '0'] })
  // Where there was none, the master's start has installed it.
  const program = await findOnPath('redis-server', 'valkey-server')
  if (!program) throw new Error('no redis-server on the PATH')
  const followers: { readonly port: number; readonly server: RestartableServer }[] = []
  for (let count = 0; count < replicas; count++) {
    const port = await freePort()
    const server = await startRedis({ say: tell, port, args: [...own, '--replicaof', `127.0.0.1 ${masterPort}`] })
    followers.push({ port, server })
  }
  await Promise.all(followers.map(({ port }) => caughtUp(port, password)))
  const ports = await Promise.all(Array.from({ length: watchers }, () => freePort()))
  const told = { password, masterPort, replicaPorts: followers.map(({ port }) => port), watchers }
  const watching = await Promise.all(ports.map((port) => startSentinel(program, port, told)))
  const each = (work: (client: Redis) => Promise<unknown>) =>
    Promise.all(
      ports.map(async (port) => {
        const client = new Redis({ host: '127.0.0.1', port, password: `${password}s` })
        try {
          return await work(client)
        } finally {
          client.disconnect()
        }
      }),
    )
  await each((client) => client.call('ACL', 'SETUSER', 'guest', 'on', `>${password}g`, '~*', '&*', '+@all'))
  const servers = [master, ...followers.map(({ server }) => server)]
  const settings = {
    GAVEL_REDIS_SENTINELS: ports.map((port) => `127.0.0.1:${port}`).join(),
    GAVEL_REDIS_SENTINEL_MASTER: 'gavel-test',
    GAVEL_REDIS_SENTINEL_PASSWORD: `${password}s`,
    GAVEL_REDIS_PASSWORD: password,
    // Where it took no writes without its only replica, a failover would end all of them.
    ...(minReplicas === 0 ? { GAVEL_REDIS_SPLIT_RISK: 'accept' } : {}),
  }
  return {
    settings,
    servers,
    client: {
      sentinels: ports.map((port) => ({ host: '127.0.0.1', port })),
      name: 'gavel-test',
      password,
      sentinelPassword: `${password}s`,
    },
    guest: {
      settings: { ...settings, GAVEL_REDIS_SENTINEL_USERNAME: 'guest', GAVEL_REDIS_SENTINEL_PASSWORD: `${password}g` },
      async shutOut() {
        await each(async (client) => {
          await client.call('ACL', 'SETUSER', 'guest', 'off')
          await client.call('CLIENT', 'KILL', 'USER', 'guest')
        })
      },
      letIn: async () => void (await each((client) => client.call('ACL', 'SETUSER', 'guest', 'on'))),
    },
    async masterPort() {
      const named = await each((client) => client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'gavel-test'))
      const counts = Map.groupBy(
        named.map((one) => Number((one as string[])[1])),
        (port) => port,
      )
      return [...counts].sort(([, a], [, b]) => b.length - a.length)[0]?.[0] ?? 0
    },
    close: async () => void (await Promise.all([...watching, ...servers].map((server) => server.close()))),
  }
}

/** Resolves when it has met all replicas and the other sentinels: before that it has nobody to make the next master. */
async function startSentinel(
  program: string,
  port: number,
  told: { password: string; masterPort: number; replicaPorts: readonly number[]; watchers: number },
) {
  const { password, masterPort, replicaPorts, watchers } = told
  const folder = mkdtempSync(join(tmpdir(), 'gavel-sentinel-'))
  const file = join(folder, 'sentinel.conf')
  writeFileSync(
    file,
    [
      `bind 127.0.0.1`,
      `port ${port}`,
      `dir ${folder}`,
      `requirepass ${password}s`,
      `sentinel sentinel-pass ${password}s`,
      `sentinel monitor gavel-test 127.0.0.1 ${masterPort} ${Math.floor(watchers / 2) + 1}`,
      `sentinel auth-pass gavel-test ${password}`,
      'sentinel down-after-milliseconds gavel-test 1000',
      'sentinel failover-timeout gavel-test 5000',
      '',
    ].join('\n'),
  )
  return spawnServer({
    name: 'Redis Sentinel',
    command: program,
    args: [file, '--sentinel'],
    temporaryFolder: folder,
    ready: async () => {
      const address = { host: '127.0.0.1', port }
      const client = new Redis({ ...address, password: `${password}s`, lazyConnect: true, retryStrategy: null })
      client.on('error', () => {})
      try {
        await client.connect()
        const replicas = String(await client.call('SENTINEL', 'REPLICAS', 'gavel-test'))
        const others = (await client.call('SENTINEL', 'SENTINELS', 'gavel-test')) as unknown[]
        return replicaPorts.every((one) => replicas.includes(String(one))) && others.length === watchers - 1
      } finally {
        client.disconnect()
      }
    },
    readyWithinMs: 30_000,
    say: tell,
  })
}
