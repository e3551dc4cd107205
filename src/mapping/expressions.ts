import { didYouMean } from '../contracts/facts/did-you-mean.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { SchemaFields } from '../contracts/facts/odd-fields.ts'
import { InexactNumber, MappingSettingFault, UnmappedRecord } from './faults.ts'
import { MOST_HTML, wordsOfHtml } from './html.ts'
import { isPath, type MappingScope, pathOf, type ReadScope } from './paths.ts'
import { TIME_UNITS, type TimeUnit, timeOf } from './times.ts'

/** A place in the settings. */
export type SettingPath = readonly (string | number)[]

/** Whether a record, or an item of a list, is meant. */
export type MappingCondition = (scope: MappingScope) => boolean

/** Deepest nesting of expressions and conditions, and most parts of a list of them. */
const [MOST_DEEP, MOST_PARTS] = [12, 64]
/** Most characters that are made of a record, and most items of a list of it. */
const [MOST_CHARS, MOST_ITEMS] = [2 * 2 ** 20, 1_000]

type Fields = Readonly<Record<string, unknown>>
type Operator = (given: Fields, at: SettingPath) => ReadScope

/** The operators of expressions, each with the options that may stand beside it. */
const OPERATORS: Readonly<Record<string, { readonly beside: readonly string[]; readonly read: Operator }>> = {
  const: {
    beside: [],
    read: ({ const: value }, at) => {
      const constant = constantOf(value, [...at, 'const'])
      return () => constant
    },
  },
  first: {
    beside: [],
    read: ({ first }, at) => {
      const all = listOf(first, [...at, 'first']).map((one, nth) => expressionOf(one, [...at, 'first', nth]))
      return (scope) => {
        for (const read of all) {
          const value = read(scope)
          if (value !== undefined && value !== '') return value
        }
        return undefined
      }
    },
  },
  join: { beside: ['of', 'with'], read: joinOf },
  list: { beside: ['of', 'when'], read: mappedList },
  time: {
    beside: ['unit'],
    read: ({ time, unit = 'iso' }, at) => {
      if (!TIME_UNITS.some((one) => one === unit))
        throw new MappingSettingFault([...at, 'unit'], `one of ${TIME_UNITS.join(', ')}`)
      const read = expressionOf(time, [...at, 'time'])
      return (scope) => {
        const value = read(scope)
        return value === undefined ? undefined : timeOf(value, unit as TimeUnit) // as checked above
      }
    },
  },
  html: {
    beside: [],
    read: ({ html }, at) => {
      const read = expressionOf(html, [...at, 'html'])
      return (scope) => {
        const value = read(scope)
        return value === undefined ? undefined : wordsOfHtml(bounded(textOf(value).slice(0, MOST_HTML), scope))
      }
    },
  },
  split: {
    beside: ['by', 'at'],
    read: ({ split, by, at: nth }, at) => {
      if (typeof by !== 'string' || by === '')
        throw new MappingSettingFault([...at, 'by'], 'a text that stands between the parts')
      if (typeof nth !== 'number' || !Number.isInteger(nth))
        throw new MappingSettingFault([...at, 'at'], 'a whole number: 0 is the first part, -1 the last')
      const read = expressionOf(split, [...at, 'split'])
      return (scope) => {
        const value = read(scope)
        return value === undefined ? undefined : bounded(textOf(value), scope).split(by).at(nth)
      }
    },
  },
  number: {
    beside: [],
    read: ({ number }, at) => {
      const read = expressionOf(number, [...at, 'number'])
      return (scope) => {
        const value = read(scope)
        if (typeof value !== 'string') return value
        if (!/^-?\d{1,15}(\.\d{1,12})?$/.test(value)) throw new UnmappedRecord('is no number')
        return Number(value)
      }
    },
  },
  object: {
    beside: [],
    read: ({ object }, at) => {
      if (!isFields(object)) throw new MappingSettingFault([...at, 'object'], 'fields, each by an expression')
      return fieldsOf(object, [...at, 'object'])
    },
  },
  value: {
    beside: ['when'],
    read: ({ value, when }, at) => {
      const [read, isMeant] = [expressionOf(value, [...at, 'value']), conditionOf(when, [...at, 'when'])]
      return (scope) => (isMeant(scope) ? read(scope) : undefined)
    },
  },
}

/**
 * An expression of the settings, compiled: a path, a template with paths in braces, a constant, or an operator. It reads a record in
 * time linear in it. Throws a `MappingSettingFault` where it is none.
 */
function expressionOf(given: unknown, at: SettingPath): ReadScope {
  if (at.length > 2 * MOST_DEEP) throw new MappingSettingFault(at, 'nested too deep')
  if (typeof given === 'string')
    return isPath(given) ? pathOf(given, at) : /[{}]/.test(given) ? templateOf(given, at) : () => given
  if (isScalar(given)) {
    const constant = constantOf(given, at)
    return () => constant
  }
  if (!isFields(given)) throw new MappingSettingFault(at, 'a path, a template, a constant, or one of the operators')
  const [name, ...others] = Object.keys(given).filter((key) => Object.hasOwn(OPERATORS, key))
  const operator = name === undefined ? undefined : entryOf(OPERATORS, name)
  if (operator === undefined || name === undefined || others.length > 0) {
    const [unknown = ''] = Object.keys(given)
    const wanted = `one of ${Object.keys(OPERATORS).join(', ')}`
    throw new MappingSettingFault(at, `an expression has ${wanted}.${didYouMean(unknown, Object.keys(OPERATORS))}`)
  }
  onlyKeys(given, [name, ...operator.beside], at)
  return operator.read(given, at)
}

function constantOf(given: unknown, at: SettingPath): string | number | boolean {
  if (!isScalar(given)) throw new MappingSettingFault(at, 'a text, a number, true or false')
  if (Number.isInteger(given) && !Number.isSafeInteger(given))
    throw new MappingSettingFault(at, 'too large to be read exactly as a number: write it in quotes')
  return given
}

/** `{$.tenant}:{$.id}`: absent where one of its parts is. Doubled braces are braces. */
function templateOf(text: string, at: SettingPath): ReadScope {
  const parts: (string | ReadScope)[] = []
  for (let from = 0; from < text.length; ) {
    const [, plain, path] = /([^{}]+|\{\{|\}\})|\{([^{}]{1,500})\}/y.exec(text.slice(from)) ?? []
    if (plain === undefined && path === undefined)
      throw new MappingSettingFault(at, `a brace at character ${from + 1} stands alone: write {{ or }} for a brace`)
    if (path !== undefined) parts.push(pathOf(path.trim(), at))
    else parts.push(plain === '{{' ? '{' : plain === '}}' ? '}' : (plain ?? ''))
    from += path === undefined ? (plain?.length ?? 1) : path.length + 2
  }
  if (parts.length > MOST_PARTS) throw new MappingSettingFault(at, `more than ${MOST_PARTS} parts`)
  return (scope) => {
    let made = ''
    for (const part of parts) {
      const value = typeof part === 'string' ? part : part(scope)
      if (value === undefined) return undefined
      made += textOf(value)
    }
    return bounded(made, scope)
  }
}

/** Texts, or what `of` makes of a list's items, joined by `with`; what is absent or empty is left out. */
function joinOf({ join, of, with: between = '' }: Fields, at: SettingPath): ReadScope {
  if (typeof between !== 'string') throw new MappingSettingFault([...at, 'with'], 'a text')
  const glued = (values: readonly unknown[], scope: MappingScope) => {
    const texts = values.flatMap((one) => (one === undefined || one === null || one === '' ? [] : [textOf(one)]))
    for (const text of texts) bounded(text, scope)
    return texts.length === 0 ? undefined : texts.join(between)
  }
  if (Array.isArray(join)) {
    if (of !== undefined) throw new MappingSettingFault([...at, 'of'], 'stands beside the path of a list')
    const all = listOf(join, [...at, 'join']).map((one, nth) => expressionOf(one, [...at, 'join', nth]))
    return (scope) =>
      glued(
        all.map((read) => read(scope)),
        scope,
      )
  }
  const [items, read] = [itemsAt(join, [...at, 'join']), expressionOf(of ?? '@', [...at, 'of'])]
  return (scope) =>
    glued(
      items(scope).map((item) => read({ ...scope, item })),
      scope,
    )
}

/** A list made of a list: `of` names the fields of each item, or is one expression. */
function mappedList({ list, of, when }: Fields, at: SettingPath): ReadScope {
  const [items, isMeant] = [itemsAt(list, [...at, 'list']), conditionOf(when, [...at, 'when'])]
  const make =
    isFields(of) && !Object.keys(of).some((key) => Object.hasOwn(OPERATORS, key)) ? fieldsOf(of, [...at, 'of']) : null
  const read = make ?? expressionOf(of ?? '@', [...at, 'of'])
  return (scope) => {
    const made = items(scope).flatMap((item) => {
      const inner = { ...scope, item }
      const value = isMeant(inner) ? read(inner) : undefined
      return value === undefined ? [] : [value]
    })
    return made.length === 0 ? undefined : made
  }
}

/** An object, each of its fields made by an expression; absent fields are left out. */
export function fieldsOf(given: Fields, at: SettingPath): (scope: MappingScope) => SchemaFields {
  const fields = Object.entries(given).map(([name, one]) => [name, expressionOf(one, [...at, name])] as const)
  return (scope) => {
    const made: SchemaFields = {}
    for (const [name, read] of fields) {
      const value = named(name, read, scope)
      if (typeof value === 'string') bounded(value, scope)
      if (value !== undefined) made[name] = value
    }
    return made
  }
}

/** A record's key by an expression, as a text; null where nothing stands there. */
export function keyOf(given: unknown, at: SettingPath): (scope: MappingScope) => string | null {
  const read = expressionOf(given, at)
  return (scope) => {
    const value = named('key', read, scope)
    return value === undefined ? null : named('key', textOf, value)
  }
}

/** Says of which field it is that a record can't be mapped. */
function named<From, Value>(field: string, read: (from: From) => Value, from: From): Value {
  try {
    return read(from)
  } catch (error) {
    if (error instanceof UnmappedRecord) throw new UnmappedRecord(`${field}: ${error.message}`)
    throw error
  }
}

/** The items of the list at a path; none where it is absent. */
export function itemsAt(given: unknown, at: SettingPath): (scope: MappingScope) => readonly unknown[] {
  if (typeof given !== 'string' || !isPath(given)) throw new MappingSettingFault(at, 'the path of a list')
  const read = pathOf(given, at)
  return (scope) => {
    const value = read(scope) ?? []
    if (!Array.isArray(value)) throw new UnmappedRecord(`${given} is no list`)
    if (value.length > MOST_ITEMS) throw new UnmappedRecord(`${given} has more than ${MOST_ITEMS} items`)
    return value
  }
}

const CONDITIONS = ['equals', 'in', 'exists', 'startsWith'] as const

/** A condition of the settings, compiled; of a list all must hold. Where there is none, it holds. */
export function conditionOf(given: unknown, at: SettingPath): MappingCondition {
  if (given === undefined) return () => true
  if (at.length > 2 * MOST_DEEP) throw new MappingSettingFault(at, 'nested too deep')
  if (Array.isArray(given)) {
    const all = listOf(given, at).map((one, nth) => conditionOf(one, [...at, nth]))
    return (scope) => all.every((holds) => holds(scope))
  }
  if (!isFields(given)) throw new MappingSettingFault(at, 'a condition, or a list of them')
  if ('not' in given) {
    onlyKeys(given, ['not'], at)
    const holds = conditionOf(given.not, [...at, 'not'])
    return (scope) => !holds(scope)
  }
  if ('any' in given) {
    onlyKeys(given, ['any'], at)
    const all = listOf(given.any, [...at, 'any']).map((one, nth) => conditionOf(one, [...at, 'any', nth]))
    return (scope) => all.some((holds) => holds(scope))
  }
  onlyKeys(given, ['field', ...CONDITIONS], at)
  const [kind, ...others] = CONDITIONS.filter((one) => one in given)
  const read = expressionOf(given.field, [...at, 'field'])
  if (kind === undefined || others.length > 0)
    throw new MappingSettingFault(at, `a condition has one of ${CONDITIONS.join(', ')}`)
  return compared(kind, read, given[kind], [...at, kind])
}

function compared(
  kind: (typeof CONDITIONS)[number],
  read: ReadScope,
  wanted: unknown,
  at: SettingPath,
): MappingCondition {
  switch (kind) {
    case 'exists': {
      if (typeof wanted !== 'boolean') throw new MappingSettingFault(at, 'true or false')
      return (scope) => (read(scope) !== undefined) === wanted
    }
    case 'equals': {
      const other = expressionOf(wanted, at)
      return (scope) => {
        const [one, two] = [read(scope), other(scope)]
        return isScalar(one) && isScalar(two) && textOf(one) === textOf(two)
      }
    }
    case 'in': {
      const all = new Set(listOf(wanted, at, 1_000).map((one, nth) => textOf(constantOf(one, [...at, nth]))))
      return (scope) => {
        const value = read(scope)
        return isScalar(value) && all.has(textOf(value))
      }
    }
    case 'startsWith': {
      if (typeof wanted !== 'string') throw new MappingSettingFault(at, 'a text')
      return (scope) => {
        const value = read(scope)
        return typeof value === 'string' && value.startsWith(wanted)
      }
    }
  }
}

/** A value as a text: of a number its digits. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) throw new InexactNumber()
  if (isScalar(value)) return String(value)
  throw new UnmappedRecord(Array.isArray(value) ? 'is a list' : 'is an object')
}

/** The text, unless too much has been made of the record: a path may stand in a thousand items. */
function bounded(text: string, { made }: MappingScope): string {
  made.chars += text.length
  if (made.chars > MOST_CHARS) throw new UnmappedRecord(`makes more than ${MOST_CHARS} characters`)
  return text
}

function listOf(given: unknown, at: SettingPath, most = MOST_PARTS): readonly unknown[] {
  if (!Array.isArray(given) || given.length === 0) throw new MappingSettingFault(at, 'a list')
  if (given.length > most) throw new MappingSettingFault(at, `more than ${most} parts`)
  return given
}

export function onlyKeys(given: Fields, known: readonly string[], at: SettingPath): void {
  const unknown = Object.keys(given).find((key) => !known.includes(key))
  if (unknown !== undefined)
    throw new MappingSettingFault([...at, unknown], `is not known here.${didYouMean(unknown, known)}`)
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
