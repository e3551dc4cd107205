import { loadSettings } from '../../../config/load.ts'
import { table } from '../../cli/terminal.ts'
import { connect } from '../../store/redis/connect.ts'
import { threads } from './load.ts'
import { mean, percentiles, round } from './percentiles.ts'
import { serve, sum } from './service.ts'
import type { Tick } from './worker.ts'

export interface SoakPlan {
  readonly minutes: number
  readonly commentsPerPost: number
  readonly slots: number
  readonly latencyMs: number
}

/** One minute; memory in MiB, as it was on average. */
export interface SoakMinute {
  readonly minute: number
  readonly verdicts: number
  readonly rssMiB: number
  readonly heapMiB: number
  /** Received → published, less the model's critical path and holds, in ms. */
  readonly overheadP95Ms: number
  readonly lagMessages: number
  /** Sockets, timers and the like that the process holds. */
  readonly handles: number
  readonly redisMiB: number
  readonly troubles: number
}

export interface SoakReport {
  readonly minutes: readonly SoakMinute[]
  readonly postsPerSecond: number
  readonly verdicts: number
  readonly lost: number
  /** Growth in MiB a minute, by least squares over the load's minutes after the first. */
  readonly rssGrowth: number
  readonly heapGrowth: number
  readonly flat: boolean
}

/** Memory is flat if it grows by no more than this, in MiB a minute… */
const FLAT_MIB_A_MINUTE = 1
/** …over at least so many minutes after the first, in which pools, caches and the heap find their sizes. */
const MINUTES_TO_TELL = 3
/** As many as `gavel bench` counts at half load, with its model. */
const CALLS_A_VERDICT = 5
/** When its comments have come, and the final one. */
const VERDICTS_A_POST = 2
const MINUTE_MS = 60_000

/**
 * The bench's half load for some minutes: as many verdicts a second as fill half of the model's slots where none is known.
 * Threads live short, so that what a day would bring happens within minutes: each gets a verdict when its comments have come
 * and a final one a minute later, and is gone from Redis after another, as are the answers of models. Prints a row a minute.
 */
export async function soakBench(
  environment: Readonly<Record<string, string | undefined>>,
  plan: SoakPlan,
  { say, signal }: { say: (line: string) => void; signal: AbortSignal },
): Promise<SoakReport> {
  const { minutes, commentsPerPost, slots, latencyMs } = plan
  const postsPerSecond = (slots * 1000) / latencyMs / CALLS_A_VERDICT / VERDICTS_A_POST / 2
  const posts = Math.ceil(postsPerSecond * minutes * 60)
  const redis = connect(loadSettings(environment).redis, () => {}, 'fail-fast')
  const rows: SoakMinute[] = []
  const open: Tick[] = []
  let sampling = Promise.resolve()
  let began: number | undefined
  async function row(ticks: readonly Tick[]): Promise<void> {
    const told = await redis.info('memory')
    const made = minuteOf(rows.length + 1, ticks, Number(/^used_memory:(\d+)/m.exec(told)?.[1] ?? 0) / 2 ** 20)
    rows.push(made)
    say(lineOf(made))
  }
  say(`${postsPerSecond.toFixed(1)} posts a second with ${commentsPerPost} comments each, for ${minutes} minutes`)
  try {
    const { ticks } = await serve(
      environment,
      {
        latencyMs,
        changes: {
          GAVEL_PROTOCOLS_HATE_ENABLED: 'false',
          GAVEL_PROTOCOLS_SAFETY_ENABLED: 'false',
          GAVEL_PROTOCOLS_COUNTERSPEECH_ENABLED: 'false',
          GAVEL_MODELS_SLOTS: String(slots),
          GAVEL_STAGES_DEFAULT_CONCURRENCY: String(slots),
          GAVEL_CHECKPOINTS_COUNTS: String(commentsPerPost),
          GAVEL_CHECKPOINTS_AGES: '30s',
          GAVEL_CHECKPOINTS_FINAL_AGE: '1m',
          GAVEL_THREADS_KEEP_AFTER_FINAL: '1m',
          GAVEL_MEMO_KEEP: '2m',
        },
        live: {
          messages: threads('soak', posts, commentsPerPost, Date.now),
          perSecond: postsPerSecond * (commentsPerPost + 1),
        },
        done: (seen) => finalsOf(seen) >= posts,
        onTick(tick) {
          began ??= tick.at
          open.push(tick)
          if (tick.at - began < MINUTE_MS * (rows.length + 1)) return
          const whole = open.splice(0)
          sampling = sampling.then(() => row(whole)).catch((error: unknown) => say(String(error)))
        },
      },
      signal,
    )
    await sampling
    const loaded = rows.slice(1, minutes)
    const growth = (of: (minute: SoakMinute) => number) => round(slope(loaded.map(of)))
    const rssGrowth = growth(({ rssMiB }) => rssMiB)
    return {
      minutes: rows,
      postsPerSecond: round(postsPerSecond),
      verdicts: sum(ticks, ({ published }) => published.length),
      lost: Math.max(0, posts - finalsOf(ticks)),
      rssGrowth,
      heapGrowth: growth(({ heapMiB }) => heapMiB),
      flat: loaded.length >= MINUTES_TO_TELL && rssGrowth <= FLAT_MIB_A_MINUTE,
    }
  } finally {
    redis.disconnect()
  }
}

/** The report for people. */
export function soakTable({ minutes, lost, rssGrowth, heapGrowth, flat }: SoakReport): string {
  const head = [
    'minute',
    'verdicts',
    'rss MiB',
    'heap MiB',
    'overhead p95 ms',
    'lag',
    'handles',
    'Redis MiB',
    'troubles',
  ]
  const rows = minutes.map((minute) => Object.values(minute).map(String))
  const verdict = flat ? 'flat' : 'not shown to be flat'
  return `${table(head, rows)}\nlost ${lost}; resident ${rssGrowth} MiB a minute, heap ${heapGrowth}: ${verdict}`
}

function minuteOf(minute: number, ticks: readonly Tick[], redisMiB: number): SoakMinute {
  const overheads = ticks.flatMap(({ published }) => published.map(({ overheadMs }) => overheadMs))
  return {
    minute,
    verdicts: overheads.length,
    rssMiB: Math.round(mean(ticks.map(({ rssMiB }) => rssMiB))),
    heapMiB: Math.round(mean(ticks.map(({ heapMiB }) => heapMiB))),
    overheadP95Ms: Math.round(percentiles(overheads).p95),
    lagMessages: Math.max(0, ...ticks.map(({ lag }) => lag)),
    handles: ticks.at(-1)?.handles ?? 0,
    redisMiB: Math.round(redisMiB),
    troubles: sum(ticks, ({ troubles }) => troubles),
  }
}

function lineOf({
  minute,
  verdicts,
  rssMiB,
  heapMiB,
  overheadP95Ms,
  lagMessages,
  handles,
  redisMiB,
}: SoakMinute): string {
  return `  minute ${minute}: ${verdicts} verdicts, ${rssMiB} MiB resident, ${heapMiB} MiB heap, overhead p95 ${overheadP95Ms} ms, lag at most ${lagMessages}, ${handles} handles, Redis ${redisMiB} MiB`
}

function finalsOf(ticks: readonly Tick[]): number {
  return sum(ticks, ({ published }) => published.filter(({ final }) => final).length)
}

/** Of the line through values one minute apart, by least squares; 0 where there are fewer than two. */
function slope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2
  const average = mean(values)
  const square = values.reduce((total, _, at) => total + (at - middle) ** 2, 0)
  return square === 0 ? 0 : values.reduce((total, value, at) => total + (at - middle) * (value - average), 0) / square
}
