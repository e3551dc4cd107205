import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROJECT } from '../../config/load.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { schemaTwo, versionsOfSchemaTwo } from '../../src/contracts/facts/verdict-fields.ts'
import { contestedness } from '../../src/protocols/contestedness.ts'

// Histories of verdicts in schema 1, schema 2 and both, that say the same.

type Json = Readonly<Record<string, unknown>>

/** Verdicts as the last version that wrote schema 1 wrote them, one a line: commit f57c605c. */
export const WRITTEN_IN_ONE: readonly Verdict[] = readFileSync(
  join(PROJECT, 'test', 'schemas', 'released', '1', 'verdicts.jsonl'),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Verdict)

/** Every field of schema 2, those too that nothing fills yet. */
const ADDED = {
  subjectKind: 'post',
  lang: 'pt-BR',
  debated: { held: true, why: 'control', chance: 0.05, without: 'non-rumor' },
  unverified: { reason: 'torn' },
  opposed: { since: '2026-11-28T19:20:00.000Z' },
  policy: { name: 'house', version: '3', hash: 'c0ffee' },
  clauses: [{ id: 'h2', quote: 'a word of it' }],
  story: {
    id: 's1',
    members: 3,
    reach: 120,
    labels: { rumor: 2 },
    current: { label: 'rumor', verdictId: 'rumor~p~r1' },
  },
  veto: { list: 'known', entry: 'e7' },
  variant: 'b',
} satisfies Partial<Verdict>

/** The same verdict in schema 2. */
export function inSchemaTwo(one: Verdict): Verdict {
  const { confidence: value } = contestedness(one)
  return {
    ...one,
    schema: 2,
    ...ADDED,
    evidence: { ...one.evidence, elsewhere: ['q~c9'] },
    confidence: { value, how: value === null ? null : 'perspectives' },
    versions: { ...one.versions, gavel: '0.2.0', lane: 'a1', mapping: 'b2' },
  }
}

/** What both schemas know of a verdict, or of anything that holds verdicts. */
export function knownToBoth(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(knownToBoth)
  if (typeof value !== 'object' || value === null) return value
  const { schema, ...rest } = value as Json
  const isTwo = schema === 2 && 'subjectId' in rest
  const fields = Object.entries(isTwo ? rest : value).filter(([name]) => !isTwo || !Object.hasOwn(schemaTwo, name))
  return Object.fromEntries([
    ...(isTwo ? [['schema', 1]] : []),
    ...fields.map(([name, field]) => [
      name,
      isTwo && name === 'versions'
        ? without(Object.keys(versionsOfSchemaTwo), field as Json)
        : // Optional in either, so a withdrawal in schema 1 has it of a ruling in schema 2; none was written by then.
          knownToBoth(name === 'evidence' && 'subjectId' in value ? without(['elsewhere'], field as Json) : field),
    ]),
  ])
}

function without(names: readonly string[], fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
}

/** So many verdicts in schema 1, each on a subject of its own but for a few revisions of it. */
export function historyInOne(count: number): Verdict[] {
  return Array.from({ length: count }, (_, n) => {
    const one = WRITTEN_IN_ONE[n % WRITTEN_IN_ONE.length] as Verdict
    const round = Math.floor(n / WRITTEN_IN_ONE.length)
    const renamed = JSON.stringify(one).replaceAll(one.subjectId, `${one.subjectId}-${round}`)
    return JSON.parse(renamed) as Verdict
  })
}

/** The same in both schemas: every second one, by no order that a reader could go by. */
export function historyInBoth(count: number): Verdict[] {
  return historyInOne(count).map((one, n) => ((n * 7) % 13 < 6 ? inSchemaTwo(one) : one))
}
