import { z } from 'zod'
import { aboutSubject, id, idOfVerdict, namesItsPost, tenant, WITHOUT_ITS_POST } from './messages.ts'
import { instant, MOST_LISTED, present } from './odd-fields.ts'

// How far posts reach, and what platforms do about subjects. A later version reads the second.

const at = instant.describe('When, ISO 8601 with an offset.')
/** A word of the writer's own lists. */
const named = z.string().min(1).max(200)
/** Of another form of the same message. */
const absent = z.undefined().optional()

/** How many people a post has reached by now. */
export const reachMessage = z.preprocess(
  present,
  z.object({
    postId: id.describe('The post, and the record’s key.'),
    tenant,
    reach: z
      .number()
      .min(0)
      .describe('How many people have seen it, or may have. It only rises: a lower one is ignored.'),
    at,
  }),
)

/** What was done about a subject. */
export const actionTaken = z.object({
  id: id.describe('The action’s own id, by which it is withdrawn and appealed against. A repeat has the same.'),
  tenant,
  withdraw: absent,
  subjectId: id.describe('What it was done about.'),
  ...aboutSubject,
  protocol: z.string().min(1).max(64).describe('The protocol whose verdict it rests on.').optional(),
  verdictId: idOfVerdict.describe('The verdict that it rests on.').optional(),
  decisionAt: instant.describe('Of a person’s decision that it rests on: its at.').optional(),
  what: named.describe('What was done, by a word of your own: remove, demote, label, suspend.'),
  ground: named.describe('Why it may be done: a law or your terms, by a word of your own.').optional(),
  clause: named.describe('The clause of the policy or the law.').optional(),
  since: instant.describe('From when on, ISO 8601 with an offset.'),
  until: instant.describe('Until when; left out where it has no end.').optional(),
  countries: z
    .array(z.string().regex(/^[A-Z]{2}$/))
    .refine(({ length }) => length <= MOST_LISTED, `more than ${MOST_LISTED}`)
    .describe(`Where, by at most ${MOST_LISTED} ISO 3166-1 codes of two letters; left out where it is everywhere.`)
    .optional(),
  source: named.describe('What led to it, by a word of your own: own-initiative, notice, trusted-flagger.'),
  by: id.describe('Who did it.'),
  automated: z
    .boolean()
    .describe('Whether a rule did it, and no person looked. A statement of reasons has to say so.')
    .optional(),
  at,
})
export type ActionTaken = z.infer<typeof actionTaken>

/** An action that is over before its time. */
export const actionWithdrawn = z.object({
  id: id.describe('The action’s id.'),
  tenant,
  withdraw: z.literal(true),
  by: id.describe('Who withdraws it.'),
  at,
})

export const actionMessage = z.preprocess(
  present,
  z.discriminatedUnion('withdraw', [actionWithdrawn, actionTaken.refine(namesItsPost, WITHOUT_ITS_POST)]),
)
