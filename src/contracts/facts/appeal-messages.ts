import { z } from 'zod'
import { aboutSubject, id, idOfVerdict, namesItsPost, tenant, WITHOUT_ITS_POST } from './messages.ts'
import { instant, present } from './odd-fields.ts'
import { STREAMED_KINDS } from './thread.ts'
import { schemaTwo } from './verdict-fields.ts'

/** Most characters of an appeal that are kept. */
const MAX_APPEAL_CHARS = 10_000

/** Of another form of the same message. */
const absent = z.undefined().optional()
const at = instant.describe('When, ISO 8601 with an offset.')

const appeal = {
  id: id.describe('The appeal’s own id. A repeat has the same.'),
  tenant,
  withdraw: absent,
  by: z.enum(['author', 'notifier']).describe('Who appeals: who wrote it, or who reported it.'),
  text: z
    .string()
    .overwrite((text) => text.slice(0, MAX_APPEAL_CHARS).toWellFormed())
    .refine((text) => text.trim() !== '', 'is empty')
    .meta({
      pattern: '\\S',
      description: `Their words, in any language; the first ${MAX_APPEAL_CHARS} characters are kept.`,
    }),
  contact: z
    .string()
    .min(1)
    .max(512)
    .describe('How you reach them, by a token that is yours alone to read: the same for the same person.'),
  ground: z.string().min(1).max(200).describe('What they say is wrong, by a word of your own.').optional(),
  at,
}

export const subjectAppeal = z.object({
  ...appeal,
  subjectId: id.describe('The post, reply or comment that it is about.'),
  ...aboutSubject,
  protocol: z
    .string()
    .min(1)
    .max(64)
    .describe('The protocol whose verdict it is against: needed where more than one has judged the subject.')
    .optional(),
  verdictId: absent,
  actionId: absent,
  objectsTo: absent,
})
export const verdictAppeal = z.object({
  ...appeal,
  verdictId: idOfVerdict.describe('The verdict that it is against.'),
  subjectId: absent,
  actionId: absent,
  objectsTo: absent,
})
export const actionAppeal = z.object({
  ...appeal,
  actionId: id.describe('The action that it is against.'),
  objectsTo: z
    .enum(['label', 'measure'])
    .describe('`measure`: the label may be right, and what was done is too much. By default the label.')
    .optional(),
  subjectId: absent,
  verdictId: absent,
})

/** Who appealed takes it back; its words are erased from the record. */
export const appealWithdrawn = z.object({
  id: id.describe('The appeal’s id.'),
  tenant,
  withdraw: z.literal(true),
  at,
})

/** Somebody objects to what was decided or done, or takes that back. */
export const appealMessage = z.preprocess(
  present,
  z.union([appealWithdrawn, subjectAppeal.refine(namesItsPost, WITHOUT_ITS_POST), verdictAppeal, actionAppeal]),
)
export type AppealMessage = z.infer<typeof appealMessage>

/** What somebody says who objects to a ruling. */
export interface AppealWords {
  readonly by: 'author' | 'notifier'
  readonly text: string
}

/**
 * `upheld`, `reversed`: a person decided, and the ruling stays, or has another label now; `lessened`, `lifted`: a person decided that the
 * label stays, and that less is to be done about it, or nothing; `withdrawn`: by who appealed; `deleted`: its
 * subject was; `superseded`: another ruling with another label had taken the place of the one it was against; `repeated`: the same
 * party has appealed against the same ruling before; `too-many`: beyond what one party, or one tenant, may send in a day, and not taken: the
 * same id may be sent again; `unclear`:
 * several protocols have judged the subject, and it names none; `unknown`: nothing is known of what it is
 * against; `invalid`: its message can’t be read.
 */
export const APPEAL_OUTCOMES = [
  'upheld',
  'reversed',
  'lessened',
  'lifted',
  'withdrawn',
  'deleted',
  'superseded',
  'repeated',
  'too-many',
  'unclear',
  'unknown',
  'invalid',
] as const

/** Those that a person gave. */
export const ANSWERS: readonly string[] = APPEAL_OUTCOMES.slice(0, 4)

/** What became of an appeal: each has one outcome. */
export const appealOutcome = z.object({
  schema: z.literal(1),
  id: z.string().describe('The appeal’s id, and the record’s key: it may come more than once.'),
  tenant: z.string(),
  outcome: z
    .string()
    .regex(/^[a-z][a-z-]{0,39}$/)
    .meta({
      description: 'A later version may add words: take one that you don’t know as it is.',
      examples: APPEAL_OUTCOMES,
    }),
  subjectId: z.string().describe('The id of the post or reply; absent where it is not known.').optional(),
  kind: z.enum(STREAMED_KINDS).optional(),
  subjectKind: schemaTwo.subjectKind,
  postId: schemaTwo.postId,
  protocol: z.string().describe('The protocol whose ruling it is against; absent where it is not known.').optional(),
  verdict: z
    .string()
    .describe(
      'upheld, reversed, lessened, lifted: the id of the person’s verdict; superseded: that of the ruling in force.',
    )
    .optional(),
  label: z.string().describe('Beside a person’s verdict: its label.').optional(),
  code: z.string().describe('Beside a person’s verdict: the code of their reason.').optional(),
  earlier: z.string().describe('repeated: the id of the earlier appeal.').optional(),
  after: z
    .string()
    .describe('too-many: it was not taken; the same id may be sent again from this time on, ISO 8601.')
    .optional(),
  at: z.string().describe('When, ISO 8601.'),
})
export type AppealOutcome = z.infer<typeof appealOutcome>
