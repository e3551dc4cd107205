import { join } from 'node:path'
import { PROJECT } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import type { Terminal } from '../../commands/terminal.ts'
import { OperatorError } from '../../domain/errors.ts'
import type { Format } from '../../evaluation/formats.ts'
import { startRedis } from '../stack/servers/redis.ts'
import { startStack } from '../stack/stack.ts'
import { bench } from './bench.ts'
import { faultBench } from './faults.ts'
import { gatewayBench } from './gateway.ts'
import { recoveryBench, recoveryTable } from './recovery.ts'
import { savingsBench, savingsTable } from './savings.ts'
import { soakBench, soakTable } from './soak.ts'
import { unwellBench, unwellTable } from './unwell.ts'

/** What `gavel bench` was asked for; `gateway`, `failRate`, `savings`, `recovery` and `soak` each measure something else than the whole. */
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
  readonly data?: string
  readonly format: Format
  readonly recovery?: boolean
  readonly kills: number
  readonly soak?: boolean
  readonly minutes: number
}

/** Time of a model call, in ms, where slots are filled… */
const LONG_CALL_MS = 500
/** …and where calls are looked at one by one… */
const SHORT_CALL_MS = 20
/** …and where places in a model are what counts… */
const MODEL_CALL_MS = 200
/** …and where they are to be cut off. */
const SLOW_CALL_MS = 2_000

type Environment = Readonly<Record<string, string | undefined>>

/** `gavel bench`: brings the servers that are not there, measures, prints one JSON report and takes the servers down. */
export async function runBench(
  environment: Environment,
  settings: () => Settings,
  options: BenchOptions,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): Promise<void> {
  const io = { say: terminal.say, signal }
  const { gateway = false, failRate, savings = false, recovery = false, soak = false } = options
  if (savings) {
    const { data = join(PROJECT, 'config', 'demo', 'event.jsonl'), format } = options
    const report = await savingsBench(settings(), data, format, io)
    terminal.say(savingsTable(report))
    return terminal.out(JSON.stringify(report))
  }
  if (gateway && options.faults) {
    const { seconds, latency: latencyMs = MODEL_CALL_MS } = options
    const report = await withRedis(environment, io, (own) => unwellBench(own, { seconds, latencyMs }, io))
    terminal.say(unwellTable(report))
    return terminal.out(JSON.stringify(report))
  }
  if (options.faults) throw new OperatorError('--faults goes with --gateway; for the whole service take --fail-rate.')
  if (gateway) {
    const { rate, seconds, latency: latencyMs = SHORT_CALL_MS } = options
    const plan = { rate, seconds, latencyMs }
    const report = await withRedis(environment, io, (own) => gatewayBench(own, plan, io))
    return terminal.out(JSON.stringify(report))
  }
  if (failRate !== undefined) {
    const { subjects, comments: commentsPerPost, latency: latencyMs = SHORT_CALL_MS } = options
    const plan = { failRate, subjects, commentsPerPost, latencyMs }
    const report = await withStack(environment, io, (own) => faultBench(own, plan, io))
    return terminal.out(JSON.stringify(report))
  }
  if (recovery) {
    const { kills, latency: latencyMs = SLOW_CALL_MS } = options
    const report = await withStack(environment, io, (own) => recoveryBench(own, { kills, latencyMs }, io))
    terminal.say(recoveryTable(report))
    return terminal.out(JSON.stringify(report))
  }
  if (soak) {
    const { minutes, comments: commentsPerPost, slots, latency: latencyMs = LONG_CALL_MS } = options
    const plan = { minutes, commentsPerPost, slots, latencyMs }
    const report = await withStack(environment, io, (own) => soakBench(own, plan, io))
    terminal.say(soakTable(report))
    return terminal.out(JSON.stringify(report))
  }
  const { protocol, comments, flood, verdicts, slots, latency: latencyMs = LONG_CALL_MS, halfLoad } = options
  const plan = { protocol, flood, verdicts, slots, latencyMs, commentsPerPost: comments, halfLoadSeconds: halfLoad }
  const report = await withStack(environment, io, (own) => bench(own, plan, io))
  return terminal.out(JSON.stringify(report))
}

async function withStack<Report>(
  environment: Environment,
  { say }: { say: (line: string) => void },
  measure: (own: Environment) => Promise<Report>,
): Promise<Report> {
  const servers = await startStack(environment, { kafka: 'apache', say, understudy: {} })
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
