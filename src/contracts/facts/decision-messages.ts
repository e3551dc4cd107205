import { z } from 'zod'
import { aboutSubject, id, namesItsPost, tenant, WITHOUT_ITS_POST } from './messages.ts'
import { instant, present } from './odd-fields.ts'
import { STREAMED_KINDS, type SubjectKind, type ThreadRef } from './thread.ts'
import { verdict } from './verdict.ts'
import { MAX_QUOTE_CHARS, schemaTwo } from './verdict-fields.ts'
import { commentKey, namedIn } from './verdict-id.ts'

/** Longest reason of a decision, in characters: a longer one is refused, since cut words are not what a person said. */
export const MAX_WHY_CHARS = 2_000

const why = z
  .string()
  .min(1)
  .max(MAX_WHY_CHARS)
  .refine((text) => text.trim() !== '' && text.isWellFormed(), 'is empty, or holds half a character')
  .meta({ pattern: '\\S' })

/** Most clauses that a decision cites. */
export const MOST_CLAUSES = 10
/** Most appeals that a decision answers, and that wait on one subject: who has answered some answers no others of it. */
export const MOST_APPEALS = 200
/** Their ids together, as JSON: who reads a subject reads hundreds of decisions on it. */
const MOST_APPEAL_CHARS = 30_000
/** What is to become of an action that is appealed against. */
export const MEASURES = ['keep', 'lessen', 'lift'] as const
/** The longest id of one, in characters. */
const MAX_CLAUSE_CHARS = 40

const citation = z.preprocess(
  present,
  z.object({
    id: z.string().min(1).max(MAX_CLAUSE_CHARS).describe('The clause, by its id in the policy of the tenant.'),
    quote: z
      .string()
      .min(1)
      .max(MAX_QUOTE_CHARS)
      .describe('Words of the post that break it. They outlive a deletion here: leave them out where that matters.')
      .optional(),
  }),
)

/** What an opinion on a golden item is: the lead's key, or somebody's answer. */
const GOLDEN = ['key', 'answer'] as const

/**
 * A person's decision on a subject: its verdict by a protocol is `label` from now on; or, with `withdraw`, the machine's is again.
 * Its `at` is the `createdAt` for readers of messages.
 */
export const decisionMessage = z
  .preprocess(
    present,
    z
      .object({
        subjectId: id.describe('The id of the post or reply, and the record’s key.'),
        tenant,
        ...aboutSubject,
        kind: z
          .enum(STREAMED_KINDS)
          .describe('Post or reply; by default the kind that the protocol judges. Needed for hate on a reply.')
          .optional(),
        protocol: z.string().min(1).max(64).describe('The protocol whose verdict it replaces.'),
        label: z.string().min(1).max(64).describe('The verdict: one of the protocol’s labels.').optional(),
        withdraw: z.literal(true).describe('In place of a label: withdraws the human verdict.').optional(),
        against: z
          .int()
          .min(0)
          .describe('The revision that the person saw, the last one: 0 where nothing was published.'),
        by: id.describe('The person who decides.'),
        why: why.describe(`Why, in at most ${MAX_WHY_CHARS} characters. It outlives a deletion: quote nothing.`),
        at: instant.describe('When they decided, ISO 8601 with an offset.'),
        force: z
          .boolean()
          .describe('It counts even if there is a later revision, or if Gavel does not know the subject.')
          .optional(),
        opinion: z
          .boolean()
          .describe('A second opinion: counted beside the verdict, which it leaves as it is.')
          .optional(),
        golden: z
          .enum(GOLDEN)
          .describe(
            'Of an opinion: `key`, a lead’s word that the human verdict is right, by which others are checked who answer the same item; `answer`, such an answer. Neither disputes the verdict.',
          )
          .optional(),
        clauses: z
          .array(citation)
          .min(1)
          .max(MOST_CLAUSES)
          .describe(
            'The clauses of the policy that the label rests on: of the label that says that something is wrong.',
          )
          .optional(),
        code: z
          .string()
          .regex(/^[a-z][a-z0-9-]{0,39}$/)
          .describe('The code of the reason, by the platform’s own list, for counting.')
          .optional(),
        sawLabel: z
          .boolean()
          .describe(
            'Whether the label in force was shown to the person before they chose, to measure how it sways people.',
          )
          .optional(),
        seconds: z
          .int()
          .min(0)
          .max(86_400)
          .describe('How long the subject was shown to the person before they decided, in seconds.')
          .optional(),
        appeals: z
          .array(id)
          .min(1)
          .max(MOST_APPEALS)
          .refine((ids) => JSON.stringify(ids).length <= MOST_APPEAL_CHARS, {
            message: `at most ${MOST_APPEAL_CHARS} characters together, as JSON`,
          })
          .describe('The appeals that it answers, by their ids: it ends them. Give the code of a reason, too.')
          .optional(),
        measure: z
          .enum(MEASURES)
          .describe(
            'What is to become of the actions that these appeals are against, where the label stays: by default they are kept.',
          )
          .optional(),
        unseen: z
          .literal(true)
          .describe(
            'An image of the subject could not be shown to the person as it was judged, or its words stayed covered.',
          )
          .optional(),
      })
      .refine(({ label, withdraw }) => (label === undefined) !== (withdraw === undefined), {
        path: ['label'],
        error: 'a decision has either a label or "withdraw": true',
      })
      .refine(({ clauses, withdraw }) => clauses === undefined || withdraw === undefined, {
        path: ['clauses'],
        error: 'a withdrawal cites nothing',
      })
      .refine(({ appeals, withdraw, golden }) => appeals === undefined || (withdraw ?? golden) === undefined, {
        path: ['appeals'],
        error: 'are answered by a label',
      })
      .refine(({ measure, withdraw, golden }) => measure === undefined || (withdraw ?? golden) === undefined, {
        path: ['measure'],
        error: 'goes with a label',
      })
      .refine(namesItsPost, WITHOUT_ITS_POST)
      .refine(({ kind, subjectKind }) => kind === undefined || (subjectKind ?? kind) === kind, {
        path: ['subjectKind'],
        error: 'another one than the kind',
      })
      .refine(({ opinion, withdraw }) => opinion !== true || withdraw === undefined, {
        path: ['opinion'],
        error: 'a second opinion has a label',
      })
      .refine(({ opinion, golden }) => golden === undefined || opinion === true, {
        path: ['golden'],
        error: 'needs "opinion": true, since it would replace the verdict otherwise',
      }),
  )
  .transform((decision) => ({ ...decision, createdAt: decision.at }))
export type DecisionMessage = z.infer<typeof decisionMessage>

/** What became of a decision that was carried out, or of a human verdict whose subject was deleted. */
const DECISION_OUTCOMES = ['stands', 'withdrawn', 'deleted'] as const

/**
 * What became of decisions, kept as long as they are: with its verdict gone from its topic, a decision alone does not tell whether
 * it was refused, nor that its subject was deleted since.
 */
export const decisionOutcome = z.object({
  schema: z.literal(1),
  subjectId: z.string().describe('The id of the post or reply, and the record’s key.'),
  tenant: z.string(),
  kind: z.enum(STREAMED_KINDS),
  subjectKind: schemaTwo.subjectKind,
  postId: schemaTwo.postId,
  protocol: z.string(),
  outcome: z.enum(DECISION_OUTCOMES),
  of: z.string().describe('The decision’s PARTITION@OFFSET on its topic; of a deletion, the last one’s.'),
  revision: z.number().int().describe('The verdict’s revision; 0 where none was published.'),
  label: z.string().nullable(),
  by: z.string(),
  at: z.string().describe('When, ISO 8601.'),
})
export type DecisionOutcome = z.infer<typeof decisionOutcome>

/** What an outcome, a review or a piece of casework is about; null where that is a subject of a later version. */
export function subjectIn({
  tenant,
  kind,
  subjectKind = kind,
  subjectId,
  postId,
}: Pick<Review, 'tenant' | 'kind' | 'subjectKind' | 'subjectId' | 'postId'>): ThreadRef | null {
  if (subjectKind === kind) return { tenant, postId: subjectId, kind }
  return subjectKind === 'comment' && postId !== undefined
    ? { tenant, postId: commentKey(postId, subjectId), kind: 'comment' }
    : null
}

/**
 * A machine's ruling on a subject that has a human's verdict: a verdict without a revision, which nobody takes for one. The human
 * verdict stands.
 */
export const proposal = z.object({
  ...verdict.omit({ revision: true, supersedes: true, decision: true, restored: true }).shape,
  id: z.string().describe('As a verdict’s, with ~p and the proposal’s number at its end: never a verdict’s.'),
  proposal: z.number().int().describe('Its number among the proposals of this protocol and subject. Numbers rise.'),
  beneath: z.string().describe('The id of the human verdict in force.'),
  differs: z.boolean().describe('Whether its label is another than the human verdict’s.'),
})
export type VerdictProposal = z.infer<typeof proposal>

/**
 * `differs`: a machine's label now differs from the human verdict; `edited`: the post was edited after the human verdict, or came
 * again; `refused`: a decision against a revision that was the last no more; `disputed`: a second opinion has another label;
 * `story-differs`: posts in the same words have labels that contradict one another; `story-decided`: a person decided one otherwise;
 * `reversal`: an action is in force, and the verdict that it rests on is no more; `measure`: one is, and who answered an appeal against it
 * found it too much.
 */
export const REVIEW_REASONS = [
  'differs',
  'edited',
  'refused',
  'disputed',
  'story-differs',
  'story-decided',
  'reversal',
  'measure',
] as const

/** That people should look at a subject, again or for the first time, and why. */
export const review = z.object({
  schema: z.literal(1),
  id: z.string().describe('The same for the same request: it may come more than once.'),
  subjectId: z.string().describe('The id of the post or reply, and the record’s key.'),
  tenant: z.string(),
  kind: z.enum(STREAMED_KINDS),
  subjectKind: schemaTwo.subjectKind,
  postId: schemaTwo.postId,
  protocol: z.string(),
  why: z
    .string()
    .regex(/^[a-z][a-z-]{0,39}$/)
    .meta({
      description: 'A later version may add words: take one that you don’t know as it is.',
      examples: REVIEW_REASONS,
    }),
  verdict: z.string().describe('The id of the verdict that is to be looked at.'),
  proposal: z.string().describe('The id of the proposal that differs.').optional(),
  label: z
    .string()
    .describe(
      'The label that speaks against it: a proposal’s, that of a refused decision, or what a person decided on a post in the same words.',
    )
    .optional(),
  of: z.string().describe('The decision’s PARTITION@OFFSET, of one that was refused.').optional(),
  by: z.string().describe('Who decided it, of one that was refused.').optional(),
  action: z.string().describe('The id of the action that is to be reversed, or changed.').optional(),
  measure: z
    .string()
    .describe('measure: what is to become of the action, lessen or lift. Withdraw it, and tell what takes its place.')
    .optional(),
  at: z.string().describe('When, ISO 8601.'),
})
export type Review = z.infer<typeof review>

/** The id of a request for review: one for each verdict, reason, and label, decision or action that it is about. */
export function reviewId({
  verdict,
  why,
  label,
  of,
  action,
}: Pick<Review, 'verdict' | 'why' | 'label' | 'of' | 'action'>): string {
  return [verdict, why, action ?? of ?? label].filter((part) => part !== undefined).join('~')
}

/**
 * A subject as outcomes and reviews name it, by the word of verdicts too; a comment beside its post, and as a post for readers that
 * know no comments (`subjectKind` tells them). Nobody decides on what was asked apart from the stream.
 */
export function namedSubject(ref: ThreadRef) {
  const kind = ref.kind === 'reply' ? 'reply' : 'post'
  return { ...namedIn(ref), tenant: ref.tenant, kind, subjectKind: ref.kind === 'comment' ? ref.kind : kind } as const
}

/** The subject of what somebody said, for a protocol whose own subjects are of this kind; null for a comment whose post is not named. */
export function subjectOf(
  said: Pick<DecisionMessage, 'subjectId' | 'tenant' | 'kind' | 'subjectKind' | 'postId'>,
  own: SubjectKind,
): ThreadRef | null {
  const { tenant, subjectId, postId } = said
  const kind = said.kind ?? said.subjectKind ?? own
  if (kind !== 'comment') return { tenant, postId: subjectId, kind }
  return postId === undefined ? null : { tenant, postId: commentKey(postId, subjectId), kind }
}
