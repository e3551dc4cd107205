import { z } from 'zod'

const ruling = z.looseObject({ rationale: z.string(), evidence: z.unknown() })

/** A verdict's JSON without its free texts, and without the comments that it names. */
export function redactWords(json: string): string {
  const nothing = { support: [], oppose: [], precedents: [] }
  return JSON.stringify({ ...ruling.parse(JSON.parse(json)), rationale: '', evidence: nothing })
}
