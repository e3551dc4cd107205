import { z } from 'zod'

// What schema 2 adds to a verdict. All of it is optional here: readers take verdicts of schema 1, too.

/** The schemas of verdicts and proposals that are read. */
export const VERDICT_SCHEMAS = [1, 2] as const
export type VerdictSchema = (typeof VERDICT_SCHEMAS)[number]

/** In which schema verdicts are written, and by which version of Gavel. */
export interface VerdictForm {
  readonly schema: VerdictSchema
  /** As in package.json. */
  readonly gavel: string
}

/** A value of a closed list, of this version or another one: a plain word. */
export const word = z.string().regex(/^[a-z][a-z-]{0,39}$/)

/** Lists that a later version may add words to. */
export const openList = (description: string, examples: readonly string[]) =>
  word.meta({ description: `${description} A later version may add words.`, examples: [...examples] })

/**
 * Why there was a debate, or none. Held: `always`, no setting spares one; `contested`, there were two sides, or might be; `control`,
 * drawn by chance; `close`. Spared: `unanimous`, all of one mind; `one-sided`, `no-sides`, the comments leave nothing to dispute;
 * `unchanged`, the debate of an earlier revision stands; `off`, by the settings or for want of one in the protocol; `overload`;
 * `lane`, `veto`, decided before; `none`, nothing could be judged, or no machine did; `unknown`, restored from schema 1.
 */
const DEBATE_REASONS = [
  'always',
  'contested',
  'control',
  'close',
  'unanimous',
  'one-sided',
  'no-sides',
  'unchanged',
  'off',
  'overload',
  'lane',
  'veto',
  'none',
  'unknown',
] as const
export type DebateReason = (typeof DEBATE_REASONS)[number]

const debate = z.object({
  held: z.boolean().describe('Debaters answered one another: any turn of hate and rumor, a second round of safety.'),
  why: openList('Why there was a debate, or why none.', DEBATE_REASONS),
  chance: z.number().describe('Of a control: the chance with which it was drawn.').optional(),
  without: z
    .string()
    .nullable()
    .describe(
      'Of a control: the label that was reached before the debate, and would have been published without it; left out if the debate came to nothing, and that label stands.',
    )
    .optional(),
  step: z
    .int()
    .describe('Of a case that was opened under load: the step in force. 1 single, 2 sample, 3 hold (cases.overload).')
    .optional(),
})
export type VerdictDebate = z.infer<typeof debate>

/** What a confidence rests on. */
const CONFIDENCE_BASES = ['perspectives', 'probability', 'logprobs', 'lane'] as const

const confidence = z.object({
  value: z.number().nullable().describe('From 0 to 1; null where nothing is known, which is not the same as sure.'),
  how: openList('What it rests on; null where there is none.', CONFIDENCE_BASES).nullable(),
})
export type VerdictConfidence = z.infer<typeof confidence>

export const UNKNOWN_CONFIDENCE: VerdictConfidence = { value: null, how: null }

/** What somebody says of how sure they are; null where they do not say. */
export function statedConfidence(value: number | null): VerdictConfidence {
  return value === null ? UNKNOWN_CONFIDENCE : { value, how: 'probability' }
}

/** The label of a claim for which nothing is shown either way. It is no decision, and no failure to reach one. */
export const UNVERIFIED = 'unverified'

/** The language of what no language is known of (BCP 47). */
const UNDETERMINED = 'und'

/** A language tag in its one spelling, as verdicts name it: `en`, `pt-BR`; `und` for what is none. */
export function languageOf(tag: string | undefined): string {
  try {
    return Intl.getCanonicalLocales((tag ?? '').replaceAll('_', '-'))[0] ?? UNDETERMINED
  } catch {
    return UNDETERMINED
  }
}

const policy = z.object({ name: z.string(), version: z.string(), hash: z.string() })

/** Longest quotation beside a clause, in characters. */
export const MAX_QUOTE_CHARS = 500

/** A clause that a verdict rests on, and the words of the post that break it, where it has such. */
const citedClause = z.object({ id: z.string(), quote: z.string().optional() })
export type CitedClause = z.infer<typeof citedClause>

const SUBJECTS_OF_VERDICTS = ['post', 'comment', 'reply', 'asked'] as const

const story = z.object({
  id: z.string(),
  members: z.int(),
  reach: z.number(),
  labels: z.record(z.string(), z.int()).describe('How many of its posts have which label.'),
  current: z
    .object({ label: z.string(), verdictId: z.string() })
    .describe('What a person decided of it, while that is in force.')
    .optional(),
})
export type VerdictStory = z.infer<typeof story>

/** The fields that a verdict of schema 2 has, and those that it may have. */
export const schemaTwo = {
  subjectKind: openList('What was judged. Since schema 2.', SUBJECTS_OF_VERDICTS).optional(),
  postId: z.string().describe('Of a comment: its post, and the record’s key. Since schema 2.').optional(),
  lang: z.string().describe('The language as it was judged, a BCP 47 tag, or und. Since schema 2.').optional(),
  debated: debate.describe('Whether a debate was held, and why. Since schema 2.').optional(),
  confidence: confidence.describe('How sure it is of its label. Since schema 2.').optional(),
  unverified: z
    .object({ reason: openList('Why.', ['early', 'no-evidence', 'torn']) })
    .describe('Of the label unverified: why nothing firmer is said.')
    .optional(),
  opposed: z
    .object({
      since: z.string().describe('When the first comment that counts against it was written, not before the post.'),
    })
    .describe('Its comments dispute what the post says. Absent where they do not.')
    .optional(),
  policy: policy.describe('The policy that it was judged by.').optional(),
  clauses: z.array(citedClause).describe('The clauses of the policy that it rests on.').optional(),
  story: story.describe('The posts that say the same, this one among them.').optional(),
  veto: z.object({ list: z.string(), entry: z.string() }).describe('The list, and its entry, that decided.').optional(),
  variant: z.string().describe('The variant of a ramp that judged it.').optional(),
}

/** What versions a verdict of schema 2 names beside those that its case is judged under. */
export const versionsOfSchemaTwo = {
  gavel: z.string().describe('Gavel’s own version. Since schema 2.').optional(),
  lane: z
    .string()
    .describe(
      'A hash of the first lane whose decider was asked; closed- before it: that lane is closed, and nobody was asked.',
    )
    .optional(),
  mapping: z.string().describe('A hash of the mapping that its post came through.').optional(),
}
