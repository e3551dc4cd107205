import { z } from 'zod'
import { filteredQuestions } from './filtered.ts'
import { stepsUsed } from './steps.ts'
import { schemaTwo, VERDICT_SCHEMAS, versionsOfSchemaTwo, word } from './verdict-fields.ts'

/** How machines reach a ruling; a deletion rules as well. */
export const RULED_BY = [
  'consensus',
  'judge',
  'arbiter',
  'majority',
  'scores',
  'single',
  'none',
  'deleted',
  'lane',
] as const
export type RulingSource = (typeof RULED_BY)[number]

/** All ways to a verdict. No script can pass for a person. */
export const DECIDED_BY = [...RULED_BY, 'veto', 'human'] as const
export type VerdictSource = (typeof DECIDED_BY)[number]

/**
 * Whose fault it is that a verdict is degraded: `ours`, Gavel's or its operator's (a deadline, a budget, load, a library that
 * can't be read); `model`, a model's answers or its endpoint; `evidence`, something that the subject, its thread or a shelf
 * lacks, or has more of than is judged. The first that applies is the one to look at first.
 */
export const FAULTS = ['ours', 'model', 'evidence'] as const
export type Fault = (typeof FAULTS)[number]

export const usage = z.object({
  calls: z.number().describe('Calls to models.'),
  memoHits: z.number().describe('Questions whose answer was known.'),
  promptTokens: z.number(),
  cachedTokens: z.number().describe('Prompt tokens that were read from a cache.'),
  completionTokens: z.number(),
  costUsd: z.number().describe('US dollars, by the prices in the settings.'),
  cacheWriteTokens: z
    .number()
    .describe('Prompt tokens that were written to a cache. Absent if there were none.')
    .optional(),
  thinkingTokens: z.number().describe('Completion tokens that were thoughts. Absent if there were none.').optional(),
  estimated: z
    .number()
    .describe('Calls whose tokens and cost are an estimate, because the endpoint gave none, or impossible ones.')
    .optional(),
})
export type Usage = z.infer<typeof usage>

export const versions = z.object({
  script: z.number().int().describe("The number of the protocol's script."),
  prompts: z.string().describe('A hash of its prompts.'),
  settings: z.string().describe('A hash of its settings.'),
})
/** The versions that a case is judged under, pinned when it opens: the script's number, hashes of prompts and settings. */
export type Versions = z.infer<typeof versions>

/**
 * What happened to the comments that a thread has accepted: each was judged, or left out for one reason. `cap`: above
 * the most that a thread keeps or a protocol samples; `late`: after the final age; `folded`: the same words as another
 * comment; `author`: above what one author may contribute; `unscored`: no readable score; `load`: not asked about under
 * load.
 */
export const commentCounts = z.object({
  accepted: z.number().int().describe('The sum of all others.'),
  judged: z.number().int(),
  leftOut: z.object({
    cap: z.number().int().describe('Above the most that a thread keeps, or that a protocol samples.'),
    late: z.number().int().describe('Later than the final age.'),
    folded: z.number().int().describe('The same words as another comment.'),
    author: z.number().int().describe('Above what one author may contribute.'),
    unscored: z.number().int().describe('No readable score.'),
    load: z.number().int().describe('Not asked about under load.'),
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
  label: z
    .string()
    .nullable()
    .describe('The label, a word of its protocol; null if nothing could be decided, and for a deletion.'),
  scores: z.record(z.string(), z.number()).describe("The protocol's numbers, by name."),
  rationale: z.string().describe('Why, in words of models: untrusted text.'),
  decidedBy: z.enum(RULED_BY),
  rounds: z.number().int().describe('How many rounds the debate had.'),
  debated: schemaTwo.debated,
  confidence: schemaTwo.confidence,
  unverified: schemaTwo.unverified,
  opposed: schemaTwo.opposed,
  policy: schemaTwo.policy,
  clauses: schemaTwo.clauses,
  evidence: z.object({
    support: z.array(z.string()).describe('Ids of the comments that support the claim.'),
    oppose: z.array(z.string()).describe('Ids of those that oppose it.'),
    precedents: z.array(z.string()).describe('Ids of the items of the library that it was judged beside.'),
    elsewhere: z
      .array(z.string())
      .describe(
        'Comments under other posts in the same words that its case held, to be shown beside its own, as POST~COMMENT (~ and % in ids percent-encoded). Absent if there were none.',
      )
      .optional(),
  }),
  degraded: z.array(z.string()).describe('The parts that were left out, and why, in words.'),
  /** Faults that neither failed asks nor the counts of comments show. */
  faults: z.array(z.enum(FAULTS)).optional(),
  steps: z
    .record(z.string(), stepsUsed)
    .describe('By aspect the evaluation steps that its scores rest on; absent where a protocol scores by none.')
    .optional(),
  /** By role: models that it rests on, but that were not asked for this revision. */
  models: z.record(z.string(), z.string()).optional(),
  /** The hash of the first lane whose decider was asked; `closed-` before it: that one is closed, and nobody was asked. */
  lane: z.string().optional(),
  /** Counts for the snapshot's comments; absent if all of them were judged. */
  comments: weighed.optional(),
})
export type Ruling = z.infer<typeof ruling>

const timing = z.object({
  createdAt: z.string().describe("The subject's own time."),
  receivedAt: z.string().describe('When the message came, or the due time passed, that opened this revision.'),
  openedAt: z.string(),
  decidedAt: z.string(),
  modelMs: z
    .number()
    .describe('Sum over rounds of the slowest answer in each, in ms: time that no pipeline could save.'),
  overheadMs: z.number().describe('From receivedAt to decidedAt without modelMs and deferred time, in ms.'),
})

/**
 * A verdict as it is published. Readers take a value of `decidedBy` or `faults` that they don't know as it is: it is theirs to
 * read before any version writes it.
 */
export const verdict = z.object({
  schema: z.literal(VERDICT_SCHEMAS).describe('Raised when a reader of this number could no longer read it.'),
  id: z.string().describe('The part before the last ~r names protocol, tenant and subject; the rest is the revision.'),
  subjectId: z.string().describe("The id of the post or reply, and the record's key."),
  tenant: z.string(),
  protocol: z.string(),
  revision: z.number().int().describe('The highest of a protocol and subject counts. Numbers rise and may skip some.'),
  final: z
    .boolean()
    .describe('No checkpoint is left; late comments, an edit or a deletion make another revision all the same.'),
  supersedes: z.string().nullable().describe('The id of the revision before; null for the first.'),
  ...ruling.omit({ models: true, comments: true, faults: true }).shape,
  decidedBy: word.meta({
    description: 'How it was decided. A later version may add words: take one that you don’t know as it is.',
    examples: DECIDED_BY,
  }),
  faults: z.array(word.meta({ examples: FAULTS })).describe('The classes of the degradations; new ones may be added.'),
  filtered: z
    .array(filteredQuestions)
    .describe("Parts that an endpoint's filter refused: evidence beside the label, never the label itself.")
    .optional(),
  decision: z
    .object({
      by: z.string().describe('The person who decided.'),
      against: z.string().nullable().describe('The id of the verdict that they saw; null where there was none.'),
      of: z.string().describe('The decision’s PARTITION@OFFSET on the decisions topic.'),
      forced: z.literal(true).describe('It was decided whatever came since (--force).').optional(),
      unseen: z
        .literal(true)
        .describe(
          'An image could not be shown to the person as it was judged, or the words stayed covered: take it for no example.',
        )
        .optional(),
    })
    .describe('Only on a human verdict; its reason is the rationale.')
    .optional(),
  restored: z
    .object({
      from: z.string().nullable().describe('The id of the ruling that is published again; null where none is left.'),
      by: z.string().describe('The person who withdrew the human verdict.'),
      why: z.string(),
      of: z.string().describe('The withdrawal’s PARTITION@OFFSET on the decisions topic.'),
    })
    .describe('Only on a verdict that replaces a withdrawn human verdict.')
    .optional(),
  counts: commentCounts.describe('How many comments had which outcome; 0 if none.'),
  usage: usage.describe('The cost of this revision.'),
  models: z.record(z.string(), z.string()).describe('By role the models that it rests on.'),
  versions: versions.extend(versionsOfSchemaTwo),
  timing,
  ...schemaTwo,
})
export type Verdict = z.infer<typeof verdict>

const chatMessage = z.object({
  role: z.enum(['system', 'user', 'assistant']),
  content: z.string(),
  images: z
    .array(z.string())
    .describe(
      'https: or data: URLs, as in the post, or for a long data: URL kept: and its hash; each is fetched and checked before a model sees it.',
    )
    .optional(),
})
export type ChatMessage = z.infer<typeof chatMessage>

/** What of a question could not be had from its model, or was had in another way; see docs/models.md. */
export const REMARKS = ['temperature', 'log-probabilities', 'thinking-room', 'tier'] as const
export type Remark = (typeof REMARKS)[number]

/** A message in a transcript: its text at the first occurrence, afterwards a pointer to that one. */
const recordedMessage = z.union([
  chatMessage,
  z.object({
    role: chatMessage.shape.role,
    sameAs: z
      .object({ turn: z.number().int(), message: z.number().int() })
      .describe('The same text as that message of that turn, both counted from 0.'),
  }),
])
export type RecordedMessage = z.infer<typeof recordedMessage>

const turn = z.object({
  round: z.number().int(),
  stage: z.string(),
  role: z.string(),
  model: z.string(),
  messages: z.array(recordedMessage),
  answer: z.unknown().describe('The answer as it was read; its form is the stage’s.'),
  raw: z.string().nullable().describe("The model's own words; null where there are none."),
  failed: z
    .object({ code: z.string(), detail: z.string() })
    .describe('Set if the ask failed: a failure code and a sentence.')
    .optional(),
  calls: z
    .array(
      z.object({
        id: z.string(),
        outcome: z.string(),
        model: z.string().describe('Who was called. It and what follows are absent in older transcripts.').optional(),
        startedAt: z.string().optional(),
        ms: z.number().optional(),
        promptTokens: z
          .number()
          .describe('Absent, like the others, if nothing came back that is charged for.')
          .optional(),
        cachedTokens: z.number().optional(),
        cacheWriteTokens: z.number().optional(),
        completionTokens: z.number().optional(),
        thinkingTokens: z.number().optional(),
        costUsd: z.number().optional(),
      }),
    )
    .describe('Every call made for this ask, the answered one last; a bill can be checked against it.'),
  usage,
  startedAt: z.string(),
  ms: z.number().describe('Time spent in calls, in ms.'),
  heldMs: z
    .number()
    .describe('Time deferred, in ms: Retry-After, budget, limit, breaker. Absent where there was none.')
    .optional(),
  memo: z.boolean().describe('The answer was known.'),
  about: z
    .array(z.string())
    .describe('The comments asked about, in the order of their numbers, and then those that were shown beside them.')
    .optional(),
  remarks: z
    .array(z.enum(REMARKS))
    .describe('Parameters that could not be used as set, or more room for thoughts.')
    .optional(),
  sent: z
    .array(z.array(z.number().int()))
    .describe(
      'Set if only some items of a batch were sent and the others were known: their numbers from 0, call by call.',
    )
    .optional(),
  imageHashes: z
    .array(z.string())
    .describe('The SHA-256 of each image as it was fetched and shown, in the order of the messages’ images.')
    .optional(),
  questions: z
    .array(z.string())
    .describe(
      'A digest of the question, of a batch one for each item: "gavel what-if" asks nothing again that has the same.',
    )
    .optional(),
  asked: z
    .string()
    .describe('The model that answered by its name in the settings, and how it was to think. Absent of a lookup.')
    .optional(),
})
export type Turn = z.infer<typeof turn>

/** The fields of a verdict that its transcript repeats, for readers of the transcript alone. */
export const ruled = z.object({
  protocol: z.string(),
  tenant: z.string(),
  subjectId: z.string(),
  revision: z.number().int(),
  final: z.boolean(),
  label: z.string().nullable(),
  scores: z.record(z.string(), z.number()),
  decidedBy: word,
  faults: z.array(word),
  usage,
  timing,
  heldMs: z
    .number()
    .describe('Time deferred along the slowest ask of each round, in ms: no part of modelMs and overheadMs.'),
  lostCalls: turn.shape.calls.describe(
    'Calls that belong to no turn: of an earlier run, or of a case that was given up.',
  ),
})
export type RulingSummary = z.infer<typeof ruled>

const replayBasis = z.object({
  key: z.string().describe('Which key texts were fenced and draws were made with; it does not tell the key.'),
  overloaded: z.boolean().describe('More was due than could be judged in time.'),
  step: z.number().int().describe('The step of load that was in force. Absent of none.').optional(),
  closedLane: z.string().describe('The hash of a first lane that was closed. Absent of none.').optional(),
  carry: z
    .unknown()
    .describe('What the revision before had handed on; its form is the protocol’s. Absent where it was nothing.')
    .optional(),
})

export const transcript = z.object({
  schema: z.literal(1),
  verdictId: z.string(),
  verdict: ruled.describe('Its verdict in short. Absent in older transcripts.').optional(),
  links: z
    .array(z.string())
    .describe('Trace contexts (W3C) that messages of the subject came with. Absent where there were none.')
    .optional(),
  subject: z.unknown().describe('The post and comments that were judged, as they were at the opening.'),
  turns: z.array(turn),
  replay: replayBasis
    .describe('What a replay of the case needs beside this. Absent in older transcripts, and where it did not fit.')
    .optional(),
  cut: z.array(z.string()).describe("The parts that were shortened to fit the broker's message limit, in words."),
})
export type Transcript = z.infer<typeof transcript>

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
