import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Option } from 'commander'
import { loadSettings } from '../../../config/load.ts'
import { modelsInUse } from '../../../config/models.ts'
import type { Command } from '../../cli/command.ts'
import { listOf, notNegative, port } from '../../cli/options.ts'
import { makeTopics } from '../../operations/make-topics.ts'
import { kafkaClient } from '../../stream/client.ts'
import { startStackForCommand } from '../stack-for-command.ts'
import { DIALECTS, type DialectName } from '../understudy/dialects/all.ts'
import { FAULTS, type UnderstudyFault } from '../understudy/faults.ts'

interface StackOptions {
  readonly kafka: 'apache' | 'memory'
  readonly env?: string
  /** Redis' port; Kafka and the model have the next two. */
  readonly port?: number
  /** A folder in which the servers keep their data. */
  readonly keep?: string
  /** The understudy's time for an answer, in ms. */
  readonly latency: number
  readonly failRate: number
  readonly faults?: readonly UnderstudyFault[]
  readonly callLog?: string
  readonly dialect?: DialectName
}

/** `gavel stack`: local servers and the understudy, kept up until the signal. */
export const command: Command<StackOptions, void> = {
  options: [
    new Option('--kafka <kind>', 'Apache Kafka itself, or an in-memory broker')
      .choices(['apache', 'memory'])
      .default('apache'),
    new Option('--env <file>', 'also write the settings to this file, as NAME=value; only you can read it'),
    new Option(
      '--port <number>',
      'Redis listens here, Kafka and the model on the next two (default: free ports)',
    ).argParser(port),
    new Option('--keep <folder>', 'keep data and key here for the next start (default: nothing is kept)'),
    new Option('--latency <ms>', "the understudy's time for an answer").argParser(notNegative).default(200),
    new Option('--fail-rate <share>', 'the share of calls on which the understudy misbehaves, 0 to 1')
      .argParser(notNegative)
      .default(0),
    new Option('--faults <kinds>', `how it misbehaves, comma-separated: ${FAULTS.join(', ')}`).argParser(
      listOf(FAULTS, 'faults'),
    ),
    new Option('--dialect <name>', 'the kind of server that the understudy imitates (docs/servers.md)').choices(
      Object.keys(DIALECTS),
    ),
    new Option('--call-log <file>', 'where the understudy logs its calls, as JSON Lines'),
  ],
  json: true,
  help: 'Example:\n  $ gavel stack --env .env.local &\n  $ set -a; . ./.env.local; gavel run',
  async run({ options, json, environment, terminal, stopped, misused }) {
    if (options.keep !== undefined && options.kafka === 'memory')
      misused('--keep needs --kafka apache, because the in-memory broker stores nothing on disk.')
    const { kafka, env, latency, failRate, faults, callLog, dialect } = options
    const understudy = {
      latencyMs: latency,
      faults: { rate: failRate, ...(faults === undefined ? {} : { kinds: [...faults] }) },
      logFile: callLog,
      dialect,
      models: modelsInUse(loadSettings(environment)),
    }
    const at = options.port === undefined ? {} : { port: options.port }
    const into = options.keep === undefined ? {} : { keep: resolve(options.keep) }
    const servers = { kafka, say: terminal.say, understudy, maxmemory: MAXMEMORY, ...at, ...into }
    const running = await startStackForCommand(environment, servers)
    try {
      const settings = { ...running.settings, ...fencesKey(environment, into.keep) }
      if (running.kafka !== undefined) {
        const read = loadSettings({ ...environment, ...settings })
        await makeTopics(
          kafkaClient(read.kafka, read.kafka.clientId, () => {}),
          read,
        )
      }
      const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
      if (env !== undefined) writeForOwner(env, `${lines.join('\n')}\n`)
      if (json) terminal.out(JSON.stringify(settings))
      else for (const line of lines) terminal.out(line)
      terminal.say('Everything is up. Ctrl-C stops it.')
      await stopped
    } finally {
      await running.close()
    }
  },
  print() {},
}

/** Plenty for trying things out, and little enough for a laptop. */
const MAXMEMORY = '1gb'

/** The key under which texts are fenced and samples drawn: the one that is set, the one that was kept, or a new one. */
function fencesKey(
  environment: Readonly<Record<string, string | undefined>>,
  keep: string | undefined,
): Readonly<Record<string, string>> {
  if (environment.GAVEL_FENCES_KEY) return {}
  const file = keep === undefined ? undefined : join(keep, 'fences.key')
  const kept = file !== undefined && existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
  const key = kept === '' ? randomBytes(32).toString('hex') : kept
  if (file !== undefined && kept === '') writeForOwner(file, `${key}\n`)
  return { GAVEL_FENCES_KEY: key }
}

/** Writes a file that nobody else on this machine may read, also where it was there already. */
function writeForOwner(file: string, text: string): void {
  mkdirSync(join(file, '..'), { recursive: true })
  if (existsSync(file)) chmodSync(file, 0o600)
  writeFileSync(file, text, { mode: 0o600 })
}
