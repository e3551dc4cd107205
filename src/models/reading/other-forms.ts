import { type Form, folded, isFree, type Json, keysOf } from './form.ts'
import { BareWord, isObject, type LooseObject, looseJson } from './loose-json.ts'
import { FENCED } from './text.ts'

// Answers that stand otherwise than as one object by itself: as labelled lines, or within something.

const LABEL =
  /^[\s>#*_•-]{0,12}(?:\d{1,2}[.)]\s{0,3})?[*_`"]{0,4}(\p{L}[\p{L} _-]{0,39})[*_`"]{0,4}\s?[:：=][*_`]{0,4}(.*)$/su

/**
 * The answer from lines `Key: value`; free text continues to the next label, other values end with their line. A list of objects is
 * left out, since no line holds one: whether it may be missing, the answer's schema says. Other lists and objects are read from no lines.
 */
export function labelledLines(text: string, { json, names }: Form): LooseObject | undefined {
  const keys = keysOf(json).filter(({ inner }) => !isListOfObjects(inner))
  if (keys.length === 0 || keys.some(({ inner: { type } }) => type === 'array' || type === 'object')) return undefined
  const found: { name: string; value: string }[] = []
  for (const line of text.split('\n')) {
    if (FENCED.test(line)) continue
    const [, label = '', rest = ''] = LABEL.exec(line) ?? []
    const last = found.at(-1)
    if (names.has(folded(label))) found.push({ name: folded(label), value: rest })
    else if (last !== undefined) last.value += `\n${line}`
  }
  const answer: LooseObject = Object.create(null)
  for (const { key, inner, own, same } of keys) {
    const [only, ...more] = found.filter(({ name }) => name === own || same.includes(name))
    if (only === undefined || more.length > 0) return undefined
    answer[key] = isFree(inner) ? only.value.trim() : new BareWord(only.value.trim())
  }
  return answer
}

function isListOfObjects({ type, items }: Json): boolean {
  return type === 'array' && typeof items === 'object' && !Array.isArray(items) && items.type === 'object'
}

const KEY =
  /["'“”„‘＂«]([\p{L}_ -]{1,40})["'“”’＂»]\s{0,9}[:：]|["'“”’＂»]\s{0,9}[,，]\s{0,9}([\p{L}_]{1,40})\s{0,9}[:：]/gu

/** Whether prose contains a key as in an object, or a line with a deciding key: no line holds a list of objects. */
export function hasKey(prose: string, { json, names, decisive }: Form): boolean {
  if ([...prose.matchAll(KEY)].some(([, quoted, bare]) => names.has(folded(quoted ?? bare ?? '')))) return true
  return prose.split('\n').some((line) => {
    const [, label = '', rest = ''] = LABEL.exec(line) ?? []
    const name = folded(label)
    const isList = keysOf(json).some(({ own, inner }) => own === name && isListOfObjects(inner))
    return decisive.has(name) && !isList && /[\p{L}\p{N}]/u.test(rest)
  })
}

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
