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

/** By protocol, a verdict by default: gavel bench --prompts (docs/cost.md). */
export const COSTS: Readonly<
  Record<
    string,
    { readonly calls: number; readonly depth: number; readonly tokens: number; readonly usdPerThousand: number }
  >
> = {
  counterspeech: { calls: 4, depth: 1, tokens: 3_936, usdPerThousand: 0.76 },
  hate: { calls: 8, depth: 6, tokens: 5_574, usdPerThousand: 0.72 },
  rumor: { calls: 5.1, depth: 2.5, tokens: 4_391, usdPerThousand: 0.87 },
  safety: { calls: 6.1, depth: 6.1, tokens: 9_439, usdPerThousand: 4.77 },
}
