import { z } from 'zod'

/**
 * A text that is not empty. Empty reasons would be no reasons, and would leave an empty entry wherever they are quoted.
 */
export const said = z.string().refine((text) => text.trim() !== '', 'is empty')

/** A list of texts. Empty entries and null are left out, without affecting the others. */
export function saidList<Entry extends string>(entries: z.ZodArray<z.ZodType<Entry>>): z.ZodType<Entry[]> {
  return z.preprocess((value) => (Array.isArray(value) ? value.filter(saysSomething) : value), entries)
}

function saysSomething(entry: unknown): boolean {
  return typeof entry === 'string' ? entry.trim() !== '' : entry !== null
}
