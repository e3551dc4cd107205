import { z } from 'zod'
import { MAX_WHY_CHARS } from '../contracts/facts/decision-messages.ts'

/** The keys that choose a reason, in the order of the file; letters that pages use for something else are not among them. */
export const CODE_KEYS = 'adefghilmpqtvxyz'

/** A reason that people choose when they decide. */
const reasonCode = z.strictObject({
  code: z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'small letters, digits and hyphens, a letter first, at most 40'),
  says: z.string().trim().min(1).max(200),
  /** Why a label stays; the others say why it goes, or why there is one. */
  confirms: z.boolean().default(false),
  /** It says too little without words of one's own. */
  asks: z.boolean().default(false),
})

export const reasonCodes = z
  .array(reasonCode)
  .max(CODE_KEYS.length, `at most ${CODE_KEYS.length} reasons: each has a key`)
  .refine((all) => new Set(all.map(({ code }) => code)).size === all.length, 'a code stands there twice')
  .refine((all) => all.some(({ confirms }) => confirms), 'one of them must have "confirms: true"')
export type ReasonCodes = z.infer<typeof reasonCodes>

/**
 * The reason of a decision: the words of its code, and the person's own; null if that is not enough. Whoever overrules says why in
 * their own words, and so does whoever gives no code.
 */
export function reasonOf(
  { code, own, overrules }: { code: string; own: string; overrules: boolean },
  codes: ReasonCodes,
): { readonly why: string; readonly code?: string } | null {
  const chosen = codes.find((one) => one.code === code)
  const asks = chosen === undefined || chosen.asks || overrules
  if ((code !== '' && chosen === undefined) || (asks && own === '')) return null
  const why = [chosen?.says ?? '', own].filter((part) => part !== '').join(' ')
  if (why.length > MAX_WHY_CHARS) return null
  return chosen === undefined ? { why } : { why, code: chosen.code }
}
