import { z } from 'zod'
import { STREAMED_KINDS } from './thread.ts'
import { schemaTwo } from './verdict-fields.ts'

/** Who is to review a post, from now on. */
export const caseworkEntry = z.object({
  schema: z.literal(1),
  id: z.string().describe('Another for each message: it may come more than once.'),
  subjectId: z.string().describe('The id of the post or reply, and the record’s key.'),
  tenant: z.string(),
  kind: z.enum(STREAMED_KINDS),
  subjectKind: schemaTwo.subjectKind,
  postId: schemaTwo.postId,
  what: z
    .string()
    .regex(/^[a-z][a-z-]{0,39}$/)
    .meta({
      description: 'A later version may add words: pass over one that you don’t know.',
      examples: ['assigned'],
    }),
  to: z.string().min(1).max(256).nullable().describe('assigned: to whom; null: to nobody any more.'),
  by: z.string().describe('Who assigned it.'),
  at: z.string().describe('When, ISO 8601.'),
})
export type CaseworkEntry = z.infer<typeof caseworkEntry>
