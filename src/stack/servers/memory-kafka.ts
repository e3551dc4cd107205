import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { findOnPath, runCommand } from './command.ts'
import { describesCluster } from './kafka-probe.ts'
import { type LocalServer, type Say, spawnServer, UnavailableError } from './local-server.ts'
import { defaultCacheDirectory, projectRoot } from './project.ts'

export interface MemoryKafkaOptions {
  readonly say: Say
  /** Where the broker's package is kept, if it has to be fetched. Default: .cache in the project. */
  readonly cacheDirectory?: string
}

export interface MemoryKafka extends LocalServer {
  readonly kind: 'memory'
}

/**
 * A broker that speaks the Kafka protocol and keeps everything in memory: librdkafka's mock cluster, on 127.0.0.1, in a
 * process of its own. Fit for a demo, with these limits: topics appear on first use, with 4 partitions, and can't be
 * made by an admin client; each partition holds its last 5 MiB or 100,000 messages, read or not; no transactions, no
 * idempotent producers, no message size limit; timestamps are the producer's. Fails with UnavailableError, which says
 * why and what to do, where its native package can't be loaded.
 */
export async function startMemoryKafka(options: MemoryKafkaOptions): Promise<MemoryKafka> {
  const { say, cacheDirectory = defaultCacheDirectory } = options
  const module = await loadableModule(cacheDirectory, say)
  let address: string | undefined
  const server = await spawnServer({
    name: 'The in-memory Kafka broker',
    command: process.execPath,
    args: [BROKER, module],
    ready: async (output) => {
      address ??= /bootstrap\.servers .* replaced with (127\.0\.0\.1:\d+)/.exec(output)?.[1]
      return address !== undefined && (await describesCluster(address))
    },
    readyWithinMs: 30_000,
    stopWithinMs: 2000,
    say,
  })
  if (address === undefined) throw new Error('The in-memory Kafka broker is ready but named no address')
  return {
    kind: 'memory',
    what: `an in-memory stand-in for Kafka (librdkafka's mock cluster) on ${address}: nothing is kept when it stops`,
    settings: { KAFKA_BROKERS: address },
    get pid() {
      return server.pid
    },
    close: server.close,
  }
}

const PACKAGE = 'kafka-crab-js'
// The same ending as this file's: .ts in the sources, .js once built.
const BROKER = join(import.meta.dirname, `memory-kafka-broker${extname(import.meta.filename)}`)

/** The package's main file, from the project, from the cache, or fetched into it; only one that loads. */
async function loadableModule(cacheDirectory: string, say: Say): Promise<string> {
  const cache = join(cacheDirectory, 'kafka-memory')
  for (const place of [projectRoot, cache]) {
    const file = resolveFrom(place)
    if (file && (await loads(file)) === undefined) return file
  }
  const version = await wantedVersion()
  say(`${PACKAGE} came without its native part: fetching ${PACKAGE}@${version} with npm; this happens once.`)
  await fetchPackage(version, cache)
  const file = resolveFrom(cache)
  const fault = file ? await loads(file) : new Error(`npm put no ${PACKAGE} into ${cache}`)
  if (file && fault === undefined) return file
  throw unavailable(fault)
}

function resolveFrom(folder: string): string | undefined {
  try {
    return createRequire(join(folder, 'package.json')).resolve(PACKAGE)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}

/** Tries in another process, so that a faulty native module can't take this one with it. Gives what went wrong. */
async function loads(file: string): Promise<unknown> {
  try {
    await runCommand(process.execPath, ['-e', 'require(process.argv[1])', file], 30_000)
    return undefined
  } catch (error) {
    return error
  }
}

async function wantedVersion(): Promise<string> {
  const text = await readFile(join(projectRoot, 'package.json'), 'utf8')
  const version = (JSON.parse(text) as { dependencies?: Record<string, string> }).dependencies?.[PACKAGE]
  if (!version) throw new Error(`package.json names no ${PACKAGE}`)
  return version
}

async function fetchPackage(version: string, cache: string): Promise<void> {
  if (!(await findOnPath('npm'))) throw unavailable(new Error('there is no npm on the PATH'))
  await mkdir(cache, { recursive: true })
  // A package of its own, else npm would take the project above for the place to install to.
  if (!existsSync(join(cache, 'package.json'))) await writeFile(join(cache, 'package.json'), '{ "private": true }\n')
  // npm skips native parts made for another Node than the one it runs on: it must run on ours.
  const onOurNode = 'PATH="$1:$PATH"; export PATH; shift; exec "$@"'
  const install = ['install', '--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--include=optional']
  const command = ['npm', ...install, '--prefix', cache, `${PACKAGE}@${version}`]
  try {
    await runCommand('/bin/sh', ['-c', onOurNode, 'install', dirname(process.execPath), ...command], 300_000)
  } catch (error) {
    throw unavailable(error)
  }
}

function unavailable(cause: unknown): UnavailableError {
  return new UnavailableError(
    `the in-memory broker's package ${PACKAGE} can't be loaded by Node ${process.version} (it is made for Node 24 on ` +
      'Linux and macOS): run npm ci under Node 24, with access to the npm registry and without --omit=optional',
    { cause },
  )
}
