import { z } from 'zod'

/**
 * A list of which only the first `most` entries are read, and what lies beyond is not looked at: zod checks every entry, and
 * a microsecond or more for each of a million would hold up everybody.
 */
export function firstOf<Entry extends z.ZodType>(most: number, entry: Entry) {
  return z.preprocess((given) => (Array.isArray(given) ? given.slice(0, most) : given), z.array(entry))
}
