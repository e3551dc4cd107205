import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { findOnPath } from '../../src/tools/stack/servers/command.ts'
import {
  freePort,
  type LocalServer,
  type RestartableServer,
  spawnServer,
} from '../../src/tools/stack/servers/local-server.ts'
import { startRedis } from '../../src/tools/stack/servers/redis.ts'
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

/** A master, a replica and one sentinel that is enough of a quorum; the master comes first. */
export async function startRedisSentinel(password: string): Promise<RedisServers<RestartableServer>> {
  const program = (await findOnPath('redis-server')) ?? (await findOnPath('valkey-server'))
  if (!program) throw new Error('no redis-server on the PATH')
  const [masterPort, replicaPort, port] = [await freePort(), await freePort(), await freePort()]
  const locked = ['--requirepass', password, '--masterauth', password]
  const atOnce = ['--repl-diskless-sync-delay', '0']
  const master = await startRedis({ say: tell, port: masterPort, args: [...locked, ...atOnce] })
  const following = ['--replicaof', `127.0.0.1 ${masterPort}`]
  const replica = await startRedis({ say: tell, port: replicaPort, args: [...locked, ...following] })
  await caughtUp(replicaPort, password)
  const folder = mkdtempSync(join(tmpdir(), 'gavel-sentinel-'))
  const file = join(folder, 'sentinel.conf')
  writeFileSync(
    file,
    [
      `bind 127.0.0.1`,
      `port ${port}`,
      `dir ${folder}`,
      `requirepass ${password}s`,
      `sentinel monitor gavel-test 127.0.0.1 ${masterPort} 1`,
      `sentinel auth-pass gavel-test ${password}`,
      'sentinel down-after-milliseconds gavel-test 1000',
      'sentinel failover-timeout gavel-test 5000',
      '',
    ].join('\n'),
  )
  const address = { host: '127.0.0.1', port }
  const sentinel = await spawnServer({
    name: 'Redis Sentinel',
    command: program,
    args: [file, '--sentinel'],
    temporaryFolder: folder,
    ready: async () => {
      const client = new Redis({ ...address, password: `${password}s`, lazyConnect: true, retryStrategy: null })
      client.on('error', () => {})
      try {
        // Before it has met the replica it has nobody to make the next master.
        await client.connect()
        return String(await client.call('SENTINEL', 'REPLICAS', 'gavel-test')).includes(String(replicaPort))
      } finally {
        client.disconnect()
      }
    },
    readyWithinMs: 30_000,
    say: tell,
  })
  const servers = [master, replica]
  return {
    settings: {
      GAVEL_REDIS_SENTINELS: `127.0.0.1:${port}`,
      GAVEL_REDIS_SENTINEL_MASTER: 'gavel-test',
      // One replica alone: where it took no writes without one, a failover would end all of them.
      GAVEL_REDIS_SPLIT_RISK: 'accept',
      GAVEL_REDIS_SENTINEL_PASSWORD: `${password}s`,
      GAVEL_REDIS_PASSWORD: password,
    },
    servers,
    close: async () => void (await Promise.all([sentinel, ...servers].map((server) => server.close()))),
  }
}
