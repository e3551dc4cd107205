import { z } from 'zod'

/** Most verdicts that one entry names; of more it gives the number. */
export const MOST_AUDITED = 200

/**
 * What a person saw or did in the console, and what a list kept from models. Ids, and what of closed lists was asked for: no word of what was judged, decided or searched
 * for stands here, and an entry outlives the deletion of what it names.
 */
export const auditEntry = z.object({
  schema: z.literal(1),
  at: z.string().describe('When, ISO 8601.'),
  by: z.string().describe('The person, as whoever signed them in names them, and the record’s key.'),
  session: z.string().describe('Names the session; opens nothing. Empty where there was none.'),
  network: z
    .string()
    .describe('Whence: the address that asked, in IPv6 its first 64 bits (docs/door.md#behind-a-proxy).')
    .optional(),
  what: z
    .enum(['saw', 'did', 'streamed', 'signed-in', 'signed-out', 'refused'])
    .describe(
      'saw: was shown it; did: sent a form, whatever came of it, or, on the page veto, decided by a list; streamed: was told while a page was open; refused: has no role for it.',
    ),
  page: z.string().describe('The path of the page or form.'),
  verdicts: z.array(z.string()).describe(`Ids of the verdicts that it was about, at most ${MOST_AUDITED}.`),
  more: z.number().int().describe('How many more there were.'),
  asked: z
    .record(z.string(), z.string())
    .describe(
      'What a form or a list asked for, by field: filters and codes of reasons. Of what people write the field alone, with an empty value.',
    )
    .optional(),
  sha256: z.string().describe('For a saved file: the SHA-256 of its bytes, in hexadecimal digits.').optional(),
})
export type AuditEntry = z.infer<typeof auditEntry>
