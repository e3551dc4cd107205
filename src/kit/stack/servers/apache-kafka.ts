import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isClone, root, userCache } from '../../../platform/package-folder.js'
import { findOnPath, runCommand } from './command.ts'
import { describesCluster } from './kafka-probe.ts'
import {
  freePort,
  type RestartableServer,
  type SayLine,
  type SpawnedServer,
  spawnServer,
  temporaryFolder,
  UnavailableError,
} from './local-server.ts'

export interface ApacheKafkaOptions {
  readonly say: SayLine
  /** Where the jars are kept for the next time. Default: .cache in the project. */
  readonly cacheDirectory?: string
  /** Addresses of proxies: for each the broker opens a listener of its own, and refers its clients to the proxy. */
  readonly proxies?: readonly string[]
  /** A second listener, which asks for TLS and a user and password: `settings` then lead to it. */
  readonly secured?: SecuredListener
  /** The one of several brokers that it is. */
  readonly node?: ClusterNode
  /** Default: a free one. */
  readonly port?: number
  /** Where its data go, and stay. Default: a temporary folder. */
  readonly directory?: string
}

/** A broker among others, each of which holds a copy of everything: two of three are enough. */
export interface ClusterNode {
  /** From 1 on. */
  readonly id: number
  /** The addresses of all controllers, in the order of their brokers. */
  readonly controllers: readonly string[]
}

export interface SecuredListener {
  /** Path of a PEM file: the key, and its certificate for 127.0.0.1. */
  readonly keyStore: string
  /** Passwords by user, letters and digits, for the SASL mechanism PLAIN. */
  readonly plain: Readonly<Record<string, string>>
  /** The same for SCRAM-SHA-512. */
  readonly scram: Readonly<Record<string, string>>
}

export interface ApacheKafka extends RestartableServer {
  readonly kind: 'apache'
  /** Where each proxy finds the broker, in the order of `proxies`. */
  readonly behind: readonly string[]
  /** The listener that asks for nothing. */
  readonly openAddress: string
  /** The folder of its topics' files. */
  readonly data: string
}

/**
 * Apache Kafka itself: one node in KRaft mode on 127.0.0.1, of the version that config/kafka/pom.xml names, without
 * automatic topics. The first start takes Maven and its registry; later ones only Java. Fails with UnavailableError,
 * which names what is missing, where Java 17, Maven or the registry can't be had.
 */
export async function startApacheKafka(options: ApacheKafkaOptions): Promise<ApacheKafka> {
  const { say, cacheDirectory = defaultCacheDirectory(), proxies = [], secured } = options
  const java = await findJava()
  const kafka = await fetchKafka(java, join(cacheDirectory, 'kafka'), say)
  const archive = await classArchive(java, kafka, say)
  const behind: string[] = []
  for (const _ of proxies) behind.push(`127.0.0.1:${await freePort()}`)
  const listeners = proxies.map((proxy, index) => ({ at: behind[index] ?? '', advertised: proxy }))
  const guarded = secured && { at: `127.0.0.1:${await freePort()}`, ...secured }
  const {
    server,
    address: openAddress,
    folder,
  } = await startNode(java, kafka, archive, say, listeners, guarded, options)
  const address = guarded?.at ?? openAddress
  return {
    kind: 'apache',
    behind,
    openAddress,
    data: join(folder, 'data'),
    what: `Apache Kafka ${kafka.version} (one node, KRaft) on ${address}, data in ${folder}`,
    settings: { KAFKA_BROKERS: address },
    get pid() {
      return server.pid
    },
    kill: server.kill,
    restart: server.restart,
    close: server.close,
  }
}

interface Java {
  readonly program: string
  readonly version: string
}

interface Listener {
  readonly at: string
  readonly advertised: string
}

interface GuardedListener extends SecuredListener {
  readonly at: string
}

interface Installation {
  readonly version: string
  readonly folder: string
}

// A short-lived broker on a busy machine: quick to start matters more than top speed or a small pause.
const JVM = ['-Xms128m', '-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
const READY_WITHIN_MS = 180_000
const ERRORS_ONLY = '-Dorg.slf4j.simpleLogger.defaultLogLevel=error'
// By its full name, so that Maven's message explains why it could not be fetched.
const COPY_JARS = 'org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies'
const POM = join(root, 'config', 'kafka', 'pom.xml')

async function startNode(
  java: Java,
  kafka: Installation,
  flags: readonly string[],
  say: SayLine,
  more: readonly Listener[] = [],
  secured?: GuardedListener,
  { node, port, directory }: Pick<ApacheKafkaOptions, 'node' | 'port' | 'directory'> = {},
): Promise<{ server: SpawnedServer; address: string; folder: string }> {
  const folder = directory ?? (await temporaryFolder('kafka'))
  await mkdir(folder, { recursive: true })
  const data = join(folder, 'data')
  const address = `127.0.0.1:${port ?? (await freePort())}`
  const properties = join(folder, 'server.properties')
  const { id, controllers } = node ?? { id: 1, controllers: [`127.0.0.1:${await freePort()}`] }
  await writeFile(properties, serverProperties(address, { id, controllers }, data, more, secured))
  // Users of SCRAM are in the data from their beginning.
  if (existsSync(data)) say(`Apache Kafka goes on with what ${data} holds.`)
  else if (secured) await formatData(java, kafka, properties, secured.scram)
  else await copyFormatted(kafka, data, id)
  const server = await spawnServer({
    name: 'Apache Kafka',
    command: java.program,
    args: [...JVM, ...flags, ERRORS_ONLY, '-cp', await classPath(kafka), 'kafka.Kafka', properties],
    temporaryFolder: directory === undefined ? folder : undefined,
    ready: () => describesCluster(address),
    readyWithinMs: READY_WITHIN_MS,
    stopWithinMs: 30_000,
    say,
  })
  return { server, address, folder }
}

/** The formatted data folder, as that of this node. */
async function copyFormatted(kafka: Installation, data: string, id: number): Promise<void> {
  await cp(join(kafka.folder, 'formatted'), data, { recursive: true })
  if (id === 1) return
  const file = join(data, 'meta.properties')
  const own = (await readFile(file, 'utf8')).replace(/^node\.id=.*$/m, `node.id=${id}`)
  await writeFile(file, own.replace(/^directory\.id=.*$/m, `directory.id=${base64Id()}`))
}

/**
 * Rights may be tried: who has been given none on something has all. On one node alone: until a quorum has agreed there are no rights,
 * and so nobody's vote would be taken.
 */
const RIGHTS = {
  'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
  'allow.everyone.if.no.acl.found': true,
} as const

function serverProperties(
  listener: string,
  { id, controllers }: ClusterNode,
  data: string,
  more: readonly Listener[] = [],
  secured?: GuardedListener,
): string {
  const named = [
    ...more.map((one, index) => ({ name: `PROXY${index}`, protocol: 'PLAINTEXT', ...one })),
    ...(secured ? [{ name: 'SECURED', protocol: 'SASL_SSL', at: secured.at, advertised: secured.at }] : []),
  ]
  const enough = Math.ceil((controllers.length + 1) / 2)
  const properties = {
    'process.roles': 'broker,controller',
    'node.id': id,
    'controller.quorum.voters': controllers.map((at, nth) => `${nth + 1}@${at}`),
    'controller.listener.names': 'CONTROLLER',
    listeners: [
      `PLAINTEXT://${listener}`,
      `CONTROLLER://${controllers[id - 1]}`,
      ...named.map(({ name, at }) => `${name}://${at}`),
    ],
    'advertised.listeners': [
      `PLAINTEXT://${listener}`,
      ...named.map(({ name, advertised }) => `${name}://${advertised}`),
    ],
    'listener.security.protocol.map': [
      'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
      ...named.map(({ name, protocol }) => `${name}:${protocol}`),
    ],
    'log.dirs': data,
    'auto.create.topics.enable': false,
    'group.initial.rebalance.delay.ms': 0,
    // One node can't hold replicas; one partition starts faster than fifty.
    'offsets.topic.num.partitions': 1,
    'offsets.topic.replication.factor': controllers.length,
    'transaction.state.log.num.partitions': 1,
    'transaction.state.log.replication.factor': controllers.length,
    'transaction.state.log.min.isr': enough,
    'min.insync.replicas': enough,
    'share.coordinator.state.topic.num.partitions': 1,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
    // After a crash the broker is let in again only when its old session is over: 9 s by default.
    'broker.session.timeout.ms': 3000,
    'broker.heartbeat.interval.ms': 500,
    // A quorum takes longer than the usual minute to agree where the machine is busy; the broker would end itself before.
    'initial.broker.registration.timeout.ms': READY_WITHIN_MS,
    'num.network.threads': 2,
    'num.io.threads': 2,
    'num.recovery.threads.per.data.dir': 1,
    'background.threads': 2,
    'group.coordinator.threads': 1,
    'log.cleaner.dedupe.buffer.size': 8 * 1024 * 1024,
    ...(controllers.length === 1 ? RIGHTS : {}),
    ...(secured ? guards(secured) : {}),
  }
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

function guards({ keyStore, plain }: SecuredListener): Record<string, string> {
  const modules = 'org.apache.kafka.common.security'
  const users = Object.entries(plain).map(([name, password]) => ` user_${name}="${password}"`)
  return {
    'listener.name.secured.ssl.keystore.type': 'PEM',
    'listener.name.secured.ssl.keystore.location': keyStore,
    'listener.name.secured.sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-512',
    'listener.name.secured.plain.sasl.jaas.config': `${modules}.plain.PlainLoginModule required${users.join('')};`,
    'listener.name.secured.scram-sha-512.sasl.jaas.config': `${modules}.scram.ScramLoginModule required;`,
  }
}

async function findJava(): Promise<Java> {
  const program = await findOnPath('java')
  const version = program && /version "([^"]+)"/.exec(await runCommand(program, ['-version'], 30_000))?.[1]
  if (!program || !version || Number.parseInt(version, 10) < 17) {
    const found = version ? `the java on the PATH is ${version}` : 'there is no java on the PATH'
    throw new UnavailableError(`Apache Kafka 4 takes Java 17 or newer, and ${found}`)
  }
  return { program, version }
}

/** The jars and a formatted data folder, from the cache, or by Maven into it. */
async function fetchKafka(java: Java, cache: string, say: SayLine): Promise<Installation> {
  const version = /<kafka\.version>([^<]+)</.exec(await readFile(POM, 'utf8'))?.[1]
  if (!version) throw new Error(`${POM} names no kafka.version`)
  const folder = join(cache, version)
  if (existsSync(folder)) return { version, folder }

  const maven = await findOnPath('mvn')
  if (!maven)
    throw new UnavailableError('the jars of Apache Kafka are fetched with Maven, and there is no mvn on the PATH')
  say(`Fetching Apache Kafka ${version} with Maven; this happens once.`)
  await mkdir(cache, { recursive: true })
  // Built beside its place and moved there whole: starts at the same time don't see each other's halves.
  const draft = join(cache, `.${version}-${randomUUID()}`)
  try {
    await copyJars(maven, join(draft, 'jars'))
    await format(java, { version, folder: draft })
    await rename(draft, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error // else another start was first
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return { version, folder }
}

async function copyJars(maven: string, jars: string): Promise<void> {
  const args = ['-q', '-B', '-f', POM, COPY_JARS, `-DoutputDirectory=${jars}`]
  try {
    await runCommand(maven, args, 900_000)
  } catch (error) {
    const [reason = String(error)] = /(?<=\[ERROR\] ).+?(?= -> \[Help|$)/m.exec(String(error)) ?? []
    throw new UnavailableError(`Maven could not fetch the jars of Apache Kafka: ${reason}`, { cause: error })
  }
}

/** Formats a data folder once, for every later start to copy: that saves each a second. */
async function format(java: Java, kafka: Installation): Promise<void> {
  const properties = join(kafka.folder, 'format.properties')
  const data = join(kafka.folder, 'formatted')
  const node = { id: 1, controllers: ['127.0.0.1:9093'] }
  await writeFile(properties, serverProperties('127.0.0.1:9092', node, data))
  await formatData(java, kafka, properties)
}

async function formatData(
  java: Java,
  kafka: Installation,
  properties: string,
  scram: Readonly<Record<string, string>> = {},
): Promise<void> {
  // It may begin with a dash, which would be read as an option if it stood by itself.
  const clusterId = base64Id()
  const users = Object.entries(scram).map(([name, password]) => `SCRAM-SHA-512=[name=${name},password=${password}]`)
  const tool = [
    'kafka.tools.StorageTool',
    'format',
    `--cluster-id=${clusterId}`,
    '--config',
    properties,
    ...users.flatMap((user) => ['--add-scram', user]),
  ]
  await runCommand(java.program, [...JVM, ERRORS_ONLY, '-cp', await classPath(kafka), ...tool], 120_000)
}

/** 16 bytes at random, as Kafka writes ids. */
function base64Id(): string {
  return Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64url')
}

/**
 * The flags that let this Java take Kafka's classes ready-made from an archive, which halves the start. The archive is
 * written by a first run, once for each version of Java.
 */
async function classArchive(java: Java, kafka: Installation, say: SayLine): Promise<readonly string[]> {
  const archive = join(kafka.folder, `classes-${java.version}.jsa`)
  if (!existsSync(archive)) {
    const draft = `${archive}.${randomUUID()}`
    const { server } = await startNode(
      java,
      kafka,
      ['-XX:+IgnoreUnrecognizedVMOptions', `-XX:ArchiveClassesAtExit=${draft}`],
      say,
    )
    await server.close()
    if (!existsSync(draft)) {
      say(`Java ${java.version} wrote no class archive: Apache Kafka starts without, in twice the time.`)
      return []
    }
    await rename(draft, archive)
  }
  return [`-XX:SharedArchiveFile=${archive}`]
}

async function classPath({ folder }: Installation): Promise<string> {
  const jars = join(folder, 'jars')
  const names = (await readdir(jars)).filter((name) => name.endsWith('.jar')).sort()
  return names.map((name) => join(jars, name)).join(':')
}

/** Where downloads are kept for the next time unless the caller names another folder. Nothing is kept for a user without a home. */
function defaultCacheDirectory(): string {
  if (isClone) return join(root, '.cache')
  return userCache() ?? mkdtempSync(join(tmpdir(), 'gavel-'))
}
