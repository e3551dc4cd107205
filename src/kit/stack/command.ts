import { writeFileSync } from 'node:fs'
import { Option } from 'commander'
import type { Command } from '../../commands/command.ts'
import { listOf, notNegative } from '../../commands/options.ts'
import { DIALECTS, type DialectName } from '../understudy/dialects/all.ts'
import { FAULTS, type Fault } from '../understudy/faults.ts'
import { startStack } from './stack.ts'

interface StackOptions {
  readonly kafka: 'apache' | 'memory'
  readonly env?: string
  /** The understudy's time for an answer, in ms. */
  readonly latency: number
  readonly failRate: number
  readonly faults?: readonly Fault[]
  readonly callLog?: string
  readonly dialect?: DialectName
}

/** `gavel stack`: local servers and the understudy, kept up until the signal. */
export const command: Command<StackOptions, void> = {
  options: [
    new Option('--kafka <kind>', 'Apache Kafka itself, or an in-memory broker')
      .choices(['apache', 'memory'])
      .default('apache'),
    new Option('--env <file>', 'also write the settings to this file, as NAME=value'),
    new Option('--latency <ms>', "the understudy's time for an answer").argParser(notNegative).default(200),
    new Option('--fail-rate <share>', 'the share of calls on which the understudy misbehaves, 0 to 1')
      .argParser(notNegative)
      .default(0),
    new Option('--faults <kinds>', `how it misbehaves, comma-separated: ${FAULTS.join(', ')}`).argParser(
      listOf(FAULTS, 'faults'),
    ),
    new Option('--dialect <name>', 'the kind of server that the understudy stands in for (docs/models.md)').choices(
      Object.keys(DIALECTS),
    ),
    new Option('--call-log <file>', 'where the understudy logs its calls, as JSON Lines'),
  ],
  json: true,
  help: 'Example:\n  $ gavel stack --env .env.local &\n  $ set -a; . ./.env.local; gavel run',
  async run({ options, json, environment, terminal, stopped }) {
    const { kafka, env, latency, failRate, faults, callLog, dialect } = options
    const understudy = {
      latencyMs: latency,
      faults: { rate: failRate, ...(faults === undefined ? {} : { kinds: [...faults] }) },
      ...(callLog === undefined ? {} : { logFile: callLog }),
      ...(dialect === undefined ? {} : { dialect }),
    }
    const running = await startStack(environment, { kafka, say: terminal.say, understudy })
    try {
      const lines = Object.entries(running.settings).map(([name, value]) => `${name}=${value}`)
      if (env !== undefined) writeFileSync(env, `${lines.join('\n')}\n`)
      if (json) terminal.out(JSON.stringify(running.settings))
      else for (const line of lines) terminal.out(line)
      terminal.say('Everything is up. Ctrl-C stops it.')
      await stopped
    } finally {
      await running.close()
    }
  },
  print() {},
}
