import { folded } from './form.ts'
import { isObject, type LooseObject, looseJson } from './loose-json.ts'

/** Keys whose value is the answer itself, folded. */
const WRAPPERS = new Set(
  'answer response result output json data function toolcall toolcalls arguments parameters finalanswer'.split(' '),
)
/** Keys that may accompany a wrapper, folded. */
const BESIDE = new Set('name type id index role recipient'.split(' '))
/** Keys that accompany the properties of a JSON Schema, folded. */
const IN_SCHEMAS = new Set('type title description required additionalproperties schema'.split(' '))
const MOST_WRAPPERS = 4

/**
 * The values wrapped in a value, from the outside in: under a wrapper's key, in a list of one, in a string, in a JSON
 * Schema.
 */
export function unwrapped(value: unknown): unknown[] {
  const layers: unknown[] = []
  for (let inner = unwrap(value); inner !== undefined && layers.length < MOST_WRAPPERS; inner = unwrap(inner))
    layers.push(inner)
  return layers
}

/** What is wrapped in a value, one layer down; undefined if nothing is. */
function unwrap(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 1 ? value[0] : undefined
  if (typeof value === 'string') {
    const parsed = value.trim().startsWith('{') ? looseJson(value.trim(), 0) : undefined
    return parsed?.ok && parsed.end === value.trim().length ? parsed.value : undefined
  }
  if (!isObject(value)) return undefined
  const filled = filledIn(value)
  if (filled !== undefined) return filled
  const [wrapped, ...more] = Object.entries(value).filter(([key]) => !BESIDE.has(folded(key)))
  return wrapped !== undefined && more.length === 0 && WRAPPERS.has(folded(wrapped[0])) ? wrapped[1] : undefined
}

/** The `properties` of a JSON Schema in which a small model put its values; a real schema's properties are objects. */
function filledIn(value: LooseObject): LooseObject | undefined {
  const { properties, ...beside } = value
  if (!isObject(properties) || Object.values(properties).every(isObject)) return undefined
  return Object.keys(beside).every((key) => IN_SCHEMAS.has(folded(key))) ? properties : undefined
}
