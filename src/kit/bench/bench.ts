import type { Kafka } from 'kafkajs'
import { loadSettings } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { topicsOf } from '../../../config/topics.ts'
import { makeProtocols } from '../../app/composition/make-protocols.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { fences } from '../../contracts/facts/fence.ts'
import { samplingRanks } from '../../contracts/facts/sampling-rank.ts'
import { transcript, verdict } from '../../contracts/facts/verdict.ts'
import type { Protocol } from '../../judging/engine/script.ts'
import { PROTOCOLS } from '../../protocols/registry.ts'
import { readTopic } from '../../stream/bounded-reader.ts'
import { bareCaseMs, bareCasesPerSecond } from './baseline.ts'
import { past, replies, threads } from './load.ts'
import { mean, type Percentiles, percentiles, round } from './percentiles.ts'
import { serve, shortfall, sum } from './service.ts'
import type { Tick, VerdictTimes } from './worker.ts'

export interface BenchPlan {
  readonly protocol: string
  readonly commentsPerPost: number
  /** Comments of the intake phase in all. */
  readonly flood: number
  /** Verdicts of the phase without latency. */
  readonly verdicts: number
  readonly slots: number
  readonly latencyMs: number
  /** Length of the half-load phase, in seconds, after a warm-up of a third of that. */
  readonly halfLoadSeconds: number
}

/** DESIGN's report. Each number comes from the phase that measures it; verdicts, calls, lost and duplicates from all. */
export interface BenchReport {
  readonly verdicts: number
  readonly lost: number
  /** Not judged when a phase was stopped after five minutes. */
  readonly unfinished: number
  readonly duplicates: number
  readonly seconds: number
  readonly verdictsPerSecond: number
  /** What bare BullMQ does of cases of the same shape, before the phases. */
  readonly baselinePerSecond: number
  /** Processor time a verdict without latency, in ms: of the service's process, and of Redis. */
  readonly cpuMsPerVerdict: { readonly node: number; readonly redis: number }
  /** Verdicts a second with all slots busy; half of it is offered to measure latency and overhead. */
  readonly capacityPerSecond: number
  /** How long a case of bare BullMQ takes at that load. */
  readonly baselineCaseMs: Percentiles
  /** Where the overhead at that load arises; by stage, what an ask waits, and takes with its call to the model. */
  readonly parts: Readonly<Record<string, Percentiles>>
  /** Job locks that could not be renewed while all slots were busy. */
  readonly lapsedLocks: number
  readonly overheadMs: Percentiles
  readonly latencyMs: Percentiles
  readonly calls: number
  readonly callsPerVerdict: number
  readonly tokensPerVerdict: number
  /** Calls that had to wait for one another, a verdict, mean. */
  readonly depth: number
  /** What the protocol's paper spends on one subject. */
  readonly paper: Protocol['paper']
  readonly slotUtilization: number
  readonly commentsPerSecond: number
  readonly rssMiB: number
}

/** What one phase saw. */
interface Seen {
  readonly ticks: readonly Tick[]
  readonly lost: number
  /** Not judged when a phase was stopped after five minutes. */
  readonly unfinished: number
  readonly duplicates: number
  readonly depths: readonly number[]
  /** Redis's processor time, in ms. */
  readonly redisCpuMs: number
}

/** Enough to know how deep a verdict is. */
const TRANSCRIPTS_READ = 200
export const FINISH = { GAVEL_CLOCK_AT_END: 'finish', GAVEL_CLOCK_IDLE_AFTER: '1s', GAVEL_CHECKPOINTS_AGES: '12h' }
/** No count checkpoint is reached. */
export const NEVER = '1000000'

/**
 * Loads the whole pipeline, phase by phase, each with topics and keys of its own: intake alone; verdicts with a model of no
 * latency; all model slots busy; half of that load. Throws an `OperatorError` if the signal is aborted or a phase hangs.
 */
export async function bench(
  environment: Readonly<Record<string, string | undefined>>,
  plan: BenchPlan,
  io: { say: (line: string) => void; signal: AbortSignal },
): Promise<BenchReport> {
  const started = performance.now()
  const { say } = io
  const protocol = protocolOf(loadSettings(environment), plan.protocol)
  const subjects = subjectsFor(protocol, plan)
  const phase = (name: string, options: Parameters<typeof runPhase>[1]) => {
    say(`${name} …`)
    return runPhase({ ...environment, ...only(plan.protocol) }, options, io)
  }
  const commentsEach = protocol.subject === 'thread' ? plan.commentsPerPost : 0
  const each = protocol.subject === 'thread' ? `posts with ${commentsEach} comments` : `subjects of ${plan.protocol}`

  const bare = await bareCasesPerSecond(loadSettings(environment).redis)
  say(`baseline: bare BullMQ does ${bare.toFixed(0)} cases of seven empty asks a second here and now`)

  const floodPosts = Math.max(1, Math.round(plan.flood / 100))
  const intake = await phase(`intake: ${floodPosts * 100} comments on ${floodPosts} posts`, {
    latencyMs: 0,
    roles: 'intake',
    changes: { ...only('rumor'), GAVEL_CHECKPOINTS_COUNTS: NEVER, GAVEL_CHECKPOINTS_AGES: '12h' },
    preload: threads('flood', floodPosts, 100, past()),
    done: (ticks) => sum(ticks, ({ settled }) => settled) >= floodPosts * 101,
    expected: 0,
  })
  const commentsPerSecond = (floodPosts * 100) / activeSeconds(intake.ticks, ({ settled }) => settled)
  say(`  ${commentsPerSecond.toFixed(0)} comments a second, at most ${maxRss(intake).toFixed(0)} MiB resident`)

  const quick = await phase(`verdicts: ${plan.verdicts} ${each}, no latency`, {
    latencyMs: 0,
    changes: { ...FINISH, GAVEL_CHECKPOINTS_COUNTS: NEVER, GAVEL_MODELS_SLOTS: String(plan.slots) },
    preload: subjects('quick', plan.verdicts, past()),
    done: (ticks) => sum(ticks, ({ published }) => published.length) >= plan.verdicts,
    expected: plan.verdicts,
  })
  const verdictsPerSecond =
    plan.verdicts / activeSeconds(quick.ticks, ({ opened, published }) => opened + published.length)
  const callsPerVerdict = mean(all(quick).map(({ calls }) => calls))
  const share = verdictsPerSecond / bare
  const cpuMsPerVerdict = {
    node: round(sum(quick.ticks, ({ cpuMs }) => cpuMs) / plan.verdicts),
    redis: round(quick.redisCpuMs / plan.verdicts),
  }
  say(
    `  ${verdictsPerSecond.toFixed(0)} verdicts a second (${share.toFixed(2)} of the baseline), ${callsPerVerdict.toFixed(2)} calls each`,
  )
  say(`  processor a verdict: ${cpuMsPerVerdict.node} ms, and ${cpuMsPerVerdict.redis} ms of Redis`)

  const depth = mean(quick.depths)
  const tokens = mean(all(quick).map(({ tokens: spent }) => spent))
  const { paper } = protocol
  say(
    `  ${plan.protocol}, a verdict: ${callsPerVerdict.toFixed(2)} calls, depth ${depth.toFixed(2)}, ${tokens.toFixed(0)} tokens`,
  )
  say(`  its paper: ${paper.calls} calls, depth ${paper.depth} (${paper.of})`)

  const full = (plan.slots * 1000) / plan.latencyMs / callsPerVerdict
  const saturated = Math.ceil(full * 25)
  const slots = {
    GAVEL_MODELS_SLOTS: String(plan.slots),
    GAVEL_STAGES_DEFAULT_CONCURRENCY: String(plan.slots),
  }
  const busy = await phase(`slots: ${saturated} posts, ${plan.slots} slots of ${plan.latencyMs} ms`, {
    latencyMs: plan.latencyMs,
    changes: { ...FINISH, ...slots, GAVEL_CHECKPOINTS_COUNTS: NEVER },
    preload: subjects('busy', saturated, past()),
    done: (ticks) => sum(ticks, ({ published }) => published.length) >= saturated,
    expected: saturated,
  })
  const slotUtilization = utilization(busy.ticks, saturated, plan.slots)
  const lapsedLocks = sum(busy.ticks, ({ lapsed }) => lapsed)
  say(`  ${(slotUtilization * 100).toFixed(1)} % of the slots busy while saturated, ${lapsedLocks} lapsed locks`)

  const capacityPerSecond = rateBetween(busy.ticks, saturated)
  const rate = capacityPerSecond / 2
  say(`capacity: ${capacityPerSecond.toFixed(1)} verdicts a second; a case of bare BullMQ at half of it …`)
  const bareCase = await bareCaseMs(loadSettings(environment).redis, { perSecond: rate, seconds: 10 })
  say(`  p50 ${bareCase.p50} ms, p95 ${bareCase.p95} ms`)
  const warmUpSeconds = plan.halfLoadSeconds / 3
  const halfPosts = Math.ceil(rate * (warmUpSeconds + plan.halfLoadSeconds))
  const load = `${rate.toFixed(1)} posts a second for ${plan.halfLoadSeconds} s, and ${warmUpSeconds.toFixed(1)} s before`
  const half = await phase(`half load: ${load}`, {
    latencyMs: plan.latencyMs,
    changes: { ...slots, GAVEL_CHECKPOINTS_COUNTS: String(plan.commentsPerPost) },
    live: {
      messages: subjects('half', halfPosts, Date.now),
      perSecond: rate * (commentsEach + 1),
    },
    done: (ticks) => sum(ticks, ({ published }) => published.length) >= halfPosts,
    expected: halfPosts,
  })
  const times = timesAfter(half, warmUpSeconds)
  for (const [part, { p50, p95 }] of Object.entries(times.parts)) say(`  ${part}: p50 ${p50} ms, p95 ${p95} ms`)
  const phases = [intake, quick, busy, half]
  const verdicts = phases.flatMap(all)
  return {
    verdicts: verdicts.length,
    lost: phases.reduce((total, { lost }) => total + lost, 0),
    unfinished: phases.reduce((total, { unfinished }) => total + unfinished, 0),
    duplicates: phases.reduce((total, { duplicates }) => total + duplicates, 0),
    seconds: round((performance.now() - started) / 1000),
    verdictsPerSecond: round(verdictsPerSecond),
    baselinePerSecond: round(bare),
    cpuMsPerVerdict,
    capacityPerSecond: round(capacityPerSecond),
    baselineCaseMs: bareCase,
    lapsedLocks,
    ...times,
    calls: verdicts.reduce((total, { calls }) => total + calls, 0),
    callsPerVerdict: round(mean(verdicts.map(({ calls }) => calls))),
    tokensPerVerdict: round(mean(verdicts.map(({ tokens }) => tokens))),
    depth: round(depth),
    paper,
    slotUtilization: round(slotUtilization),
    commentsPerSecond: round(commentsPerSecond),
    rssMiB: round(Math.max(...phases.map(maxRss))),
  }
}

/** One phase: a service of its own, its load, and an independent count of what stands on the verdicts topic at the end. */
async function runPhase(
  environment: Readonly<Record<string, string | undefined>>,
  options: Parameters<typeof serve>[1] & { expected: number },
  { say, signal }: { say: (line: string) => void; signal: AbortSignal },
): Promise<Seen> {
  const { ticks, kafka, settings, redis, isCutOff } = await serve(environment, options, signal)
  const troubles = sum(ticks, (tick) => tick.troubles)
  if (troubles > 0) say(`  ${troubles} troubles were reported; GAVEL_LOG_LEVEL=info tells them`)
  const { missing, ...counted } = await countOnTopic(kafka, settings, options.expected, signal)
  if (isCutOff) say(`  stopped after five minutes: ${missing} subjects were not judged by then`)
  return { ticks, redisCpuMs: redis.cpuMs, ...counted, ...shortfall(missing, { isCutOff }) }
}

async function countOnTopic(kafka: Kafka, settings: Settings, expected: number, signal: AbortSignal) {
  const ids: string[] = []
  const subjects = new Set<string>()
  await readTopic(kafka, topicsOf(settings).verdicts, { follow: false, signal }, ({ message }) => {
    const { id, subjectId } = verdict.parse(JSON.parse(message.value?.toString('utf8') ?? 'null'))
    ids.push(id)
    subjects.add(subjectId)
  })
  const depths = await depthsOnTopic(kafka, settings, signal)
  return { missing: expected - subjects.size, duplicates: ids.length - new Set(ids).size, depths }
}

/** Rounds with model calls, of the first verdicts' transcripts. */
async function depthsOnTopic(kafka: Kafka, settings: Settings, signal: AbortSignal): Promise<number[]> {
  const depths: number[] = []
  const enough = new AbortController()
  const options = { follow: false, signal: AbortSignal.any([signal, enough.signal]) }
  await readTopic(kafka, topicsOf(settings).transcripts, options, ({ message }) => {
    const { turns } = transcript.parse(JSON.parse(message.value?.toString('utf8') ?? 'null'))
    depths.push(new Set(turns.flatMap(({ round: at, calls }) => (calls.length > 0 ? [at] : []))).size)
    if (depths.length === TRANSCRIPTS_READ) enough.abort()
  })
  return depths
}

/**
 * How long verdicts took that came at least so many seconds after the first. The yardstick has run at full load before; so
 * the service, too, is measured only once V8 has optimized its code.
 */
function timesAfter(seen: Seen, seconds: number): Pick<BenchReport, 'parts' | 'overheadMs' | 'latencyMs'> {
  const first = seen.ticks.find(({ published }) => published.length > 0)
  const from = (first?.at ?? 0) + seconds * 1000
  const warm = { ...seen, ticks: seen.ticks.filter(({ at }) => at >= from) }
  return {
    parts: partsOf(warm),
    overheadMs: percentiles(all(warm).map(({ overheadMs }) => overheadMs)),
    latencyMs: percentiles(all(warm).map(({ latencyMs }) => latencyMs)),
  }
}

/** The overhead's parts, each with its percentiles. */
function partsOf(seen: Seen): Record<string, Percentiles> {
  const published = all(seen)
  const named = ['due to opened', 'opened to decided, less the model', 'decided to published'].map(
    (name, index) => [name, published.map(({ parts }) => parts[index] ?? 0)] as const,
  )
  const hops = Map.groupBy(
    seen.ticks.flatMap(({ hops }) => hops),
    ({ stage, part }) => `${stage}, ${part}`,
  )
  const byHop = [...hops].map(([name, some]) => [name, some.map(({ ms }) => ms)] as const)
  return Object.fromEntries([...named, ...byHop].map(([name, values]) => [name, percentiles(values)]))
}

/** What a protocol judges, so many of them. */
export function subjectsFor({ subject }: Protocol, { commentsPerPost }: Pick<BenchPlan, 'commentsPerPost'>) {
  return (name: string, count: number, from: () => number) =>
    subject === 'reply'
      ? replies(name, count, from)
      : threads(name, count, subject === 'thread' ? commentsPerPost : 0, from)
}

/** Switches every other protocol off. */
export function only(name: string): Record<string, string> {
  return Object.fromEntries(
    PROTOCOLS.map((kind) => [`GAVEL_PROTOCOLS_${kind.name.toUpperCase()}_ENABLED`, String(kind.name === name)]),
  )
}

export function protocolOf(settings: Settings, name: string): Protocol {
  const found = makeProtocols(settings.protocols, fences('bench', 1_000), samplingRanks('bench')).find(
    (protocol) => protocol.name === name,
  )
  if (found === undefined) throw new OperatorError(`No protocol is called ${name}, or the settings switch it off.`)
  return found
}

/** Seconds from just before the first tick in which something happened to the last such. */
function activeSeconds(ticks: readonly Tick[], happened: (tick: Tick) => number): number {
  const active = ticks.filter((tick) => happened(tick) > 0)
  const [first, last] = [active[0], active.at(-1)]
  if (first === undefined || last === undefined) return Number.POSITIVE_INFINITY
  return (last.at - first.at) / 1000 + 0.1
}

/** Verdicts a second between 10 % and 85 % of them. */
export function rateBetween(ticks: readonly Tick[], verdicts: number): number {
  let published = 0
  const steady = ticks.filter((tick) => {
    published += tick.published.length
    return published >= verdicts * 0.1 && published <= verdicts * 0.85
  })
  const [first, last] = [steady[0], steady.at(-1)]
  if (first === undefined || last === undefined || first === last) return 0
  return sum(steady.slice(1), (tick) => tick.published.length) / ((last.at - first.at) / 1000)
}

/** Mean share of busy slots between 10 % and 85 % of the verdicts: after the start, before the load runs dry. */
function utilization(ticks: readonly Tick[], verdicts: number, slots: number): number {
  let published = 0
  const shares: number[] = []
  for (const tick of ticks) {
    published += tick.published.length
    if (published >= verdicts * 0.1 && published <= verdicts * 0.85) shares.push(tick.busySlots / slots)
  }
  return mean(shares)
}

function all({ ticks }: Seen): VerdictTimes[] {
  return ticks.flatMap(({ published }) => published)
}

function maxRss({ ticks }: Seen): number {
  return ticks.reduce((most, { rssMiB }) => Math.max(most, rssMiB), 0)
}
