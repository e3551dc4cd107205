import { z } from 'zod'
import { duration } from './values.ts'

/** Traces by OpenTelemetry: whether, and where to. */
export const traces = z.strictObject({
  endpoint: z.union([z.literal(''), z.url({ protocol: /^https?$/ })]),
  headers: z.record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/), z.string()),
  timeout: duration.refine((ms) => ms >= 100 && ms <= 60_000, 'between 100ms and 1m'),
  evaluations: z.boolean(),
})
