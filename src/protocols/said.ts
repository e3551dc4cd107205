import { z } from 'zod'

/** Words that are there. Reasons left empty would be an answer without reasons, and an empty entry wherever it is quoted. */
export const said = z.string().refine((text) => text.trim() !== '', 'is empty')

/** Words in a list. An entry that says nothing, empty or null, is left out: it costs none of the others. */
export function saidList<Entry extends string>(entries: z.ZodArray<z.ZodType<Entry>>): z.ZodType<Entry[]> {
  return z.preprocess((value) => (Array.isArray(value) ? value.filter(saysSomething) : value), entries)
}

function saysSomething(entry: unknown): boolean {
  return typeof entry === 'string' ? entry.trim() !== '' : entry !== null
}
