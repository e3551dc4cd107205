import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { verdict as verdictSchema } from '../../src/contracts/facts/verdict.ts'

// What becomes of readers of verdicts when one field says something else, is gone, or has another name.

type Json = Readonly<Record<string, unknown>>

/** Fields whose own fields are names, of which a reader knows none. */
const MAPPINGS = new Set(['scores', 'models', 'steps', 'story.labels'])

/** The fields of a verdict by their paths, each with its value; lists and mappings are one field. */
export function fieldsOf(value: object, under = ''): { readonly path: string; readonly value: unknown }[] {
  return Object.entries(value).flatMap(([name, field]: [string, unknown]) => {
    const path = `${under}${name}`
    const isWhole = typeof field !== 'object' || field === null || Array.isArray(field) || MAPPINGS.has(path)
    return isWhole ? [{ path, value: field }] : fieldsOf(field, `${path}.`)
  })
}

/** The verdict with another value at this path; undefined takes the field away. */
export function withField(one: Json, path: string, value: unknown, rename = false): Json {
  const [name = '', ...rest] = path.split('.')
  if (rest.length > 0) return { ...one, [name]: withField(one[name] as Json, rest.join('.'), value, rename) }
  const { [name]: before, ...others } = one
  if (rename) return { ...others, [`${name}Renamed`]: before }
  return value === undefined ? others : { ...one, [name]: value }
}

/** Words of lists that a later version may add to, and some that readers treat in their own way. */
const WORDS: Readonly<Record<string, readonly unknown[]>> = {
  schema: [1, 2],
  protocol: ['hate', 'rumor', 'counterspeech', 'safety', 'of-later'],
  label: [null, 'hate', 'unsafe', 'rumor', 'non-rumor', 'of-later'],
  decidedBy: ['human', 'deleted', 'none', 'scores', 'of-later'],
}

function othersOf(path: string, value: unknown): readonly unknown[] {
  const words = WORDS[path]
  if (words !== undefined) return words
  if (path === 'id')
    return [
      String(value).replace(/~r(\d+)$/, (_, number) => `~r${Number(number) + 7}`),
      String(value).replace('~', '@x~'),
    ]
  if (path === 'subjectId') return [`${String(value)}x`]
  if (value === null) return ['x', 0.75]
  if (typeof value === 'number') return [value + 1, 0]
  // What is only ever true is absent otherwise.
  if (typeof value === 'boolean') return [!value, undefined]
  if (typeof value === 'string') {
    const ms = /^\d{4}-/.test(value) ? Date.parse(value) : Number.NaN
    return Number.isNaN(ms) ? [`${value}x`] : [-3_600_000, 3_600_000].map((by) => new Date(ms + by).toISOString())
  }
  if (Array.isArray(value)) return [[], [...(value as unknown[]), 'x']]
  const fields = Object.entries(value as Json)
  const numbers = fields.every(([, one]) => typeof one === 'number')
  return [{}, ...(numbers ? [Object.fromEntries(fields.map(([name, one], n) => [name, Number(one) + 3 * n + 1]))] : [])]
}

/** A change of what one field says. */
export interface FieldChange {
  readonly path: string
  /** The verdict with it, or another one whose subject alone has another name. */
  readonly on: (one: Verdict) => Verdict
}

/** All changes of this verdict after which it is valid. */
export function changesOf(one: Verdict): FieldChange[] {
  return fieldsOf(one).flatMap(({ path, value }) =>
    othersOf(path, value).flatMap((other, nth) => {
      if (JSON.stringify(other) === JSON.stringify(value)) return []
      const on = (given: Verdict) => {
        const own = fieldsOf(given).find((field) => field.path === path)?.value
        // A changed field may be none of this schema: that is what is tried.
        return withField({ ...given }, path, othersOf(path, own)[nth]) as unknown as Verdict
      }
      return verdictSchema.safeParse(on(one)).success ? [{ path, on }] : []
    }),
  )
}
