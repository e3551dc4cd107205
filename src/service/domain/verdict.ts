import { z } from 'zod'
import { filteredQuestions } from './filtered.ts'
import { stepsUsed } from './steps.ts'

export const DECIDED_BY = ['consensus', 'judge', 'arbiter', 'majority', 'scores', 'none', 'deleted'] as const
export type DecidedBy = (typeof DECIDED_BY)[number]

/**
 * Whose fault it is that a verdict is degraded: `ours`, Gavel's or its operator's (a deadline, a budget, load, a library that
 * can't be read); `model`, a model's answers or its endpoint; `evidence`, something that the subject, its thread or a shelf
 * lacks, or has more of than is judged. The first that applies is the one to look at first.
 */
export const FAULTS = ['ours', 'model', 'evidence'] as const
export type Fault = (typeof FAULTS)[number]

export const usage = z.object({
  calls: z.number(),
  memoHits: z.number(),
  promptTokens: z.number(),
  cachedTokens: z.number(),
  completionTokens: z.number(),
  costUsd: z.number(),
  /** Of the prompt's tokens: written to a cache. Absent where there were none, as the two below. */
  cacheWriteTokens: z.number().optional(),
  /** Of the tokens that were written: thoughts. */
  thinkingTokens: z.number().optional(),
  /** Calls whose tokens and cost are an estimate, since their endpoint did not say what they used, or said what can't be. */
  estimated: z.number().optional(),
})
export type Usage = z.infer<typeof usage>

export const versions = z.object({ script: z.number().int(), prompts: z.string(), settings: z.string() })
/** The versions that a case is judged under, pinned when it opens: the script's number, hashes of prompts and settings. */
export type Versions = z.infer<typeof versions>

/**
 * What happened to the comments that a thread has accepted: each was judged, or left out for one reason. `cap`: above
 * the most that a thread keeps or a protocol samples; `late`: after the final age; `folded`: the same words as another
 * comment; `author`: above what one author may contribute; `unscored`: no readable score; `load`: not asked about under
 * load.
 */
export const commentCounts = z.object({
  accepted: z.number().int(),
  judged: z.number().int(),
  leftOut: z.object({
    cap: z.number().int(),
    late: z.number().int(),
    folded: z.number().int(),
    author: z.number().int(),
    unscored: z.number().int(),
    load: z.number().int(),
  }),
})
export type CommentCounts = z.infer<typeof commentCounts>

export function noComments(): CommentCounts {
  return { accepted: 0, judged: 0, leftOut: { cap: 0, late: 0, folded: 0, author: 0, unscored: 0, load: 0 } }
}

/** What a script did with a snapshot's comments; those neither judged nor counted here had no readable score. */
const weighed = z.object({
  judged: z.number().int(),
  folded: z.number().int(),
  author: z.number().int(),
  cap: z.number().int(),
  load: z.number().int(),
})
export type WeighedCounts = z.infer<typeof weighed>

/** What a protocol's script decides, with its grounds; ids, times and costs are added later. */
export const ruling = z.object({
  label: z.string().nullable(),
  scores: z.record(z.string(), z.number()),
  rationale: z.string(),
  decidedBy: z.enum(DECIDED_BY),
  /** The number of debate rounds. */
  rounds: z.number().int(),
  evidence: z.object({
    support: z.array(z.string()),
    oppose: z.array(z.string()),
    precedents: z.array(z.string()),
  }),
  /** What was left out, and why, in words. */
  degraded: z.array(z.string()),
  /** Faults that neither failed asks nor the counts of comments show. */
  faults: z.array(z.enum(FAULTS)).optional(),
  /** By aspect the evaluation steps that its scores rest on; absent where a protocol scores by none. */
  steps: z.record(z.string(), stepsUsed).optional(),
  /** By role: models that it rests on, but that were not asked for this revision. */
  models: z.record(z.string(), z.string()).optional(),
  /** Counts for the snapshot's comments; absent if all of them were judged. */
  comments: weighed.optional(),
})
export type Ruling = z.infer<typeof ruling>

const timing = z.object({
  createdAt: z.string(),
  receivedAt: z.string(),
  openedAt: z.string(),
  decidedAt: z.string(),
  /** Sum over rounds of the slowest answer in each, in ms: time that no pipeline could save. */
  modelMs: z.number(),
  /** receivedAt → decidedAt, without modelMs and deferred time, in ms. */
  overheadMs: z.number(),
})

/** A value of a closed list, of this version or another one: a plain word. */
const word = z.string().regex(/^[a-z][a-z-]{0,39}$/)

/**
 * A verdict as it is published. Readers take a value of `decidedBy` or `faults` that they don't know as it is: it is theirs to
 * read before any version writes it.
 */
export const verdict = z.object({
  schema: z.literal(1),
  id: z.string(),
  subjectId: z.string(),
  tenant: z.string(),
  protocol: z.string(),
  revision: z.number().int(),
  final: z.boolean(),
  supersedes: z.string().nullable(),
  ...ruling.omit({ models: true, comments: true, faults: true }).shape,
  decidedBy: word,
  /** The classes of what `degraded` says in words. */
  faults: z.array(word),
  /** What an endpoint's filter refused of it: evidence beside the label, and never the label itself. */
  filtered: z.array(filteredQuestions).optional(),
  counts: commentCounts,
  usage,
  models: z.record(z.string(), z.string()),
  versions,
  timing,
})
export type Verdict = z.infer<typeof verdict>

const chatMessage = z.object({
  role: z.enum(['system', 'user', 'assistant']),
  content: z.string(),
  /** https or data URLs, as in the post; each is fetched and checked before a model sees it. */
  images: z.array(z.string()).optional(),
})
export type ChatMessage = z.infer<typeof chatMessage>

/** What of a question could not be had from its model, or was had in another way; see docs/models.md. */
export const REMARKS = ['temperature', 'log-probabilities', 'thinking-room', 'tier'] as const
export type Remark = (typeof REMARKS)[number]

/** A message in a transcript: its text at the first occurrence, afterwards a pointer to that one. */
const recordedMessage = z.union([
  chatMessage,
  z.object({ role: chatMessage.shape.role, sameAs: z.object({ turn: z.number().int(), message: z.number().int() }) }),
])
export type RecordedMessage = z.infer<typeof recordedMessage>

const turn = z.object({
  round: z.number().int(),
  stage: z.string(),
  role: z.string(),
  model: z.string(),
  messages: z.array(recordedMessage),
  answer: z.unknown(),
  raw: z.string().nullable(),
  /** Set if the ask failed: a failure code and a sentence. */
  failed: z.object({ code: z.string(), detail: z.string() }).optional(),
  /** Every call made for this ask, the answered one last; a bill can be checked against it. */
  calls: z.array(z.object({ id: z.string(), outcome: z.string() })),
  usage,
  startedAt: z.string(),
  ms: z.number(),
  memo: z.boolean(),
  /**
   * Set if the question is about comments: the ids of those asked about, in the order of their numbers, and then of other
   * comments whose words stand beside them.
   */
  about: z.array(z.string()).optional(),
  /** What could not be had as it was asked for: the temperature, log-probabilities; or that thoughts were given more room. */
  remarks: z.array(z.enum(REMARKS)).optional(),
  /** Set if only some items of a batch were sent and the others were known: their numbers from 0, call by call. */
  sent: z.array(z.array(z.number().int())).optional(),
})
export type Turn = z.infer<typeof turn>

export const transcript = z.object({
  schema: z.literal(1),
  verdictId: z.string(),
  subject: z.unknown(),
  turns: z.array(turn),
  /** What was shortened to stay below the broker's message size limit, in words. */
  cut: z.array(z.string()),
})
export type Transcript = z.infer<typeof transcript>

/**
 * The verdict's id, and the case's: `rumor~POSTID~r2`; outside the default tenant `rumor@TENANT~POSTID~r2`; where a protocol
 * that judges posts judges a reply as well, `hate/reply~REPLYID~r1` (neither a protocol's name nor a tenant's holds `@`, `/`
 * or `~`, so no two subjects share an id).
 */
export function verdictId(of: {
  protocol: string
  tenant: string
  subjectId: string
  revision: number
  /** Cross-kind: a reply among the subjects of a protocol that judges posts. */
  crossKind?: boolean
}): string {
  const subjects = of.crossKind === true ? `${of.protocol}/reply` : of.protocol
  const scope = of.tenant === 'default' ? subjects : `${subjects}@${of.tenant}`
  return `${scope}~${of.subjectId}~r${of.revision}`
}

/** The protocol and the tenant that a verdict's or a case's id names. */
export function scopeOf(id: string): { protocol: string; tenant: string } {
  const [, protocol = '', tenant = 'default'] = /^([^~@/]*)(?:\/reply)?(?:@([^~]*))?~/.exec(id) ?? []
  return { protocol, tenant }
}

/** Whether a verdict's id names a reply among the subjects of a protocol that judges posts. */
export function isCrossKind(id: string): boolean {
  return /^[^~@/]*\/reply[@~]/.test(id)
}

/** A ruling without a decision, and why. */
export function undecided(...degraded: string[]): Ruling {
  return {
    label: null,
    scores: {},
    rationale: '',
    decidedBy: 'none',
    rounds: 0,
    evidence: { support: [], oppose: [], precedents: [] },
    degraded,
  }
}

export function noUsage(): Usage {
  return { calls: 0, memoHits: 0, promptTokens: 0, cachedTokens: 0, completionTokens: 0, costUsd: 0 }
}

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    calls: a.calls + b.calls,
    memoHits: a.memoHits + b.memoHits,
    promptTokens: a.promptTokens + b.promptTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    costUsd: exactUsd(a.costUsd + b.costUsd),
    ...summed('cacheWriteTokens', a, b),
    ...summed('thinkingTokens', a, b),
    ...summed('estimated', a, b),
  }
}

/** US dollars without the noise of sums: prices have at most twelve digits behind the point, for a token. */
function exactUsd(usd: number): number {
  return Math.abs(usd) < 1000 ? Math.round(usd * 1e12) / 1e12 : usd
}

/** A sum that is left out where there is nothing to add. */
function summed(name: 'cacheWriteTokens' | 'thinkingTokens' | 'estimated', a: Usage, b: Usage): Partial<Usage> {
  const sum = (a[name] ?? 0) + (b[name] ?? 0)
  return sum === 0 ? {} : { [name]: sum }
}
