import { isIP } from 'node:net'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { Report } from '../../contracts/ports/report.ts'
import { type Address, type TlsSettings, tlsOptions, tlsTrouble } from '../../platform/tls.ts'

/** Where Redis is, according to the settings: one of `url`, `cluster` and `sentinels` is not empty. */
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

/** What a command does while Redis is unreachable: waits, or fails. */
type Kind = 'retrying' | 'fail-fast'

/** Commands of a fail-fast connection fail after this many attempts to connect. */
const TRIES = 4
const CONNECT_MS = 5_000
/**
 * A connection on which a command has waited this long, in ms, and nothing came, is replaced: where a network drops packets
 * in silence, the kernel would wait for a quarter of an hour. Longer than any command blocks (BullMQ's: 10 s).
 */
const SILENCE_MS = 15_000

const backOff = (times: number) => Math.min(50 * 2 ** Math.min(times, 6), 2_000)

/**
 * Opens a connection to Redis, at a URL or according to the settings. Commands of a `retrying` one wait until Redis is
 * back (for workers and the publisher); those of a `fail-fast` one fail after a few attempts to connect, so that the
 * caller can report it. Both find the new master after a failover. On a cluster it is ioredis' `Cluster`, which has the
 * same commands; there, a command that is in flight while the last node fails also fails on a retrying one. Throws an
 * `OperatorError` if no Redis is set or its TLS files can't be used.
 */
export function connect(at: string | RedisSettings, report: Report, kind: Kind): Redis {
  const settings = typeof at === 'string' ? { ...NOTHING_SET, url: at } : at
  const { url, cluster, sentinels } = settings
  if (url === '' && cluster.length === 0 && sentinels.length === 0)
    throw new OperatorError(`Redis is not set. ${ANYTHING_ELSE}`)
  const place = placeOf(url)
  const access = accessTo(settings)
  const { tls } = access
  // ioredis itself fails waiting commands only on a single server, and not those sent on an earlier connection.
  const retry = (times: number): number => {
    if (kind === 'fail-fast' && times % TRIES === 0) failWaiting(client, new NoAnswer(`no answer after ${TRIES} tries`))
    return backOff(times)
  }
  const client: Redis | Cluster =
    cluster.length > 0
      ? clusterClient(cluster.map(addressOf), { access, now: () => credentialsOf(settings) }, kind, retry)
      : withIoredisFixes(
          new Redis({
            ...access,
            // It asks a sentinel before this call returns.
            ...sentinelCredentialsOf(settings),
            ...(sentinels.length > 0 ? throughSentinels(sentinels.map(addressOf), settings, tls) : place?.address),
            sentinelRetryStrategy: retry,
            maxRetriesPerRequest: null,
            retryStrategy: retry,
          }),
          () => ({ ...credentialsOf(settings), ...sentinelCredentialsOf(settings) }),
        )
  client.on('error', (error: unknown) => report('error', { where: 'redis', error }))
  return client as Redis
}

/**
 * Fixes for ioredis, on a client and its duplicates (BullMQ makes some): one write for many commands, clean ends, of a
 * client and of a connection, and the credentials of the time of each connection.
 */
function withIoredisFixes(client: Redis, now: () => Credentials): Redis {
  const duplicate = client.duplicate.bind(client)
  client.duplicate = (override) => withIoredisFixes(duplicate(override), now)
  withCredentials(client.options, now)
  return withCleanEnd(withPromptChange(withEarlyCommands(withOneWrite(client))))
}

/**
 * Sends all commands that one callback issues, directly or through the promises that it settles, in one write right
 * after it, before the event loop continues: a system call costs more than a command. Not by ioredis' automatic
 * pipelining, which keeps each command with its arguments until V8's next full collection (an accessor defined on each
 * pipeline is a hidden class of its own).
 */
function withOneWrite(client: Redis): Redis {
  const sendCommand = client.sendCommand.bind(client)
  let corked: Redis['stream'] | null = null
  const uncork = () => {
    corked?.uncork()
    corked = null
  }
  client.sendCommand = (command, stream) => {
    // There is no stream before the first connection.
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
 * ioredis writes commands that Redis answers before it is ready (INFO) as soon as a connection opens, and forgets them
 * if the connection is lost before it is ready: their callers would wait forever. They are sent again on the next
 * connection.
 */
function withEarlyCommands(client: Redis): Redis {
  const queues = client as unknown as WithQueues
  client.on('close', () => {
    // ioredis itself resends what was sent on a connection that was ready.
    if (queues.commandQueue === queues.prevCommandQueue) return
    for (let item = queues.commandQueue.shift(); item !== undefined; item = queues.commandQueue.shift())
      if (!ITS_OWN.has(item.command.name) && item.command.callback === undefined) queues.offlineQueue.push(item)
  })
  return client
}
/** Commands by which ioredis sets up each connection, besides the INFO that it sends with a callback. */
const ITS_OWN: ReadonlySet<string> = new Set(['auth', 'client', 'hello', 'readonly', 'select'])

/**
 * ioredis does not end a client that is waiting to reconnect, and never answers commands sent on an earlier connection:
 * a caller that waits for either (as BullMQ does) waits forever.
 */
function withCleanEnd(client: Redis): Redis {
  const disconnect = client.disconnect.bind(client)
  client.disconnect = (reconnect = false) => {
    // It does end a client that has not started to connect.
    if (!reconnect && client.status === 'reconnecting') client.status = 'wait'
    disconnect(reconnect)
  }
  client.on('end', () => failWaiting(client, new NoAnswer('the connection was closed')))
  return client
}

/**
 * When the sentinels name another master, ioredis still listens for 2 s to the one that was replaced. If that one stood still
 * and wakes, it executes the commands that wait in its sockets, before it notices that its replicas are gone, and answers
 * them. Those answers are not heard: the commands are sent again, to the new master.
 */
function withPromptChange(client: Redis): Redis {
  // ioredis' types leave out the connector, which alone knows of the change.
  const inside = client as unknown as WithConnector
  const { connector } = inside
  const disconnect = connector.disconnect.bind(connector)
  connector.disconnect = () => {
    const { stream } = connector
    disconnect()
    if (!inside.manuallyClosing) stream?.destroy()
  }
  return client
}
/** Parts of ioredis that its types don't show: it has no option for this. */
interface WithConnector {
  readonly connector: { readonly stream?: NodeJS.ReadableStream & { destroy(): void }; disconnect(): void }
  readonly manuallyClosing: boolean
}

type Credentials = Pick<RedisOptions, 'username' | 'password' | 'sentinelUsername' | 'sentinelPassword'>

/** ioredis reads its options at each connection: so it logs in with what holds then. */
export function withCredentials<Options extends Credentials>(options: Options, now: () => Credentials): Options {
  for (const name of ['username', 'password', 'sentinelUsername', 'sentinelPassword'] as const)
    Object.defineProperty(options, name, { configurable: true, enumerable: true, get: () => now()[name] })
  return options
}

type Access = Pick<RedisOptions, 'username' | 'password' | 'tls' | 'connectTimeout' | 'socketTimeout'>
interface Sent {
  readonly command: { readonly name: string; readonly callback?: unknown; reject(error: Error): void }
}
/** Commands waiting to be sent, commands sent on this connection, and those of the previous connection. */
interface WithQueues {
  flushQueue(error: Error): void
  readonly offlineQueue: { push(item: Sent): void }
  readonly commandQueue: { shift(): Sent | undefined }
  readonly prevCommandQueue?: { shift(): Sent | undefined } | null
}

/** A command got no answer: the connection was lost, or could not be made. */
class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

/** Whether Redis gave no answer, as far as ioredis and this module say so. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof NoAnswer || (error instanceof Error && UNANSWERED.test(error.message))
}
const UNANSWERED =
  /^Connection is closed|Stream isn't writeable|Socket timeout|Command timed out|All sentinels are unreachable|Failed to refresh slots cache|^None of startup nodes|^connect E[A-Z]+ /

/** These queues are private to ioredis: it has no public way to fail waiting commands and stay connected. */
function failWaiting(client: Redis | Cluster, error: Error): void {
  const queues = client as unknown as WithQueues
  queues.flushQueue(error)
  const sent = queues.prevCommandQueue
  for (let item = sent?.shift(); item !== undefined; item = sent?.shift()) item.command.reject(error)
}

function throughSentinels(
  sentinels: Address[],
  settings: Pick<RedisSettings, 'sentinelMaster'>,
  tls: Access['tls'],
): Omit<RedisOptions, 'replyMapping'> {
  return {
    sentinels,
    name: settings.sentinelMaster,
    ...(tls === undefined ? {} : { enableTLSForSentinelMode: true, sentinelTLS: tls }),
    sentinelCommandTimeout: CONNECT_MS,
    failoverDetector: true,
    // A demoted master that kept the connection open: 2 means reconnect, and resend the command to the new master.
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 2 : false),
  }
}

function clusterClient(
  nodes: Address[],
  { access, now }: { access: Access; now: () => Credentials },
  kind: Kind,
  retry: (times: number) => number,
): Cluster {
  const client = new Cluster(nodes, {
    enableAutoPipelining: true,
    redisOptions: { ...access, maxRetriesPerRequest: null },
    // Keeps the host's name, which TLS checks; a lookup would replace it by the address.
    dnsLookup: (name, done) => done(null, name),
    slotsRefreshTimeout: CONNECT_MS,
    // How often a command is redirected to another node, or waits 100 ms for one to take over.
    maxRedirections: kind === 'retrying' ? Number.POSITIVE_INFINITY : 16,
    retryDelayOnMoved: 20,
    clusterRetryStrategy: retry,
  })
  return withNodesCredentials(client, now)
}

/**
 * Has all connections of a cluster's client, and of its duplicates (BullMQ makes some), log in with the credentials of the time. ioredis
 * makes them of copies: of the options that the client was given, and of those of a node that it has.
 */
function withNodesCredentials(client: Cluster, now: () => Credentials): Cluster {
  const duplicate = client.duplicate.bind(client)
  client.duplicate = (...given) => withNodesCredentials(duplicate(...given), now)
  withCredentials(client.options.redisOptions ?? {}, now)
  client.on('+node', (node: Redis) => void withCredentials(node.options, now))
  return client
}

/** The number of the database that a URL names; 0 on a cluster and under sentinels. NaN if it is no number. */
export function databaseOf({ url }: Pick<RedisSettings, 'url'>): number {
  return placeOf(url)?.address.db ?? 0
}

/** User, password and TLS for another server of the same Redis. */
export function accessTo(settings: RedisSettings): Access {
  const secure = secured(placeOf(settings.url), settings.tls)
  return {
    ...credentialsOf(settings),
    ...(secure === undefined ? {} : { tls: secure }),
    connectTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
  }
}

function credentialsOf({ url, username, password }: RedisSettings): Credentials {
  const place = placeOf(url)
  return credentials(username || place?.username, password || place?.password)
}

function sentinelCredentialsOf({ sentinels, sentinelUsername, sentinelPassword }: RedisSettings): Credentials {
  return {
    ...(sentinels.length === 0 || sentinelUsername === '' ? {} : { sentinelUsername }),
    ...(sentinels.length === 0 || sentinelPassword === '' ? {} : { sentinelPassword }),
  }
}

/** User and password for the sentinels themselves. */
export function accessToSentinels({ sentinelUsername, sentinelPassword }: RedisSettings): Credentials {
  return credentials(sentinelUsername, sentinelPassword)
}

/** How to connect to each of the sentinels that are set. */
export function sentinelConnections(settings: RedisSettings): Omit<RedisOptions, 'replyMapping'>[] {
  const { tls, connectTimeout } = accessTo(settings)
  return settings.sentinels.map((address) => ({
    ...addressOf(address),
    ...accessToSentinels(settings),
    ...(tls === undefined ? {} : { tls }),
    connectTimeout,
    maxRetriesPerRequest: 0,
    retryStrategy: backOff,
  }))
}

/** The servers behind a connection: the masters of a cluster, otherwise the one server. */
export function serversOf(client: Redis | Cluster): readonly Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client]
}

/**
 * Throws an error for a person, with what to set and without secrets, if a new fail-fast connection gets no answer or
 * meets silence, or its Redis is of another kind than the settings say.
 */
export async function checkRedis(client: Redis, settings: RedisSettings): Promise<void> {
  const where = redisAddresses(settings)
  const heard: string[] = []
  const silence = Promise.withResolvers<never>()
  const hear = (error: unknown) => heard.push(...messagesOf(error))
  // A single silent node or sentinel is no trouble: another answers.
  const hearAll = (error: unknown) => {
    if (messagesOf(error).some((message) => SILENT.test(message))) silence.reject(error)
  }
  const events = ['error', 'node error', 'sentinelError']
  for (const event of events) client.on(event, hear)
  client.on('error', hearAll)
  try {
    const isNode = /^cluster_enabled:1/m.test(await Promise.race([client.info('cluster'), silence.promise]))
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
    client.off('error', hearAll)
  }
}

/** ioredis's messages about a server, of sentinels and of a cluster's nodes that took a connection and were silent. */
const SILENT = /Socket timeout|Command timed out|^timeout$/m
const ANYTHING_ELSE = 'Set REDIS_URL, or start local servers with "gavel stack".'

/** Which setting to change, judged by Redis's reply; null if unknown. */
function refusal(heard: string, { cluster, sentinels, sentinelMaster }: RedisSettings): string | null {
  const atSentinel = /All sentinels are unreachable.*(WRONGPASS|NOAUTH)/.test(heard)
  const password = atSentinel
    ? 'redis.sentinelUsername and redis.sentinelPassword (GAVEL_REDIS_SENTINEL_PASSWORD)'
    : cluster.length > 0 || sentinels.length > 0
      ? 'redis.username and redis.password (GAVEL_REDIS_PASSWORD)'
      : 'redis.username and redis.password (GAVEL_REDIS_PASSWORD), or both in REDIS_URL'
  if (/WRONGPASS|invalid password/.test(heard)) return `It rejected the user and password: set ${password}.`
  if (/NOAUTH/.test(heard)) return `It requires a password: set ${password}.`
  if (/NOPERM/.test(heard)) return 'Its user lacks rights that Gavel needs: see docs/connections.md.'
  if (/invalid reply: null/.test(heard))
    return `Its sentinels know no master called ${sentinelMaster}: set redis.sentinelMaster.`
  if (SILENT.test(heard)) return `Something takes connections there and answers nothing. ${ANYTHING_ELSE}`
  if (/cluster support disabled/.test(heard)) return 'It is not a cluster: set REDIS_URL and leave redis.cluster empty.'
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
  // Servers with several certificates choose one by this name; an address is not a name.
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
