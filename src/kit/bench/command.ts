import { join } from 'node:path'
import { Option } from 'commander'
import { PROJECT } from '../../../config/load.ts'
import type { Command, Invocation } from '../../cli/command.ts'
import { formatOption } from '../../cli/file-options.ts'
import { notNegative, positive, protocolName, share } from '../../cli/options.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { Format } from '../../data-files/formats.ts'
import { startRedis } from '../stack/servers/redis.ts'
import { startStackForCommand } from '../stack-for-command.ts'
import { bench } from './bench.ts'
import { doorBench } from './door.ts'
import { faultBench } from './faults.ts'
import { faultyModelBench, faultyModelTable } from './faulty-model.ts'
import { gatewayBench } from './gateway.ts'
import { idleBench, idleTable } from './idle.ts'
import { latenciesBench, latenciesTable } from './latencies.ts'
import { promptsBench, promptsTable } from './prompts.ts'
import { recoveryBench, recoveryTable } from './recovery.ts'
import { savingsBench, savingsTable } from './savings.ts'
import { soakBench, soakTable } from './soak.ts'
import { startBench } from './start.ts'
import { untilStopped } from './until-stopped.ts'
import { waitingBench } from './waiting.ts'

/** Options of `gavel bench`; `gateway`, `failRate`, `savings`, `prompts`, `recovery`, `soak`, `idle`, `latencies`, `start`, `door` and `waiting` each measure something else than the whole. */
export interface BenchOptions {
  readonly protocol: string
  readonly comments: number
  readonly flood: number
  readonly verdicts: number
  readonly slots: number
  readonly latency?: number
  readonly halfLoad: number
  readonly gateway?: boolean
  /** With `gateway`: before a model that fails, refuses and hangs. */
  readonly faults?: boolean
  readonly rate: number
  readonly seconds: number
  readonly failRate?: number
  readonly subjects: number
  readonly savings?: boolean
  readonly prompts?: boolean
  readonly data?: string
  readonly format: Format
  readonly recovery?: boolean
  readonly kills: number
  readonly soak?: boolean
  readonly minutes: number
  readonly idle?: boolean
  readonly latencies?: readonly number[]
  readonly processes: number
  readonly start?: boolean
  readonly door?: boolean
  readonly waiting?: boolean
  readonly backlog: number
}

/** Time of a model call, in ms, where slots are filled… */
const LONG_CALL_MS = 500
/** …and where calls are looked at one by one… */
const SHORT_CALL_MS = 20
/** …and where slots of a model are measured… */
const MODEL_CALL_MS = 200
/** …and where they are to be cut off. */
const SLOW_CALL_MS = 2_000

/** What cannot be measured together with an idle service or a start. */
const OTHERS = ['gateway', 'failRate', 'savings', 'recovery', 'soak']

type Environment = Readonly<Record<string, string | undefined>>

/** `gavel bench`: brings the servers that are not there, measures, prints one JSON report and takes the servers down. */
export const command: Command<BenchOptions, object> = {
  options: [
    new Option('--protocol <name>', 'the protocol to measure').argParser(protocolName).default('rumor'),
    counting('--comments <n>', 'comments of each post', 40),
    counting('--flood <n>', 'comments of the intake phase', 300_000),
    counting('--verdicts <n>', 'verdicts of the phase without latency', 4_000),
    counting('--slots <n>', 'model slots', 256),
    new Option(
      '--latency <ms>',
      'time of a model call; 500, 20 with --gateway or --fail-rate, 200 with --gateway --faults, 2000 with --recovery and --waiting',
    ).argParser(positive),
    counting('--half-load <s>', 'length of the half-load phase', 30),
    new Option('--gateway', "instead: the gateway's overhead per call, against the plain client").conflicts([
      'savings',
      'failRate',
    ]),
    new Option('--faults', 'with --gateway: goodput when a share of calls is refused, fails or hangs'),
    counting('--rate <n>', 'with --gateway: calls a second', 200),
    counting(
      '--seconds <n>',
      'with --gateway: length of each phase; with --idle: how long; with --latencies: how long slots are busy; with --door: each phase; with --waiting: how long the stream is looked at by itself',
      20,
    ),
    new Option('--fail-rate <share>', 'instead: every protocol, with a model that fails this share of calls')
      .argParser(share)
      .conflicts('savings'),
    counting('--subjects <n>', 'with --fail-rate: posts, and as many replies', 100),
    new Option('--savings', 'instead: what each saving of the rumor protocol is worth'),
    new Option(
      '--prompts',
      'instead: the cost of a verdict by protocol and preset, and which tokens caches would serve',
    ).conflicts(OTHERS),
    new Option('--data <file>', 'with --savings: threads; with --prompts: subjects; the sample event if left out'),
    new Option('--recovery', 'instead: how soon others take over after kill -9').conflicts([
      'gateway',
      'failRate',
      'savings',
      'soak',
    ]),
    counting('--kills <n>', 'with --recovery: processes killed', 5),
    new Option('--soak', 'instead: half load for some minutes, one row a minute').conflicts([
      'gateway',
      'failRate',
      'savings',
    ]),
    counting('--minutes <n>', 'with --soak: how long', 10),
    new Option('--latencies [ms]', 'instead: what a verdict costs one process, all slots busy, at these ms a call')
      .preset('0,500,3000,10000')
      .argParser((text: string) => text.split(',').map(notNegative))
      .conflicts(OTHERS),
    new Option('--idle', 'instead: what an idle service uses').conflicts(OTHERS),
    counting('--processes <n>', 'with --idle: processes of the service', 1),
    new Option('--start', 'instead: how long commands take to start, in multiples of a bare Node start').conflicts([
      ...OTHERS,
      'idle',
    ]),
    new Option('--door', 'instead: the HTTP door, and its own time a request at half of its capacity').conflicts([
      ...OTHERS,
      'idle',
      'start',
    ]),
    new Option('--waiting', 'instead: questions over HTTP behind a standing backlog of the stream').conflicts([
      ...OTHERS,
      'idle',
      'start',
      'door',
    ]),
    counting('--backlog <n>', 'with --waiting: posts of the stream', 2_000),
    formatOption(),
  ],
  json: true,
  help: `Examples:
  $ gavel bench --json | jq .verdictsPerSecond
  $ gavel bench --gateway --rate 200 | jq .gateway.overheadMs
  $ gavel bench --gateway --faults --seconds 10 | jq '.rows[] | select(.share == 0.05)'
  $ gavel bench --fail-rate 0.3
  $ gavel bench --savings --data threads.jsonl --format rumoureval2017
  $ gavel bench --prompts
  $ gavel bench --recovery --kills 5 | jq .askedAgain
  $ gavel bench --soak --minutes 10
  $ gavel bench --idle --processes 3 | jq '{cpu, commandsPerSecond}'
  $ gavel bench --latencies --slots 1024 | jq '.rows[] | {latencyMs, roundTrips, lapsedLocks}'
  $ gavel bench --start | jq .firstCall
  $ gavel bench --door --flood 100000 | jq '{messages, judge, commentsPerSecond}'
  $ gavel bench --waiting --slots 64 | jq '{ratio, stream}'`,
  run: (invocation) => untilStopped(ioOf(invocation), (io) => measure(invocation, io)),
  print: (report, { terminal }) => terminal.out(JSON.stringify(report)),
}

function counting(flags: string, description: string, usual: number): Option {
  return new Option(flags, description).argParser(positive).default(usual)
}

function ioOf({ terminal, signal }: Invocation<BenchOptions>) {
  return { say: terminal.say, signal }
}

/** Measures what the options ask for; tables for people go to standard error. */
async function measure(
  { options, settings, environment, terminal }: Invocation<BenchOptions>,
  io: { say: (line: string) => void; signal: AbortSignal },
): Promise<object> {
  const { gateway = false, failRate, savings = false, recovery = false, soak = false } = options
  if (options.start) return startBench(environment, io)
  if (options.door) {
    const { seconds, flood: comments } = options
    return withStack(environment, io, (own) => doorBench(own, { seconds, comments }, io))
  }
  if (options.waiting) {
    const { backlog, slots, seconds, latency: latencyMs = SLOW_CALL_MS } = options
    const plan = { backlog, slots, seconds, latencyMs }
    return withStack(environment, io, (own) => waitingBench(own, plan, io))
  }
  if (options.latencies) {
    const { protocol, comments: commentsPerPost, slots, seconds, latencies: latenciesMs } = options
    const plan = { protocol, commentsPerPost, slots, seconds, latenciesMs }
    const report = await withStack(environment, io, (own) => latenciesBench(own, plan, io))
    terminal.say(latenciesTable(report))
    return report
  }
  if (options.idle) {
    const { processes, seconds } = options
    const report = await withStack(environment, io, (own) => idleBench(own, { processes, seconds }, io))
    terminal.say(idleTable(report))
    return report
  }
  if (savings) {
    const { data = join(PROJECT, 'config', 'demo', 'event.jsonl'), format } = options
    const report = await savingsBench(settings(), data, format, io)
    terminal.say(savingsTable(report))
    return report
  }
  if (options.prompts) {
    const { data = join(PROJECT, 'config', 'demo', 'event.jsonl'), format } = options
    const report = await promptsBench(settings(), { file: data, format }, io)
    terminal.say(promptsTable(report))
    return report
  }
  if (gateway && options.faults) {
    const { seconds, latency: latencyMs = MODEL_CALL_MS } = options
    const report = await withRedis(environment, io, (own) => faultyModelBench(own, { seconds, latencyMs }, io))
    terminal.say(faultyModelTable(report))
    return report
  }
  if (options.faults) throw new OperatorError('--faults goes with --gateway; for the whole service take --fail-rate.')
  if (gateway) {
    const { rate, seconds, latency: latencyMs = SHORT_CALL_MS } = options
    const plan = { rate, seconds, latencyMs }
    const report = await withRedis(environment, io, (own) => gatewayBench(own, plan, io))
    return report
  }
  if (failRate !== undefined) {
    const { subjects, comments: commentsPerPost, latency: latencyMs = SHORT_CALL_MS } = options
    const plan = { failRate, subjects, commentsPerPost, latencyMs }
    const report = await withStack(environment, io, (own) => faultBench(own, plan, io))
    return report
  }
  if (recovery) {
    const { kills, latency: latencyMs = SLOW_CALL_MS } = options
    const report = await withStack(environment, io, (own) => recoveryBench(own, { kills, latencyMs }, io))
    terminal.say(recoveryTable(report))
    return report
  }
  if (soak) {
    const { minutes, comments: commentsPerPost, slots, latency: latencyMs = LONG_CALL_MS } = options
    const plan = { minutes, commentsPerPost, slots, latencyMs }
    const report = await withStack(environment, io, (own) => soakBench(own, plan, io))
    terminal.say(soakTable(report))
    return report
  }
  const { protocol, comments, flood, verdicts, slots, latency: latencyMs = LONG_CALL_MS, halfLoad } = options
  const plan = { protocol, flood, verdicts, slots, latencyMs, commentsPerPost: comments, halfLoadSeconds: halfLoad }
  const report = await withStack(environment, io, (own) => bench(own, plan, io))
  return report
}

async function withStack<Report>(
  environment: Environment,
  { say }: { say: (line: string) => void },
  measure: (own: Environment) => Promise<Report>,
): Promise<Report> {
  const servers = await startStackForCommand(environment, { kafka: 'apache', say, understudy: {} })
  try {
    return await measure({ ...environment, ...servers.settings })
  } finally {
    await servers.close()
  }
}

async function withRedis<Report>(
  environment: Environment,
  { say }: { say: (line: string) => void },
  measure: (own: Environment) => Promise<Report>,
): Promise<Report> {
  if (environment.REDIS_URL) return measure(environment)
  const server = await startRedis({ say })
  try {
    return await measure({ ...environment, ...server.settings })
  } finally {
    await server.close()
  }
}
