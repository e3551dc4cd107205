import { isIP } from 'node:net'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { OperatorError } from '../../domain/errors.ts'
import type { Report } from '../../ports/report.ts'
import { type Address, type TlsSettings, tlsOptions, tlsTrouble } from '../tls.ts'

/** Where Redis is, as the settings give it: one of `url`, `cluster` and `sentinels` is not empty. */
export interface RedisSettings {
  readonly url: string
  readonly cluster: readonly string[]
  readonly sentinels: readonly string[]
  readonly sentinelMaster: string
  readonly sentinelUsername: string
  readonly sentinelPassword: string
  readonly username: string
  readonly password: string
  readonly tls: TlsSettings
}

/** What a command does while Redis is away: waits, or fails. */
type Kind = 'retrying' | 'fail-fast'

/** Commands of a fail-fast connection fail after so many tries to connect. */
const TRIES = 4
const CONNECT_MS = 5_000

const backOff = (times: number) => Math.min(50 * 2 ** Math.min(times, 6), 2_000)

/**
 * Opens a connection to Redis, at a URL or as the settings say. Commands of a `retrying` one wait until Redis is back (for
 * workers and the publisher); those of a `fail-fast` one fail after a few tries to connect, so that their caller can report
 * it. Both find the new master after a failover. On a cluster it is ioredis' `Cluster`, which has the same commands; there a
 * command that is in flight while the last node goes fails on a retrying one too. Throws an `OperatorError` if no Redis is
 * set or its TLS files can't be used.
 */
export function connect(at: string | RedisSettings, report: Report, kind: Kind): Redis {
  const { url, cluster, sentinels, ...settings } = typeof at === 'string' ? { ...NOTHING_SET, url: at } : at
  if (url === '' && cluster.length === 0 && sentinels.length === 0)
    throw new OperatorError(`Redis is not set. ${ANYTHING_ELSE}`)
  const place = placeOf(url)
  const tls = secured(place, settings.tls)
  const access = {
    ...credentials(settings.username || place?.username, settings.password || place?.password),
    ...(tls === undefined ? {} : { tls }),
    connectTimeout: CONNECT_MS,
  }
  // ioredis by itself fails waiting commands on a single server only, and there not those that an earlier connection had sent.
  const retry = (times: number): number => {
    if (kind === 'fail-fast' && times % TRIES === 0) failWaiting(client, new Error(`no answer after ${TRIES} tries`))
    return backOff(times)
  }
  const client: Redis | Cluster =
    cluster.length > 0
      ? clusterClient(cluster.map(addressOf), access, kind, retry)
      : withIoredisFixes(
          new Redis({
            ...access,
            ...(sentinels.length > 0 ? throughSentinels(sentinels.map(addressOf), settings, tls) : place?.address),
            sentinelRetryStrategy: retry,
            maxRetriesPerRequest: null,
            retryStrategy: retry,
          }),
        )
  client.on('error', (error: unknown) => report('error', { where: 'redis', error }))
  return client as Redis
}

/** Fixes for ioredis, on a client and its duplicates (BullMQ makes some): one write for many commands, and a clean end. */
function withIoredisFixes(client: Redis): Redis {
  const duplicate = client.duplicate.bind(client)
  client.duplicate = (override) => withIoredisFixes(duplicate(override))
  return withCleanEnd(withEarlyCommands(withOneWrite(client)))
}

/**
 * Sends all commands that one callback issues, with the promises that it settles, in one write, since a system call costs more
 * than a command; and right after it, before the event loop goes on. Not by ioredis' automatic pipelining, which keeps each
 * command with its arguments until V8's next full collection (an accessor defined on each pipeline is a hidden class of its
 * own).
 */
function withOneWrite(client: Redis): Redis {
  const sendCommand = client.sendCommand.bind(client)
  let corked: Redis['stream'] | null = null
  const uncork = () => {
    corked?.uncork()
    corked = null
  }
  client.sendCommand = (command, stream) => {
    // There is none before the first connection.
    if (corked === null && client.stream) {
      corked = client.stream
      corked.cork()
      process.nextTick(uncork)
    }
    return sendCommand(command, stream)
  }
  return client
}

/**
 * What a Redis answers before it is ready (INFO) ioredis writes as soon as a connection opens, and forgets if that connection
 * is lost before it is ready: whoever waits for the answer waits for ever. It goes out again on the next connection.
 */
function withEarlyCommands(client: Redis): Redis {
  const queues = client as unknown as WithQueues
  client.on('close', () => {
    // What was sent on a connection that was ready is sent again by ioredis itself.
    if (queues.commandQueue === queues.prevCommandQueue) return
    for (let item = queues.commandQueue.shift(); item !== undefined; item = queues.commandQueue.shift())
      if (!ITS_OWN.has(item.command.name) && item.command.callback === undefined) queues.offlineQueue.push(item)
  })
  return client
}
/** By which ioredis sets a connection up, beside the INFO that it asks with a callback: each connection gets its own. */
const ITS_OWN: ReadonlySet<string> = new Set(['auth', 'client', 'hello', 'readonly', 'select'])

/**
 * ioredis does not end a client that waits before its next try to connect, and never answers commands that an earlier
 * connection had sent: a caller that waits for either (BullMQ does) waits for ever.
 */
function withCleanEnd(client: Redis): Redis {
  const disconnect = client.disconnect.bind(client)
  client.disconnect = (reconnect = false) => {
    // It does end a client that has not started to connect.
    if (!reconnect && client.status === 'reconnecting') client.status = 'wait'
    disconnect(reconnect)
  }
  client.on('end', () => failWaiting(client, new Error('the connection was closed')))
  return client
}

type Access = Pick<RedisOptions, 'username' | 'password' | 'tls' | 'connectTimeout'>
interface Sent {
  readonly command: { readonly name: string; readonly callback?: unknown; reject(error: Error): void }
}
/** Commands that wait to be sent, those that were sent on this connection, and those of the one before. */
interface WithQueues {
  flushQueue(error: Error): void
  readonly offlineQueue: { push(item: Sent): void }
  readonly commandQueue: { shift(): Sent | undefined }
  readonly prevCommandQueue?: { shift(): Sent | undefined } | null
}

/** These queues are private to ioredis: it has no public way to fail what waits and stay connected. */
function failWaiting(client: Redis | Cluster, error: Error): void {
  const queues = client as unknown as WithQueues
  queues.flushQueue(error)
  const sent = queues.prevCommandQueue
  for (let item = sent?.shift(); item !== undefined; item = sent?.shift()) item.command.reject(error)
}

function throughSentinels(
  sentinels: Address[],
  settings: Pick<RedisSettings, 'sentinelMaster' | 'sentinelUsername' | 'sentinelPassword'>,
  tls: Access['tls'],
): Omit<RedisOptions, 'replyMapping'> {
  return {
    sentinels,
    name: settings.sentinelMaster,
    ...(settings.sentinelUsername === '' ? {} : { sentinelUsername: settings.sentinelUsername }),
    ...(settings.sentinelPassword === '' ? {} : { sentinelPassword: settings.sentinelPassword }),
    ...(tls === undefined ? {} : { enableTLSForSentinelMode: true, sentinelTLS: tls }),
    failoverDetector: true,
    // A master that was demoted and kept the connection open: 2 reconnects and sends the command again, to the new one.
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 2 : false),
  }
}

function clusterClient(nodes: Address[], access: Access, kind: Kind, retry: (times: number) => number): Cluster {
  return new Cluster(nodes, {
    enableAutoPipelining: true,
    redisOptions: { ...access, maxRetriesPerRequest: null },
    // Keeps the host's name, which TLS checks; a lookup would leave it the address alone.
    dnsLookup: (name, done) => done(null, name),
    slotsRefreshTimeout: CONNECT_MS,
    // How often a command goes on to another node, or waits 100 ms for the one that takes over.
    maxRedirections: kind === 'retrying' ? Number.POSITIVE_INFINITY : 16,
    retryDelayOnMoved: 20,
    clusterRetryStrategy: retry,
  })
}

/** The servers themselves behind a connection: the masters of a cluster, else the one. */
export function serversOf(client: Redis | Cluster): readonly Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client]
}

/**
 * Throws an error for a person, with what to set and no secret in it, if a fail-fast connection that was just opened gets
 * no answer, or its Redis is of another kind than the settings say.
 */
export async function checkRedis(client: Redis, settings: RedisSettings): Promise<void> {
  const where = redisAddresses(settings)
  const heard: string[] = []
  const hear = (error: unknown) => heard.push(...messagesOf(error))
  const events = ['error', 'node error', 'sentinelError']
  for (const event of events) client.on(event, hear)
  try {
    const isNode = /^cluster_enabled:1/m.test(await client.info('cluster'))
    if (isNode && settings.cluster.length === 0)
      throw new OperatorError(
        `The Redis at ${where.join(', ')} is a node of a cluster: set redis.cluster to its nodes instead.`,
      )
  } catch (error) {
    if (error instanceof OperatorError) throw error
    hear(error)
    const what = refusal(heard.join('\n'), settings) ?? (await tlsRefusal(settings)) ?? ANYTHING_ELSE
    throw new OperatorError(`Redis does not answer at ${where.join(', ')}. ${what}`, { cause: error })
  } finally {
    for (const event of events) client.off(event, hear)
  }
}

const ANYTHING_ELSE = 'Set REDIS_URL, or start local servers with "gavel stack".'

/** Which setting to change, by what Redis replied; null if nothing is known about it. */
function refusal(heard: string, { cluster, sentinels, sentinelMaster }: RedisSettings): string | null {
  const atSentinel = /All sentinels are unreachable.*(WRONGPASS|NOAUTH)/.test(heard)
  const password = atSentinel
    ? 'redis.sentinelUsername and redis.sentinelPassword (GAVEL_REDIS_SENTINEL_PASSWORD)'
    : cluster.length > 0 || sentinels.length > 0
      ? 'redis.username and redis.password (GAVEL_REDIS_PASSWORD)'
      : 'redis.username and redis.password (GAVEL_REDIS_PASSWORD), or both in REDIS_URL'
  if (/WRONGPASS|invalid password/.test(heard)) return `It refuses user and password: set ${password}.`
  if (/NOAUTH/.test(heard)) return `It asks for a password: set ${password}.`
  if (/NOPERM/.test(heard)) return 'Its user may not do what Gavel does: see docs/connections.md for the rights.'
  if (/invalid reply: null/.test(heard))
    return `Its sentinels know no master called ${sentinelMaster}: set redis.sentinelMaster.`
  if (/cluster support disabled/.test(heard)) return 'It is no cluster: set REDIS_URL and leave redis.cluster empty.'
  return null
}

async function tlsRefusal(settings: RedisSettings): Promise<string | null> {
  const place = placeOf(settings.url)
  const options = secured(place, settings.tls)
  const addresses = place === undefined ? [...settings.cluster, ...settings.sentinels].map(addressOf) : [place.address]
  for (const address of addresses) {
    const trouble = await tlsTrouble(address, options, 'redis.tls')
    if (trouble !== null) return trouble
  }
  return null
}

/** Where the settings look for Redis, without secrets. */
export function redisAddresses({ url, cluster, sentinels }: RedisSettings): readonly string[] {
  const place = url === '' ? undefined : new URL(url)
  return place === undefined ? [...cluster, ...sentinels] : [`${place.protocol}//${place.host}${place.pathname}`]
}

function placeOf(url: string) {
  if (url === '') return undefined
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  const address = {
    host: hostname.replace(/^\[|\]$/g, '') || '127.0.0.1',
    port: Number(port || 6379),
    db: Number(pathname.slice(1) || 0),
  }
  const credentials = { username: decodeURIComponent(username), password: decodeURIComponent(password) }
  return { address, ...credentials, tls: protocol === 'rediss:' }
}

function addressOf(text: string): Address {
  const colon = text.lastIndexOf(':')
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) }
}

function secured(place: ReturnType<typeof placeOf>, tls: TlsSettings) {
  if (!place?.tls && !tls.enabled) return undefined
  // Servers with several certificates choose by this name, which an address is not.
  const serverName = tls.serverName || (place === undefined || isIP(place.address.host) ? '' : place.address.host)
  return tlsOptions({ ...tls, serverName }, 'redis.tls')
}

function credentials(username = '', password = '') {
  return { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) }
}

function messagesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return []
  const inner = 'lastNodeError' in error ? messagesOf(error.lastNodeError) : []
  return [error.message, ...inner]
}

const NOTHING_SET: RedisSettings = {
  url: '',
  cluster: [],
  sentinels: [],
  sentinelMaster: '',
  sentinelUsername: '',
  sentinelPassword: '',
  username: '',
  password: '',
  tls: { enabled: false, ca: '', cert: '', key: '', serverName: '' },
}
