import { loadSettings } from '../../../config/load.ts'
import { FINISH, NEVER, only, protocolOf, rateBetween, subjectsFor } from './bench.ts'
import { past } from './load.ts'
import { mean, round } from './percentiles.ts'
import { serve, shortfall, sum } from './service.ts'

export interface LatenciesPlan {
  readonly protocol: string
  readonly commentsPerPost: number
  readonly slots: number
  readonly latenciesMs: readonly number[]
  /** How long all slots are busy at each latency, about, in seconds. */
  readonly seconds: number
}

/** One process with all slots busy, at a latency; what it used is from its start to its end, by verdict. */
export interface LatencyRow {
  readonly latencyMs: number
  readonly verdicts: number
  readonly lost: number
  /** Not judged when the row was stopped after five minutes. */
  readonly unfinished: number
  readonly callsPerVerdict: number
  readonly verdictsPerSecond: number
  /** Processor time, in ms. */
  readonly cpuMs: { readonly node: number; readonly redis: number }
  /** How often Redis read from a connection: what goes together is read together. */
  readonly roundTrips: number
  readonly kibToRedis: number
  readonly lapsedLocks: number
  /** The smallest part of its slots that the process took, because its event loop lagged. */
  readonly leastShare: number
  readonly stalledJobs: number
  readonly rssMiB: number
}

/** Calls of a verdict that wait for one another, about, and of the first row all of its calls. */
const SEQUENCE = 6
/** How often all slots are filled anew by other verdicts, at least: at their start and end not all are busy. */
const WAVES = 3
/** Verdicts of the row without latency. */
const WITHOUT_LATENCY = 2_000

/** The whole service before models of these latencies, one after the other, all of its slots busy. */
export async function latenciesBench(
  environment: Readonly<Record<string, string | undefined>>,
  plan: LatenciesPlan,
  { say, signal }: { say: (line: string) => void; signal: AbortSignal },
): Promise<{ readonly rows: readonly LatencyRow[] }> {
  const subjects = subjectsFor(protocolOf(loadSettings(environment), plan.protocol), plan)
  const rows: LatencyRow[] = []
  let calls = SEQUENCE
  for (const latencyMs of plan.latenciesMs) {
    const perSecond = (plan.slots * 1000) / latencyMs / calls
    const atLeast = (WAVES * plan.slots * SEQUENCE) / calls
    const verdicts = latencyMs === 0 ? WITHOUT_LATENCY : Math.ceil(Math.max(perSecond * plan.seconds, atLeast))
    say(`${latencyMs} ms a call, ${plan.slots} slots: ${verdicts} subjects …`)
    const slots = { GAVEL_MODELS_SLOTS: String(plan.slots), GAVEL_STAGES_DEFAULT_CONCURRENCY: String(plan.slots) }
    const seen = await serve(
      { ...environment, ...only(plan.protocol) },
      {
        latencyMs,
        changes: { ...FINISH, ...slots, GAVEL_CHECKPOINTS_COUNTS: NEVER },
        preload: subjects(`latency-${latencyMs}`, verdicts, past()),
        done: (ticks) => sum(ticks, ({ published }) => published.length) >= verdicts,
      },
      signal,
    )
    const published = seen.ticks.flatMap((tick) => tick.published)
    const count = Math.max(1, published.length)
    calls = Math.max(1, mean(published.map((one) => one.calls)))
    rows.push({
      latencyMs,
      verdicts: published.length,
      ...shortfall(verdicts - published.length, seen),
      callsPerVerdict: round(calls),
      verdictsPerSecond: round(rateBetween(seen.ticks, verdicts)),
      cpuMs: { node: round(sum(seen.ticks, ({ cpuMs }) => cpuMs) / count), redis: round(seen.redis.cpuMs / count) },
      roundTrips: round(seen.redis.reads / count),
      kibToRedis: round(seen.redis.inputBytes / 1024 / count),
      lapsedLocks: sum(seen.ticks, ({ lapsed }) => lapsed),
      leastShare: Math.min(...seen.ticks.map(({ slotsShare }) => slotsShare)),
      stalledJobs: sum(seen.ticks, ({ stalled }) => stalled),
      rssMiB: round(Math.max(...seen.ticks.map(({ rssMiB }) => rssMiB))),
    })
  }
  return { rows }
}

/** The report for people. */
export function latenciesTable({ rows }: { readonly rows: readonly LatencyRow[] }): string {
  const lines = rows.map(
    ({ latencyMs, verdictsPerSecond, cpuMs, roundTrips, kibToRedis, lapsedLocks, leastShare, lost, unfinished }) =>
      `${latencyMs} ms a call: ${verdictsPerSecond} verdicts a second; a verdict: ${cpuMs.node} ms of Node, ${cpuMs.redis} ms of Redis, ${roundTrips} round trips, ${kibToRedis} KiB to Redis; ${lapsedLocks} lapsed locks${leastShare === 1 ? '' : `, at times only ${round(leastShare * 100)} % of the slots`}, ${lost} lost${unfinished === 0 ? '' : `, ${unfinished} unfinished when it was stopped after five minutes`}`,
  )
  return lines.join('\n')
}
