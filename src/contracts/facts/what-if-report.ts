import { z } from 'zod'

/** Why a case can't be replayed, and in words. */
export const LEFT_OUT = {
  erased: 'the post, or a comment in it, was deleted',
  gone: 'there is no transcript: it made room for newer ones, or has not come yet',
  cut: 'the transcript was too long for the broker, and was shortened',
  older: 'it was judged by a version that did not note what a replay needs',
  key: 'texts were fenced with another key (GAVEL_FENCES_KEY)',
  unreadable: 'the protocol can no longer read what was recorded',
  failed: 'a changed question had no answer',
} as const
export type LeftOutReason = keyof typeof LEFT_OUT

const whatIfShare = z.object({
  share: z.number().nullable(),
  interval: z.object({ low: z.number(), high: z.number() }),
  /** Cases that it rests on, those of them that count for it, and how many equal draws would say as much. */
  cases: z.number(),
  hits: z.number(),
  effective: z.number(),
})
/** A share of verdicts with its 95 % interval; weighted by the chances of a sample. */
export type WhatIfShare = z.infer<typeof whatIfShare>

const side = z.object({
  label: z.string().nullable(),
  decidedBy: z.string(),
  rationale: z.string(),
  clauses: z.array(z.object({ id: z.string(), quote: z.string().optional() })).optional(),
})
/** What a verdict says, before or after. */
export type WhatIfSide = z.infer<typeof side>

const flip = z.object({
  verdictId: z.string(),
  subjectId: z.string(),
  tenant: z.string(),
  lang: z.string().nullable(),
  words: z.string().nullable(),
  chance: z.number(),
  person: z.string().nullable(),
  before: side,
  after: side,
})
/** A verdict that would be another. */
export type WhatIfFlip = z.infer<typeof flip>

const byPart = z.array(whatIfShare.extend({ value: z.string().nullable() }))

/** What `gavel what-if` found, as its `report.json` has it. */
export const whatIfReport = z.object({
  schema: z.literal(1),
  protocol: z.string(),
  /** What is tried, in words. */
  tried: z.array(z.string()).readonly(),
  since: z.string(),
  until: z.string(),
  cases: z.object({
    found: z.number(),
    leftOut: z.partialRecord(z.enum(Object.keys(LEFT_OUT) as [LeftOutReason, ...LeftOutReason[]]), z.number()), // Its own keys.
    replayed: z.number(),
    /** Of these: without a new question, so that nothing had to be asked. */
    unchanged: z.number(),
    /** Cases with new questions that were not drawn. */
    notDrawn: z.number(),
  }),
  usd: z.object({
    /** Of all cases, and of those that were drawn, as it was foretold; what their new questions cost by the bill, in this run and in earlier ones. */
    all: z.number(),
    drawn: z.number(),
    bill: z.number(),
    /** Of a thousand verdicts, as they were and as they would be. */
    perThousand: z.object({ before: z.number().nullable(), after: z.number().nullable() }),
  }),
  flips: z.object({
    all: whatIfShare,
    directions: z.array(whatIfShare.extend({ from: z.string().nullable(), to: z.string().nullable() })),
    labels: byPart,
    languages: byPart,
    tenants: byPart,
    /** Of all cases, those that flip and cite this clause, before or after; a clause that was changed stands here though none does. */
    clauses: byPart,
    /** Those that cite one that was changed, where nothing but clauses that forbid was: the others flip as models waver, or by what those clauses take along. */
    byChange: whatIfShare.extend({ clauses: z.array(z.string()) }).optional(),
  }),
  /** Of the cases that people decided: how many verdicts have their label. */
  people: z.object({ before: whatIfShare, after: whatIfShare }),
  /** Up to 500 flips, those first on which people had decided, then the newest. */
  posts: z.array(flip),
})
export type WhatIfReport = z.infer<typeof whatIfReport>
