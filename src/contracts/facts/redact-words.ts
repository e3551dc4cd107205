import { z } from 'zod'

const ruling = z.looseObject({
  rationale: z.string(),
  evidence: z.unknown(),
  clauses: z.array(z.object({ id: z.string() })).optional(),
})

/** A verdict's JSON without its free texts and quotes, and without the comments that it names. */
export function redactWords(json: string): string {
  const nothing = { support: [], oppose: [], precedents: [] }
  return JSON.stringify({ ...ruling.parse(JSON.parse(json)), rationale: '', evidence: nothing })
}
