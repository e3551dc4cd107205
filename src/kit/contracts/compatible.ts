import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { JsonSchema } from './json-schema.ts'

/**
 * What a change of schema breaks, a line each; empty if nothing. `written`: others write by it, so whatever was taken is still
 * taken. `read`: others read by it, so whatever may come could come before, and no field is gone. Earlier records stay on the
 * topic, and Gavel reads them again (recovery, record, commands): today's schema must take them too, so a new field is optional.
 * Throws at a keyword that it can't compare.
 */
export function breaks(released: JsonSchema, current: JsonSchema, side: 'written' | 'read'): string[] {
  const described = (how: string) => (one: Refusal) => `${one.path || 'the message'}: ${one.why} ${how}`
  const earlier = refused(released, current, '').map(described(side === 'written' ? 'is taken no longer' : EARLIER))
  const later = side === 'written' ? [] : refused(current, released, '').map(described('was never given before'))
  return [...gone(released, current, '').map((path) => `${path || 'the message'} is gone`), ...later, ...earlier]
}

const EARLIER = 'may be on the topic, and could no longer be read'

interface Refusal {
  readonly path: string
  readonly why: string
}

/** Keywords that allow the same values. A format is meant for tools; its pattern is checked. */
const ANNOTATIONS = new Set(['$schema', 'title', 'description', 'default', 'examples', 'format', 'deprecated'])
const COMPARED = new Set([
  'type',
  'const',
  'enum',
  'pattern',
  'properties',
  'required',
  'additionalProperties',
  'propertyNames',
  'patternProperties',
  'items',
  'anyOf',
  'oneOf',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minItems',
  'maxItems',
])

/** Values that `wide` allows and `narrow` refuses. */
function refused(wide: JsonSchema, narrow: JsonSchema, path: string): Refusal[] {
  const into = forms(narrow)
  return forms(wide).flatMap((form) => {
    const tried = into.map((other) => refusedForm(form, other, path))
    return tried.reduce((best, one) => (one.length < best.length ? one : best), tried[0] ?? [])
  })
}

function refusedForm(wide: JsonSchema, narrow: JsonSchema, path: string): Refusal[] {
  const because = (why: string) => [{ path, why }]
  const values = valuesOf(wide)
  const allowed = valuesOf(narrow)
  if (values !== undefined && allowed !== undefined)
    return values.filter((one) => !allowed.includes(one)).flatMap((one) => because(`the value ${JSON.stringify(one)}`))
  if (allowed !== undefined) return because('a value that is not in the list')
  const [type, other] = [wide.type, narrow.type]
  if (type !== other && other !== undefined && !(type === 'integer' && other === 'number'))
    return because(`the type ${String(type ?? 'of any kind')}`)
  if (values !== undefined && narrow.pattern !== undefined) {
    const pattern = new RegExp(String(narrow.pattern), 'u')
    return values.filter((one) => !pattern.test(String(one))).flatMap((one) => because(`the value ${String(one)}`))
  }
  return [
    ...(narrow.pattern !== undefined && narrow.pattern !== wide.pattern ? because('what the pattern leaves out') : []),
    ...LOWER.filter((word) => bound(narrow, word, -1) > bound(wide, word, -1)).flatMap((word) =>
      because(`what is below ${word} ${String(narrow[word])}`),
    ),
    ...UPPER.filter((word) => bound(narrow, word, 1) < bound(wide, word, 1)).flatMap((word) =>
      because(`what is above ${word} ${String(narrow[word])}`),
    ),
    ...refusedFields(wide, narrow, path),
    ...(narrow.items === undefined ? [] : refused(wide.items ?? {}, narrow.items, `${path}[]`)),
  ]
}

const LOWER = ['minLength', 'minimum', 'exclusiveMinimum', 'minItems'] as const
const UPPER = ['maxLength', 'maximum', 'exclusiveMaximum', 'maxItems'] as const

function bound(schema: JsonSchema, word: string, side: 1 | -1): number {
  const limit = entryOf(schema, word)
  return typeof limit === 'number' ? limit : side * Number.POSITIVE_INFINITY
}

function refusedFields(wide: JsonSchema, narrow: JsonSchema, path: string): Refusal[] {
  const at = (name: string) => (path === '' ? name : `${path}.${name}`)
  const known = wide.required ?? []
  const missing = (narrow.required ?? []).filter((name) => !known.includes(name))
  const fields = Object.entries(wide.properties ?? {}).flatMap(([name, field]) => {
    const other = entryOf(narrow.properties ?? {}, name)
    if (other !== undefined) return refused(field, other, at(name))
    const rest = narrow.additionalProperties ?? true
    if (rest === false) return [{ path: at(name), why: 'a field of this name' }]
    return rest === true ? [] : refused(field, rest, at(name))
  })
  const { propertyNames } = narrow
  const names = propertyNames === undefined ? [] : refused(wide.propertyNames ?? {}, propertyNames, `${path} (names)`)
  return [...missing.map((name) => ({ path: at(name), why: 'a message without it' })), ...fields, ...names].concat(
    refusedRest(wide, narrow, path),
  )
}

/** Of fields that are not named one by one. Where they may hold anything, new ones have no place to be refused. */
function refusedRest(wide: JsonSchema, narrow: JsonSchema, path: string): Refusal[] {
  const [rest, other] = [wide.additionalProperties ?? true, narrow.additionalProperties ?? true]
  const named = Object.entries(wide.patternProperties ?? {}).flatMap(([pattern, field]) => {
    const into = patternTaking(narrow.patternProperties ?? {}, pattern)
    if (into !== undefined) return refused(field, into, `${path} (${pattern})`)
    return other === false ? [{ path: `${path} (${pattern})`, why: 'a field of such a name' }] : []
  })
  if (other === true || rest === false) return named
  if (other === false) return [...named, { path, why: 'a field that is not in the schema' }]
  return [...named, ...refused(rest === true ? {} : rest, other, `${path}.*`)]
}

/** What is asked of fields whose names fit the pattern: by the same one, or by a list of sections to which some were added. */
function patternTaking(patterns: Readonly<Record<string, JsonSchema>>, pattern: string): JsonSchema | undefined {
  const sectionsOf = (one: string) => /^\^\(([\w|]+)\)\\\.$/.exec(one)?.[1]?.split('|')
  const sections = sectionsOf(pattern)
  const wider = Object.entries(patterns).find(([other]) => {
    const known = sectionsOf(other)
    return sections?.every((one) => known?.includes(one))
  })
  return entryOf(patterns, pattern) ?? wider?.[1]
}

/** Fields that are in none of the forms any more, and values of lists that are. */
function gone(released: JsonSchema, current: JsonSchema, path: string): string[] {
  const after = forms(current)
  return forms(released).flatMap((form) =>
    [
      ...Object.entries(form.properties ?? {}).flatMap(([name, field]) => {
        const at = path === '' ? name : `${path}.${name}`
        const kept = after.flatMap(({ properties = {} }): JsonSchema[] => [entryOf(properties, name) ?? []].flat())
        return kept.length === 0 ? [at] : gone(field, { anyOf: kept }, at)
      }),
      ...(form.items === undefined
        ? []
        : gone(form.items, { anyOf: after.map(({ items = {} }) => items) }, `${path}[]`)),
      ...(typeof form.additionalProperties !== 'object'
        ? []
        : gone(
            form.additionalProperties,
            { anyOf: after.map(({ additionalProperties: rest }) => open(rest)) },
            `${path}.*`,
          )),
      ...goneValues(form, after, path),
    ].filter((one, index, all) => all.indexOf(one) === index),
  )
}

/** What fields without a name of their own may hold. */
function open(rest: JsonSchema['additionalProperties']): JsonSchema {
  return typeof rest === 'object' ? rest : {}
}

function goneValues(released: JsonSchema, after: readonly JsonSchema[], path: string): string[] {
  const lists = after.map(valuesOf)
  if (lists.includes(undefined)) return []
  return (valuesOf(released) ?? [])
    .filter((one) => !lists.some((list) => list?.includes(one)))
    .map((one) => `${path} ${JSON.stringify(one)}`)
}

function valuesOf(schema: JsonSchema): readonly unknown[] | undefined {
  return 'const' in schema ? [schema.const] : schema.enum
}

/** The schema as alternatives of one type each, none of which has alternatives of its own. */
function forms(schema: JsonSchema): JsonSchema[] {
  for (const keyword of Object.keys(schema))
    if (!ANNOTATIONS.has(keyword) && !COMPARED.has(keyword)) throw new Error(`${keyword} can't be compared`)
  const { anyOf, oneOf, ...own } = schema
  const whole = alternatives(alternatives([own], anyOf), oneOf)
  return whole.flatMap((one) =>
    Array.isArray(one.type) ? one.type.map((type: string): JsonSchema => ({ ...one, type })) : [one],
  )
}

function alternatives(all: readonly JsonSchema[], others: readonly JsonSchema[] | undefined): readonly JsonSchema[] {
  return others === undefined ? all : all.flatMap((one) => others.flatMap((other) => forms(both(one, other))))
}

/** The schema for what fits both, where the second narrows fields of the first. */
function both(one: JsonSchema, other: JsonSchema): JsonSchema {
  const known = one.properties ?? {}
  const more = Object.entries(other.properties ?? {})
  const properties = {
    ...known,
    ...Object.fromEntries(more.map(([name, field]) => [name, { ...entryOf(known, name), ...field }])),
  }
  return {
    ...one,
    ...other,
    ...(Object.keys(properties).length > 0 && { properties }),
    required: [...new Set([...(one.required ?? []), ...(other.required ?? [])])],
  }
}
