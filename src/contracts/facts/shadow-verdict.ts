import { z } from 'zod'
import { usage, versions } from './verdict.ts'
import { schemaTwo } from './verdict-fields.ts'

/** Names of variants: they stand in ids, in groups of Kafka and in reports. */
export const variantName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'small letters, digits and hyphens, at most 40, and no hyphen first')

/**
 * What a variant says of what a live case has judged. It is no verdict, and changes none. It holds no words of the post and of models.
 */
export const shadowVerdict = z.object({
  schema: z.literal(1),
  id: z.string().describe('The live verdict’s id with ~v~ and the variant’s name at its end. The same may come twice.'),
  variant: variantName,
  of: z.string().describe('The id of the live verdict, or of the proposal, on the same snapshot.'),
  subjectId: z.string().describe('The id of the post or reply, and the record’s key.'),
  subjectKind: schemaTwo.subjectKind,
  tenant: z.string(),
  protocol: z.string(),
  revision: z.number().int(),
  label: z.string().nullable().describe('The variant’s; null if nothing could be decided.'),
  live: z
    .object({ label: z.string().nullable(), decidedBy: z.string(), costUsd: z.number(), faults: z.array(z.string()) })
    .describe('What the live case said, and what it cost.'),
  decidedBy: z.string(),
  policy: schemaTwo.policy,
  clauses: z.array(z.string()).describe('The ids of the clauses that it cites.').optional(),
  faults: z.array(z.string()).describe('The classes of its degradations; none if it is whole.'),
  usage: usage.describe('What it would cost alone, answers of the live case as they were paid for.'),
  asked: z
    .object({
      anew: z.int().describe('Questions that it asked.'),
      known: z.int().describe('Questions that the live case had an answer to.'),
      costUsd: z.number().describe('What the new ones cost, of the variant’s own budget.'),
    })
    .describe('What it asked. Absent of older ones, which asked everything.')
    .optional(),
  models: z.record(z.string(), z.string()),
  versions,
  at: z.string().describe('When it was decided, ISO 8601.'),
})
export type ShadowVerdict = z.infer<typeof shadowVerdict>
