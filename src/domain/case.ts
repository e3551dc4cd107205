import { z } from 'zod'
import { SUBJECT_KINDS } from './thread.ts'
import { addUsage, noUsage, type Usage, usage, versions } from './verdict.ts'

/** A case: one protocol, one snapshot of its subject, one revision. Written when it opens, and changed only when it restarts. */
export const caseRecord = z.object({
  id: z.string(),
  protocol: z.string(),
  tenant: z.string(),
  subjectId: z.string(),
  kind: z.enum(SUBJECT_KINDS).default('post'),
  revision: z.number().int(),
  final: z.boolean(),
  supersedes: z.string().nullable(),
  /** The subject as it stood: each protocol reads its own shape out of it. */
  subject: z.unknown(),
  /** Comments that the thread had accepted, and those among them that the subject lacks. */
  comments: z
    .object({
      accepted: z.number().int(),
      cap: z.number().int(),
      late: z.number().int(),
      author: z.number().int(),
      /** Those were sampled under more than one key. */
      redrawn: z.literal(true).optional(),
    })
    .default({ accepted: 0, cap: 0, late: 0, author: 0 }),
  /** It was opened while more was due than could be judged in time. */
  pressed: z.boolean().default(false),
  /** What the protocol kept from the revision before, if anything. */
  carry: z.unknown(),
  versions,
  /** Its epoch when it last restarted because comments had been deleted; absent where none were. */
  begunOverAt: z.number().int().optional(),
  /** When it was restarted under these versions, ms since 1970; absent while it runs under those it was opened with. */
  restartedAt: z.number().optional(),
  createdAt: z.number(),
  /** Arrival of the message, or passing of the due time, that opened this revision; ms since 1970. */
  receivedAt: z.number(),
  openedAt: z.number(),
  /** No new call is made for this case after this moment; ms since 1970. */
  deadline: z.number(),
})
export type CaseRecord = z.infer<typeof caseRecord>

/** One call to a model, as it ended. */
export const call = z.object({
  id: z.string(),
  outcome: z.string(),
  /** Absent where nothing came back that could be charged for. */
  spent: usage.pick({ promptTokens: true, cachedTokens: true, completionTokens: true, costUsd: true }).optional(),
})
export type Call = z.infer<typeof call>

/** What these calls took, together. */
export function usageOf(calls: readonly Call[]): Usage {
  return calls.map(({ spent }) => ({ ...noUsage(), ...spent, calls: 1 })).reduce(addUsage, noUsage())
}

/** One ask's end, as the journal keeps it: an answer, or the name of its failure. */
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
  /** Time with the model, in ms. */
  ms: z.number(),
  /** Time this ask was held back by somebody's Retry-After, in ms. */
  heldMs: z.number(),
  memo: z.boolean(),
  /** Set where several models answered items of a batch: the model of each item. */
  models: z.array(z.string()).optional(),
  /** Set where a batch was not sent as it stands: the items sent, call by call. */
  sent: z.array(z.array(z.number().int())).optional(),
})
export type JournalEntry = z.infer<typeof journalEntry>

/** The journal: ask key → how it ended. A key is `ROUND.INDEX`, both from 0. */
export type Journal = ReadonlyMap<string, JournalEntry>
