import { entryOf } from '../../contracts/facts/entry-of.ts'

/** What comes in, how long a model takes, and the settings that sizes go by. Times in seconds. */
export interface Load {
  readonly postsPerSecond: number
  readonly commentsPerPost: number
  readonly repliesPerSecond: number
  readonly latency: number
  /** Protocols that are on, with what they judge. */
  readonly protocols: readonly {
    readonly name: string
    readonly subject: 'thread' | 'post' | 'reply'
    /** The share of comments that it judges by themselves, 0 to 1. */
    readonly ofComments: number
    /** The share of its own subjects that its routes bring it, 0 to 1. */
    readonly share: number
    /** How it judges, as far as that changes its price. */
    readonly way: JudgingWay
  }[]
  /** The share of posts and replies whose words were judged while the memo still holds the answer, 0 to 1. */
  readonly repeats: number
  /** Counts of comments at which a thread is judged, and how many ages. */
  readonly checkpoints: { readonly counts: readonly number[]; readonly ages: number }
  readonly slots: number
  readonly partitions: number
  readonly memoKeep: number
  readonly retention: number
  readonly replication: number
}

export interface Sizes {
  readonly verdictsPerSecond: number
  readonly callsPerSecond: number
  readonly tokensPerMinute: number
  readonly usdPerDay: number
  readonly replicas: { readonly intake: number; readonly judge: number; readonly publish: number }
  /** What one judge more would relieve: the model's slots, or its processor; or two are enough. */
  readonly judgeBound: 'slots' | 'processor' | 'two, so that one can fail'
  /** Set if more intake would be needed than there are partitions. */
  readonly partitionsWanted: number | null
  /** What of a core is busy, and for the memo. */
  readonly redis: { readonly cores: number; readonly memoGiB: number }
  /** How many Gavels the stream needs, each with a Redis of its own: one Redis works on one core. */
  readonly gavels: number
  /** What the publishers write to Kafka, with its copies, before compression. */
  readonly publishMiBPerSecond: number
  /** Transcripts and verdicts with their copies, before compression. */
  readonly kafkaGiB: number
  /** Least time from due to verdict: the calls that wait for one another. */
  readonly leastSeconds: number
}

/** Most of a core that is used in the long run: the rest is for bursts and for collecting garbage. */
export const OF_A_CORE = 0.8
/** Half of what intake was measured at. */
const OF_INTAKE = 0.5
const GIB = 2 ** 30
const CHARACTERS_A_TOKEN = 4

/** What a stream takes. */
export function sizesFor(load: Load): Sizes {
  const { latency, slots } = load
  const demands = demandsOf(load)
  const sum = (of: (demand: (typeof demands)[number]) => number) => demands.reduce((all, one) => all + of(one), 0)
  const verdictsPerSecond = sum(({ verdicts }) => verdicts)
  const callsPerSecond = sum(({ asFirst, cost }) => asFirst * cost.calls)
  const tokensPerSecond = sum(({ asFirst, cost }) => asFirst * cost.tokens)
  const bySlots = (callsPerSecond * latency) / (MEASURED.slotUtilization * slots)
  const byProcessor = (verdictsPerSecond * MEASURED.nodeMsPerVerdict) / 1000 / OF_A_CORE
  const redisCores = (verdictsPerSecond * MEASURED.redisMsPerVerdict) / 1000
  const { postsPerSecond: posts, commentsPerPost, repliesPerSecond } = load
  const judge = Math.max(2, Math.ceil(Math.max(bySlots, byProcessor)))
  const messages = posts * (1 + commentsPerPost) + repliesPerSecond
  const intake = Math.max(2, Math.ceil(messages / (OF_INTAKE * MEASURED.intakePerSecond)))
  return {
    verdictsPerSecond,
    callsPerSecond,
    tokensPerMinute: 60 * tokensPerSecond,
    usdPerDay: 86.4 * sum(({ asFirst, cost }) => asFirst * cost.usdPerThousand),
    replicas: { intake: Math.min(intake, load.partitions), judge, publish: 2 },
    judgeBound:
      Math.max(bySlots, byProcessor) <= 2
        ? 'two, so that one can fail'
        : bySlots >= byProcessor
          ? 'slots'
          : 'processor',
    partitionsWanted: intake > load.partitions ? intake : null,
    gavels: Math.max(1, Math.ceil(redisCores / OF_A_CORE)),
    publishMiBPerSecond: (tokensPerSecond * CHARACTERS_A_TOKEN * load.replication) / 2 ** 20,
    redis: {
      cores: redisCores,
      memoGiB: (callsPerSecond * MEASURED.memoBytes * 2 * load.memoKeep) / GIB,
    },
    kafkaGiB: (tokensPerSecond * CHARACTERS_A_TOKEN * load.retention * load.replication) / GIB,
    leastSeconds: Math.max(0, ...load.protocols.map((one) => leastSecondsOf(one, latency))),
  }
}

/** What each protocol has to do a second: verdicts, and as how many first ones they count by their calls. */
function demandsOf(load: Load) {
  const { postsPerSecond: posts, commentsPerPost, repliesPerSecond, protocols, repeats } = load
  return protocols.map(({ name, subject, ofComments, share, way }) => {
    const cost = costOf(name, way)
    const first = (subject === 'reply' ? repliesPerSecond : posts) * share + posts * commentsPerPost * ofComments
    const later = subject === 'thread' ? posts * share * laterRevisions(load) : 0
    // What a thread's answers rest on is seldom the same twice.
    const asked = subject === 'thread' ? first : first * (1 - repeats)
    const asFirst = asked + (later * Math.min(MEASURED.laterRevisionCalls, cost.calls)) / cost.calls
    return { cost, verdicts: first + later, asFirst }
  })
}

/** Least time from due to verdict of a protocol, in seconds: the calls that wait for one another. */
export function leastSecondsOf({ name, way }: { name: string; way: JudgingWay }, latency: number): number {
  return costOf(name, way).depth * latency
}

/** Most verdicts a second of one judging process, and what bounds them. */
export function judgeRate({ calls, latency, slots }: { calls: number; latency: number; slots: number }) {
  const bySlots = latency === 0 ? Number.POSITIVE_INFINITY : (MEASURED.slotUtilization * slots) / (calls * latency)
  const byProcessor = 1000 / MEASURED.nodeMsPerVerdict
  return bySlots < byProcessor ? { perSecond: bySlots, bound: 'slots' } : { perSecond: byProcessor, bound: 'processor' }
}

/** How often a thread is judged after its first verdict: at counts that it reaches, at ages, and for good. */
function laterRevisions({ commentsPerPost, checkpoints }: Load): number {
  const reached = checkpoints.counts.filter((count) => count <= commentsPerPost).length
  // The first verdict takes the place of one of them.
  return reached + checkpoints.ages
}

/** What sizes rest on, each with where it was measured (docs/bench.md, docs/cost.md): two cores of 2.5 GHz or so, servers beside it. */
export const MEASURED = {
  /** Share of the model slots that are busy while more waits than they take: `slotUtilization` of gavel bench. */
  slotUtilization: 0.95,
  /** Processor time of a judging process a verdict, in ms, its start included: `cpuMsPerVerdict.node` of gavel bench. */
  nodeMsPerVerdict: 6.3,
  /** The same of Redis: `cpuMsPerVerdict.redis`. */
  redisMsPerVerdict: 1.9,
  /** Messages a second of one intake: the least of five `commentsPerSecond`. */
  intakePerSecond: 43_200,
  /** Most bytes of an answer in the memo; what has expired may lie there for as long again (config/gavel.yaml, memo.keep). */
  memoBytes: 950,
  /** Calls of a later revision of a thread, which scores only what is new: gavel bench --savings, 155 threads of RumourEval. */
  laterRevisionCalls: 2.53,
} as const

/** How a protocol judges: as shipped, with every debate held, or by a preset. */
export const WAYS = ['default', 'debate always', 'thrifty', 'paper'] as const
export type JudgingWay = (typeof WAYS)[number]

interface Cost {
  readonly calls: number
  readonly depth: number
  readonly tokens: number
  readonly usdPerThousand: number
}

/** A verdict of each protocol, by its way: gavel bench --prompts (docs/cost.md). */
export const COSTS: Readonly<Record<string, Readonly<Partial<Record<JudgingWay, Cost>> & { readonly default: Cost }>>> =
  {
    counterspeech: {
      default: { calls: 4, depth: 1, tokens: 3_950, usdPerThousand: 0.84 },
      thrifty: { calls: 1, depth: 1, tokens: 3_085, usdPerThousand: 0.76 },
      paper: { calls: 4, depth: 1, tokens: 3_975, usdPerThousand: 0.84 },
    },
    hate: {
      default: { calls: 1, depth: 1, tokens: 1_150, usdPerThousand: 0.14 },
      'debate always': { calls: 6.1, depth: 4.1, tokens: 7_642, usdPerThousand: 0.92 },
      thrifty: { calls: 1, depth: 1, tokens: 1_150, usdPerThousand: 0.14 },
      paper: { calls: 10, depth: 6, tokens: 5_990, usdPerThousand: 0.82 },
    },
    rumor: {
      default: { calls: 3.7, depth: 1.8, tokens: 4_036, usdPerThousand: 0.75 },
      'debate always': { calls: 5, depth: 2.4, tokens: 5_003, usdPerThousand: 0.97 },
      thrifty: { calls: 2.8, depth: 1.8, tokens: 3_594, usdPerThousand: 0.62 },
      paper: { calls: 19, depth: 4, tokens: 14_714, usdPerThousand: 2.38 },
    },
    safety: {
      default: { calls: 1, depth: 1, tokens: 1_792, usdPerThousand: 3.15 },
      'debate always': { calls: 5, depth: 5, tokens: 9_901, usdPerThousand: 5.36 },
      thrifty: { calls: 1, depth: 1, tokens: 1_792, usdPerThousand: 0.5 },
      paper: { calls: 6, depth: 6, tokens: 9_624, usdPerThousand: 5.1 },
    },
  }
const UNMEASURED: Cost = { calls: 1, depth: 1, tokens: 1_000, usdPerThousand: 0 }

function costOf(name: string, way: JudgingWay): Cost {
  const known = entryOf(COSTS, name)
  return known?.[way] ?? known?.default ?? UNMEASURED
}
