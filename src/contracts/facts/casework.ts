import { z } from 'zod'
import { STREAMED_KINDS } from './thread.ts'
import { schemaTwo } from './verdict-fields.ts'

/** Who is to review a post, from now on; or whether it says the same as another post, in other words. */
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
      examples: ['assigned', 'same', 'not-same'],
    }),
  to: z.string().min(1).max(256).nullable().describe('assigned: to whom; null: to nobody any more. Otherwise null.'),
  pair: z
    .string()
    .regex(/^[\w-]{22}$/)
    .describe('same, not-same: the pair that it is one post of. The other post has a message of its own.')
    .optional(),
  by: z.string().describe('Who said so.'),
  at: z.string().describe('When, ISO 8601.'),
})
export type CaseworkEntry = z.infer<typeof caseworkEntry>
