import { z } from 'zod'
import { count, duration } from './values.ts'

/** When intake, the opening of cases or the door pause. */
export const intake = z
  .strictObject({
    maxMessageBytes: count,
    maxAhead: duration,
    pauseAtDue: count,
    pauseAtOutbox: count,
    pauseAtAge: duration,
    resumeAtShare: z.number().min(0).max(1),
    pauseAtMemory: z.number().gt(0).max(1),
    stopAtMemory: z.number().gt(0).max(1),
  })
  .refine(({ pauseAtMemory, stopAtMemory }) => stopAtMemory >= pauseAtMemory, {
    path: ['stopAtMemory'],
    error: 'must not be less than pauseAtMemory',
  })

/** What is spared while more is due than can be judged, and from how many due threads on. */
export const overload = z.strictObject({
  single: z.strictObject({ atDue: count.nullable(), rounds: z.int().min(0).max(10).nullable() }),
  sample: z.strictObject({
    atDue: count.nullable(),
    perSide: z.int().min(1).max(200).nullable(),
    comments: z.int().min(1).nullable(),
  }),
  hold: z.strictObject({ atDue: count.nullable(), putBack: duration }),
})

/** What said so in earlier versions. */
export const overloadedAtDue = count.optional().meta({
  description: 'Replaced by cases.overload.single.atDue and cases.overload.sample.atDue; it is still read.',
  deprecated: true,
})
