import { z } from 'zod'
import { count, duration, TLS_IS_OFF, tls, tlsFiles } from './values.ts'

/** The record: what was judged and said, for longer than the topics keep it. */
export const record = z.strictObject({
  store: z.enum(['sqlite', 'postgres']),
  path: z.string().min(1),
  postgres: z
    .strictObject({
      url: z
        .string()
        .regex(/^(postgres(ql)?:\/\/.*)?$/, 'a URL that begins with postgresql://')
        .refine((url) => url === '' || URL.canParse(url), 'is no URL: percent-encode what is special in a password')
        .refine((url) => !/[?#]/.test(url), 'takes no ? or #: percent-encode them in a password'),
      password: z.string(),
      schema: z.string().regex(/^[a-z_][a-z0-9_]{0,47}$/, '1 to 48 small letters, digits and underscores'),
      tls,
      vacuumWithin: duration.refine((ms) => ms >= 60_000, 'at least 1m'),
    })
    .refine((set) => set.tls.enabled || !tlsFiles(set.tls), { path: ['tls', 'enabled'], error: TLS_IS_OFF }),
  keep: duration.refine((ms) => ms >= 3_600_000, 'at least 1h'),
  maxBytes: z.int().min(2 ** 20),
  indexChars: z.int().min(0).max(1_000_000),
})

/** What people object to: until when it is to be answered, how long its words are kept, and how many are taken in a day. */
export const appeals = z.strictObject({
  due: duration.refine((ms) => ms >= 60_000, 'at least 1m'),
  keep: duration.refine((ms) => ms >= 3_600_000, 'at least 1h'),
  perContact: count,
  perTenant: count,
  debate: z.enum(['never', 'by-person', 'always']),
})

const share = z.number().min(0).max(1)

/** What people look at, and in which order. */
export const review = z.strictObject({
  costs: z.record(z.string(), z.record(z.string(), z.number().min(0).max(1_000_000))),
  auditShare: share,
  laneShare: share,
  blindShare: share,
  shares: z.strictObject({ audit: share, secondOpinion: share, golden: share }),
  labelAfter: share,
  reasons: z.string().min(1).nullable(),
  statements: z.string().min(1).nullable(),
  claimFor: duration.refine((ms) => ms >= 60_000, 'at least 1m'),
  ownCaseAfter: duration,
  pictures: z.strictObject({ keep: duration, most: z.int().min(1).max(1_000_000) }),
  breakAfter: duration,
})
