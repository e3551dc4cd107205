import { z } from 'zod'
import { duration } from './values.ts'

/** The record: what was judged and said, for longer than the topics keep it. */
export const record = z.strictObject({
  path: z.string().min(1),
  keep: duration.refine((ms) => ms >= 3_600_000, 'at least 1h'),
  maxBytes: z.int().min(2 ** 20),
  indexChars: z.int().min(0).max(1_000_000),
})

const share = z.number().min(0).max(1)

/** What people look at, and in which order. */
export const review = z.strictObject({
  costs: z.record(z.string(), z.record(z.string(), z.number().min(0).max(1_000_000))),
  auditShare: share,
  blindShare: share,
  claimFor: duration.refine((ms) => ms >= 60_000, 'at least 1m'),
})
