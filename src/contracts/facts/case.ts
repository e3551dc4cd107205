import { z } from 'zod'
import { filtered } from './filtered.ts'
import { shownItem } from './library.ts'
import { SUBJECT_KINDS } from './thread.ts'
import { addUsage, noUsage, REMARKS, type Usage, usage, versions } from './verdict.ts'

/**
 * A case: one protocol, one snapshot of its subject, one revision. Written when it opens, and changed only when it
 * restarts.
 */
export const caseRecord = z.object({
  id: z.string(),
  protocol: z.string(),
  tenant: z.string(),
  subjectId: z.string(),
  kind: z.enum(SUBJECT_KINDS),
  revision: z.number().int(),
  final: z.boolean(),
  /** Whose share of the service it uses: cases of one share wait for one another, and keep no others waiting. Absent: its own. */
  share: z.string().optional(),
  supersedes: z.string().nullable(),
  /** The subject as it was at the opening: each protocol parses its own shape out of it. */
  subject: z.unknown(),
  /** Comments that the thread had accepted, and how many of them are missing from the subject. */
  comments: z.object({
    accepted: z.number().int(),
    cap: z.number().int(),
    late: z.number().int(),
    author: z.number().int(),
    /** The thread was sampled under more than one key. */
    rekeyed: z.literal(true).optional(),
    /** How many of an earlier verdict's comments had expired from their topic when the thread was brought back from it. */
    missing: z.number().int().optional(),
  }),
  /** Opened under overload: more was due than could be judged in time. */
  overloaded: z.boolean(),
  /** The step of load that was in force (src/contracts/facts/overload.ts); absent of none, and of a case of an earlier version. */
  step: z.int().optional(),
  /** The first lane that was closed when it was opened, by its hash: its decider is not asked. */
  closedLane: z.string().optional(),
  /** What the previous revision handed on, if anything. */
  carry: z.unknown(),
  versions,
  /** Its epoch when it last restarted because comments had been deleted; absent if it never did. */
  restartedAtEpoch: z.number().int().optional(),
  /** How often it restarted because comments were deleted, and how many of them were whose, by a hash of the author's name. */
  takenBack: z.object({ restarts: z.int(), by: z.record(z.string(), z.int()) }).optional(),
  /** Nobody goes on with it before this, ms since 1970: it restarted again and again. */
  resumeAt: z.number().optional(),
  /** When it restarted under these versions, ms since 1970; absent while it runs under its original ones. */
  restartedAt: z.number().optional(),
  createdAt: z.number(),
  /** When the message arrived, or the due time passed, that opened this revision; ms since 1970. */
  receivedAt: z.number(),
  openedAt: z.number(),
  /** No new call is made for this case after this time; ms since 1970. */
  deadline: z.number(),
  /** It is on a list: no model is asked about it, and of the subject only hashes are left here. */
  veto: z.object({ list: z.string(), entry: z.string(), label: z.string().nullable() }).optional(),
  /** Why it ends without a question: its post was edited, or its deadline came, before all of its pictures had been compared. */
  outdated: z.string().optional(),
  /** What was left out of the subject by the lists, in words; where one is closed, no benign label is given. */
  unchecked: z.array(z.object({ why: z.string(), isClosed: z.boolean() })).optional(),
  /** Trace contexts (W3C) that the newest of its messages came with. */
  links: z.array(z.string()).optional(),
})
export type CaseRecord = z.infer<typeof caseRecord>

/** One call to a model, as it ended. */
export const call = z.object({
  id: z.string(),
  outcome: z.string(),
  /** Who was called, by its name in the settings, when (ms since 1970), and for how long, in ms. */
  model: z.string(),
  startedAt: z.number(),
  ms: z.number(),
  /** Absent if nothing came back that could be charged for. */
  spent: usage.omit({ calls: true, memoHits: true }).optional(),
  /** Set if an endpoint's filter ended it: the model's name in the settings, and the filter's findings, if it reports any. */
  filtered: z.object({ model: z.string(), found: z.array(filtered) }).optional(),
})
export type ModelCall = z.infer<typeof call>

/** The total usage of these calls. */
export function usageOf(calls: readonly ModelCall[]): Usage {
  return calls.map(({ spent }) => ({ ...noUsage(), ...spent, calls: 1 })).reduce(addUsage, noUsage())
}

/** How one ask ended, as the journal stores it: an answer, or the code of its failure. */
export const journalEntry = z.object({
  stage: z.string(),
  role: z.string(),
  model: z.string(),
  answer: z.unknown(),
  failed: z.object({ code: z.string(), detail: z.string() }).optional(),
  raw: z.string().nullable(),
  /** Every call made for this ask; the ones before the last failed or were unreadable. */
  calls: z.array(call),
  usage,
  /** ms since 1970 */
  startedAt: z.number(),
  /** Time spent in model calls, in ms. */
  ms: z.number(),
  /** Total time deferred, in ms: Retry-After, budget, limit, breaker, version hand-back. */
  heldMs: z.number(),
  memo: z.boolean(),
  /** What could not be had as it was asked for. */
  remarks: z.array(z.enum(REMARKS)).optional(),
  /** Set if several models answered items of a batch: the model of each item. */
  models: z.array(z.string()).optional(),
  /** Of a lookup: the items that are some subject's content. Never published. */
  shown: z.array(shownItem).optional(),
  /** Set if a batch was not sent whole: the items sent, call by call. */
  sent: z.array(z.array(z.number().int())).optional(),
  /** The SHA-256 of each image that was shown, in the order of its messages. */
  imageHashes: z.array(z.string()).optional(),
})
export type JournalEntry = z.infer<typeof journalEntry>

/** The journal: ask key → how it ended. A key is `ROUND.INDEX`, both from 0. */
export type Journal = ReadonlyMap<string, JournalEntry>
