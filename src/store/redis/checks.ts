import { Cluster, Redis } from 'ioredis'
import type { Finding } from '../../contracts/facts/finding.ts'
import type { RedisFault } from '../../contracts/ports/report.ts'
import { accessTo, databaseOf, type RedisSettings, sentinelConnections, serversOf } from './connect.ts'
import { keysUnder } from './keys.ts'
import { inMegabytes, LEAST_MEMORY } from './memory.ts'
import { deniedCommands, undeclaredRefusal } from './permissions.ts'
import { pairs } from './script.ts'

/** A finding about Redis. A warning with a fault is one that the settings accept. */
export interface RedisFinding extends Finding {
  readonly fault?: RedisFault
}

export interface CheckSettings extends RedisSettings {
  readonly prefix: string
  /** Whether a replicated Redis may take writes while no replica has them. */
  readonly splitRisk: 'refuse' | 'accept'
}

/** One server, as it describes itself. What it does not tell is undefined. */
interface Server {
  readonly name: string
  readonly info: (field: string) => string | undefined
  readonly config: (setting: string) => Promise<string | undefined>
}

/**
 * What Gavel needs of Redis and can ask of it with the rights that it needs itself, for `gavel doctor` and `gavel run` alike: each
 * server's settings, those of the replicas that may be promoted, the database, and the user's rights. What a server hides is a
 * warning.
 */
export async function redisFindings(client: Redis, settings: CheckSettings): Promise<RedisFinding[]> {
  const servers = serversOf(client)
  const masters = await Promise.all(
    servers.map(async (one) =>
      serverOf(servers.length === 1 ? 'Redis' : `Redis ${one.options.host}:${one.options.port}`, one),
    ),
  )
  const found = await Promise.all(
    masters.map(async (server) => [
      version(server),
      eviction(server),
      memoryLimit(server),
      appendOnly(server),
      split(server, { ...settings, replicated: isReplicated(server, settings) }),
      await coverage(server),
      ...(await replicaFindings(server, settings)),
    ]),
  )
  const ofUser = await Promise.all([database(client, settings), rights(client, settings), undeclared(client, settings)])
  return [...found.flat(), ...ofUser].filter((one) => one !== null)
}

/**
 * The rest of what is promised only under some settings, which a server reveals only to users who may read its configuration: warnings,
 * for `gavel doctor` alone.
 */
export async function configurationFindings(client: Redis, settings: CheckSettings): Promise<RedisFinding[]> {
  const servers = serversOf(client)
  const found = await Promise.all(
    servers.map(async (one) => {
      const server = await serverOf(
        servers.length === 1 ? 'Redis' : `Redis ${one.options.host}:${one.options.port}`,
        one,
      )
      return [
        await appendSync(server),
        isReplicated(server, settings) ? await replicaLag(server, await promotedAfterMs(server, settings)) : null,
      ]
    }),
  )
  return found.flat().filter((one) => one !== null)
}

/** What makes a service refuse to start, in one text; null if nothing does. */
export function refusalFor(findings: readonly RedisFinding[]): string | null {
  const broken = findings.filter(({ state }) => state === 'broken')
  if (broken.length === 0) return null
  return broken.map(({ what, detail, todo }) => `${what} ${detail}. ${todo ?? ''}`.trim()).join('\n')
}

async function serverOf(name: string, client: Redis): Promise<Server> {
  const info = await client.info()
  return {
    name,
    info: (field) => new RegExp(`^${field}:(.*)$`, 'm').exec(info)?.[1]?.trim(),
    // Where it is not allowed, as managed Redis does and for the user that docs/connections.md names, nothing is known.
    config: (setting) =>
      client.config('GET', setting).then(
        (found) => (found as string[])[1],
        () => undefined,
      ),
  }
}

function version({ name, info }: Server): RedisFinding {
  return { what: name, state: 'ok', detail: `version ${info('redis_version') ?? 'unknown'}` }
}

function eviction({ name, info }: Server): RedisFinding | null {
  const policy = info('maxmemory_policy')
  if (policy === 'noeviction') return null
  if (policy === undefined)
    return {
      what: name,
      state: 'warning',
      detail: 'does not show its maxmemory-policy',
      todo: 'Make sure that it is noeviction: journals and queues must not be evicted.',
    }
  return {
    what: name,
    state: 'broken',
    fault: 'eviction',
    detail: `may evict keys when memory is full (maxmemory-policy ${policy})`,
    todo: 'Set maxmemory-policy to noeviction: journals and queues must not be evicted.',
  }
}

function memoryLimit({ name, info }: Server): RedisFinding | null {
  const most = Number(info('maxmemory'))
  if (most > 0 && most < LEAST_MEMORY)
    return {
      what: name,
      state: 'warning',
      detail: `has a maxmemory of ${inMegabytes(most)}: what intake has in hand can fill it, and then nothing is judged`,
      todo: `Set maxmemory to at least ${inMegabytes(LEAST_MEMORY)}.`,
    }
  if (info('maxmemory') !== '0') return null
  return {
    what: name,
    state: 'warning',
    detail: `has no maxmemory: its share of the machine's memory (${info('total_system_memory_human') ?? 'unknown'}) is watched instead, and nothing keeps it from taking all of it`,
    todo: 'Set maxmemory below the memory of its machine or container.',
  }
}

function appendOnly({ name, info }: Server): RedisFinding | null {
  const enabled = info('aof_enabled')
  if (enabled === '1') return null
  if (enabled === undefined)
    return {
      what: name,
      state: 'warning',
      detail: 'does not show whether it has an append-only file',
      todo: 'Make sure that appendonly is yes, or that acknowledged writes are durable in another way.',
    }
  return {
    what: name,
    state: 'warning',
    detail: 'the append-only file is off: accepted data is lost if it restarts',
    todo: 'Set appendonly to yes.',
  }
}

async function appendSync({ name, info, config }: Server): Promise<RedisFinding | null> {
  if (info('aof_enabled') !== '1') return null
  const policy = await config('appendfsync')
  if (policy === 'always' || policy === 'everysec') return null
  const todo = 'Set appendfsync to everysec, or to always where not even the last second may be lost.'
  if (policy === undefined)
    return { what: name, state: 'warning', detail: 'does not show its appendfsync to this user', todo }
  return {
    what: name,
    state: 'warning',
    todo,
    detail: `writes its append-only file whenever the machine does (appendfsync ${policy}): half a minute of what it acknowledged may be lost with that`,
  }
}

/** After how long at the soonest another server is made the master, in ms; undefined if nobody tells. */
async function promotedAfterMs({ info, config }: Server, settings: CheckSettings): Promise<number | undefined> {
  if (info('cluster_enabled') === '1') return numberOf(await config('cluster-node-timeout'))
  const asked = sentinelConnections(settings).map(async (options) => {
    const client = new Redis({ ...options, lazyConnect: true, retryStrategy: () => null })
    client.on('error', () => {})
    try {
      await client.connect()
      const told = new Map(pairs((await client.call('SENTINEL', 'MASTER', settings.sentinelMaster)) as string[]))
      return numberOf(told.get('down-after-milliseconds'))
    } catch {
      return undefined
    } finally {
      client.disconnect()
    }
  })
  const known = (await Promise.all(asked)).filter((ms) => ms !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

/** A master that is cut off takes writes for as long as it counts a replica that is silent: longer than others wait for it. */
async function replicaLag({ name, config }: Server, promotedMs: number | undefined): Promise<RedisFinding | null> {
  const seconds = numberOf(await config('min-replicas-max-lag'))
  const todo =
    'Set min-replicas-max-lag (seconds) of all its servers below down-after-milliseconds of the sentinels, or cluster-node-timeout.'
  if (seconds === undefined || promotedMs === undefined)
    return {
      what: name,
      state: 'warning',
      todo,
      detail: 'does not show this user whether it stops accepting writes before another server may be promoted',
    }
  // 0 switches the count of replicas off.
  if (seconds > 0 && seconds * 1_000 <= promotedMs) return null
  return {
    what: name,
    state: 'warning',
    todo,
    detail: `takes writes for ${seconds === 0 ? 'ever' : `${seconds} s`} after its replicas were last heard (min-replicas-max-lag), and another may be promoted after ${promotedMs / 1_000} s: two masters may take writes in between`,
  }
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined || !/^\d+$/.test(text) ? undefined : Number(text)
}

function isReplicated({ info }: Server, { sentinels }: RedisSettings): boolean {
  return sentinels.length > 0 || Number(info('connected_slaves') ?? 0) > 0
}

/**
 * A master that was replaced and does not know it yet takes writes as long as it may without a replica. Redis tells of
 * `min-replicas-to-write` by one more line, if it is above 0.
 */
function split(
  { name, info }: Server,
  { splitRisk, replicated }: CheckSettings & { readonly replicated: boolean },
): RedisFinding | null {
  if (!replicated || info('min_slaves_good_slaves') !== undefined) return null
  const detail =
    'is replicated and accepts writes without a replica. At a failover two masters may accept writes for seconds, and an id may get two contents'
  if (info('connected_slaves') === undefined)
    return {
      what: name,
      state: 'warning',
      detail: 'does not show whether it accepts writes without a replica',
      todo: 'Make sure that min-replicas-to-write is at least 1 on all its servers.',
    }
  if (splitRisk === 'accept')
    return {
      what: name,
      state: 'warning',
      fault: 'split-accepted',
      detail: `${detail} (accepted: redis.splitRisk)`,
      todo: 'Set min-replicas-to-write to 1 on all its servers, and redis.splitRisk to refuse.',
    }
  return {
    what: name,
    state: 'broken',
    fault: 'split',
    detail,
    todo: 'Set min-replicas-to-write to 1 on all its servers (with two replicas, so that one may fail), or accept it with redis.splitRisk: accept (GAVEL_REDIS_SPLIT_RISK).',
  }
}

/** All keys lie in one slot: a cluster that stops when any slot is uncovered stops for masters that have none of them. */
async function coverage({ name, info, config }: Server): Promise<RedisFinding | null> {
  if (info('cluster_enabled') !== '1' || (await config('cluster-require-full-coverage')) !== 'yes') return null
  return {
    what: name,
    state: 'warning',
    detail: 'stops when any slot is uncovered, though all keys of a Gavel lie in one',
    todo: 'Set cluster-require-full-coverage to no, if nothing else uses the cluster.',
  }
}

/** Replicas may be promoted: what a master must not do, they must not do either. */
async function replicaFindings(master: Server, settings: CheckSettings): Promise<(RedisFinding | null)[]> {
  const addresses = Array.from({ length: MOST_REPLICAS }, (_, at) => master.info(`slave${at}`)).flatMap((line) => {
    const [, host, port] = /^ip=([^,]+),port=(\d+)/.exec(line ?? '') ?? []
    return host === undefined ? [] : [{ host, port: Number(port) }]
  })
  const found = await Promise.all(
    addresses.map(async (address) => {
      const name = `Redis ${address.host}:${address.port}, a replica`
      const client = new Redis({ ...accessTo(settings), ...address, lazyConnect: true, retryStrategy: () => null })
      client.on('error', () => {})
      try {
        await client.connect()
        const server = await serverOf(name, client)
        return [eviction(server), split(server, { ...settings, replicated: true })]
      } catch {
        const detail = 'can’t be asked from here whether it may be promoted safely'
        return [{ what: name, state: 'warning', detail } as const]
      } finally {
        client.disconnect()
      }
    }),
  )
  return found.flat()
}
const MOST_REPLICAS = 10

async function database(client: Redis | Cluster, settings: CheckSettings): Promise<RedisFinding | null> {
  const number = databaseOf(settings)
  if (number === 0 || client instanceof Cluster) return null
  try {
    await client.select(number)
    return null
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'no answer'
    return {
      what: 'Redis',
      state: 'broken',
      fault: 'database',
      detail: `has no database ${number} to use: ${reason}`,
      todo: 'Set the number at the end of REDIS_URL to one below its setting databases.',
    }
  }
}

async function rights(client: Redis, { prefix }: CheckSettings): Promise<RedisFinding | null> {
  const denied = await deniedCommands(client, keysUnder(prefix))
  if (denied.length === 0) return null
  const scripts = denied.some((name) => name.startsWith('eval')) ? ', and with it scripts,' : ''
  return {
    what: 'Redis',
    state: 'broken',
    fault: 'rights',
    detail: `refuses its user commands${scripts} that Gavel needs on keys under {${prefix}}: ${denied.join(', ')}`,
    todo: `Give it these rights: ACL SETUSER NAME ~{${prefix}}:* +@all -@admin -@dangerous +info (docs/connections.md).`,
  }
}

/** Scripts of Gavel and of BullMQ build names of keys from what they read. */
async function undeclared(client: Redis, { prefix }: CheckSettings): Promise<RedisFinding | null> {
  const says = await undeclaredRefusal(client, keysUnder(prefix))
  if (says === null) return null
  return {
    what: 'Redis',
    state: 'broken',
    fault: 'scripts',
    detail: `refuses scripts that build the names of keys, as Gavel's and BullMQ's do: ${says}`,
    todo: 'Start Dragonfly with --default_lua_flags=allow-undeclared-keys, or use another server (docs/connections.md).',
  }
}
