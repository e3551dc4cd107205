import { hash } from './hash.ts'

/** A JSON Schema as parsed JSON. */
export type LooseSchema = { readonly [keyword: string]: unknown }

/** What `fill` is to use: `seed` decides free choices, `known` holds the values that are already decided. */
type Filling = { readonly seed: number; readonly known?: unknown }

const DEEPEST = 24
/** Its answer where none of its parts has one. */
const DRAWN = 'The understudy has no word list for this question: a hash of the text chose the answer.'

/**
 * A small valid instance of a JSON Schema, its keys in the schema's order. Values in `known` are taken as they are,
 * by property name and position; enumerations and bounded numbers follow from `seed`; arrays are as short as allowed.
 * `pattern` is not obeyed.
 */
export function fill(schema: LooseSchema, { seed, known }: Filling): unknown {
  return value(schema, { root: schema, seed, depth: 0 }, known)
}

/** The schema with its `$ref`, `allOf` and alternatives (first that is not null) resolved. */
export function resolved(schema: unknown, root: LooseSchema): LooseSchema {
  let current = isSchema(schema) ? schema : {}
  for (let steps = 0; steps < DEEPEST; steps++) {
    if (!('$ref' in current || 'allOf' in current || 'anyOf' in current || 'oneOf' in current)) return current
    const { $ref, allOf, anyOf, oneOf, ...rest } = current
    if (typeof $ref === 'string') current = { ...pointed(root, $ref), ...rest }
    else if (Array.isArray(allOf)) current = merged(allOf.filter(isSchema), rest, root)
    else if (Array.isArray(anyOf) || Array.isArray(oneOf)) current = { ...firstNotNull([anyOf, oneOf].flat()), ...rest }
    else return current
  }
  return {}
}

/** The schema of a property of an object schema, resolved. */
export function property(schema: LooseSchema, name: string, root: LooseSchema = schema): LooseSchema | undefined {
  const { properties } = resolved(schema, root)
  return isSchema(properties) && name in properties ? resolved(properties[name], root) : undefined
}

/** The properties of an object schema, resolved, by name. */
export function properties(schema: LooseSchema): [name: string, inner: LooseSchema][] {
  const { properties: named } = resolved(schema, schema)
  return isSchema(named) ? Object.entries(named).map(([name, inner]) => [name, resolved(inner, schema)]) : []
}

export function isSchema(value: unknown): value is LooseSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type Place = { readonly root: LooseSchema; readonly seed: number; readonly depth: number }

function value(given: unknown, place: Place, known: unknown): unknown {
  if (place.depth > DEEPEST) return null
  const schema = resolved(given, place.root)
  if (known !== undefined && !isSchema(known) && !Array.isArray(known)) return known
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[place.seed % schema.enum.length]
  switch (typeOf(schema)) {
    case 'object':
      return objectValue(schema, place, isSchema(known) ? known : {})
    case 'array':
      return arrayValue(schema, place, Array.isArray(known) ? known : undefined)
    case 'integer':
      return integerValue(schema, place.seed)
    case 'number':
      return numberValue(schema, place.seed)
    case 'boolean':
      return place.seed % 2 === 1
    case 'null':
      return null
    default:
      return stringValue(schema)
  }
}

function objectValue(schema: LooseSchema, place: Place, known: LooseSchema): unknown {
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const properties = isSchema(schema.properties) ? schema.properties : {}
  const filled: Record<string, unknown> = {}
  for (const [name, inner] of Object.entries(properties)) {
    if (!required.has(name) && (known[name] === undefined || place.depth >= DEEPEST)) continue
    filled[name] = value(inner, inside(place, name), known[name])
  }
  for (const name of required) if (typeof name === 'string' && !(name in filled)) filled[name] = 'word'
  return filled
}

function arrayValue(schema: LooseSchema, place: Place, known: readonly unknown[] | undefined): unknown {
  if (known) return known.map((item, index) => value(schema.items, inside(place, String(index)), item))
  const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : []
  const length = place.depth >= DEEPEST ? 0 : Math.max(prefix.length, bound(schema.minItems, 0))
  return Array.from({ length: Math.min(length, 1000) }, (_, index) =>
    value(prefix[index] ?? schema.items, { ...inside(place, ''), seed: place.seed + index }, undefined),
  )
}

function integerValue(schema: LooseSchema, seed: number): number {
  const low = Math.ceil(exclusively(schema.exclusiveMinimum, 1) ?? bound(schema.minimum, Math.min(0, highest(schema))))
  const high = Math.floor(exclusively(schema.exclusiveMaximum, -1) ?? bound(schema.maximum, low))
  const step = Math.max(1, bound(schema.multipleOf, 1))
  const first = Math.ceil(low / step) * step
  return first + step * (seed % (Math.max(0, Math.floor((high - first) / step)) + 1))
}

function numberValue(schema: LooseSchema, seed: number): number {
  const low = bound(schema.exclusiveMinimum, bound(schema.minimum, Math.min(0, highest(schema))))
  const high = bound(schema.exclusiveMaximum, bound(schema.maximum, low + 1))
  // Strictly between the bounds, so that an exclusive one is kept as well.
  const share = (1 + (seed % 99)) / 100
  const exact = low + (high - low) * share
  const round = Math.round(exact * 100) / 100
  return round > low && round < high ? round : exact
}

function stringValue({ minLength, maxLength, format }: LooseSchema): string {
  if (format === 'date-time') return '2000-01-01T00:00:00Z'
  if (format === 'date') return '2000-01-01'
  if (format === 'uri' || format === 'url') return 'https://example.org/'
  if (format === 'uuid') return '00000000-0000-4000-8000-000000000000'
  if (format === 'email') return 'understudy@example.org'
  return DRAWN.padEnd(bound(minLength, 0), '.').slice(0, bound(maxLength, Infinity))
}

function inside(place: Place, name: string): Place {
  return { root: place.root, seed: hash(name, place.seed), depth: place.depth + 1 }
}

function typeOf({ type, properties, items }: LooseSchema): unknown {
  if (Array.isArray(type)) return type.find((name) => name !== 'null')
  return type ?? (properties ? 'object' : items ? 'array' : 'string')
}

function bound(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise
}

function exclusively(value: unknown, step: number): number | undefined {
  if (typeof value !== 'number') return undefined
  return step > 0 ? Math.floor(value) + step : Math.ceil(value) + step
}

function highest({ maximum, exclusiveMaximum }: LooseSchema): number {
  return bound(maximum, bound(exclusiveMaximum, 1) - 1)
}

function pointed(root: LooseSchema, reference: string): LooseSchema {
  let found: unknown = root
  for (const step of reference.replace(/^#\/?/, '').split('/').filter(Boolean)) {
    found = isSchema(found) ? found[step.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined
  }
  return isSchema(found) ? found : {}
}

function merged(parts: readonly LooseSchema[], rest: LooseSchema, root: LooseSchema): LooseSchema {
  const all = [...parts.map((part) => resolved(part, root)), rest]
  const properties = Object.assign({}, ...all.map(({ properties }) => properties))
  const required = all.flatMap(({ required }) => (Array.isArray(required) ? required : []))
  return Object.assign({}, ...all, Object.keys(properties).length > 0 ? { properties, required } : {})
}

function firstNotNull(alternatives: readonly unknown[]): LooseSchema {
  const schemas = alternatives.filter(isSchema)
  return schemas.find(({ type, ...rest }) => type !== 'null' && rest.const !== null) ?? schemas[0] ?? {}
}
