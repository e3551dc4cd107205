import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { OFF_SCALE } from '../../contracts/facts/scales.ts'
import { type ScaledNumber, scaledNumbers } from '../scales.ts'
import { type Form, folded, isFree, type Json, type Key, keysOf, narrow } from './form.ts'
import { BareWord, isObject, type LooseObject } from './loose-json.ts'

/** How far a number may miss an end of its scale, as a part of it: the error of float sums. */
const ROUNDING = 1e-6

/** The result of reading: an answer, or why there is none, without quoting the text. */
export type ReadingResult<Answer> =
  | { readonly readable: true; readonly answer: Answer }
  | { readonly readable: false; readonly why: string }

export function unreadable(why: string) {
  return { readable: false, why } as const
}

/** Reads a value as an answer of this form. */
export function fitted<Answer>(value: unknown, { json }: Form, schema: z.ZodType<Answer>): ReadingResult<Answer> {
  const twice: string[] = []
  const given = isSpeltAs(value, json) ? value : coerced(value, json, [], twice)
  const read = schema.safeParse(given)
  if (twice[0] !== undefined) return unreadable(`${twice[0]}: comes twice, with two values`)
  const stray = strayIn(scaledNumbers(given, schema))
  if (stray !== undefined) return unreadable(`${stray.path.join('.')}: ${OFF_SCALE}${stray.scale}`)
  if (read.success) return { readable: true, answer: read.data }
  const issue = read.error.issues[0]
  // Our own rules describe the problem themselves; zod's messages may quote the answer.
  const isOwn = issue?.code === 'custom' || issue?.message.startsWith(OFF_SCALE)
  const what = isOwn
    ? issue?.message
    : isMissing(given, issue?.path ?? [])
      ? 'missing'
      : (issue?.code ?? 'does not fit')
  return unreadable(`${issue?.path.join('.') || 'answer'}: ${what}`)
}

/** Whether the answer has nothing at this place. */
function isMissing(answer: unknown, path: readonly PropertyKey[]): boolean {
  let place = answer
  for (const key of path) {
    if (typeof place !== 'object' || place === null) return true
    // What is no object has been left out; its fields are checked before they are read.
    place = entryOf(place as Record<string, unknown>, String(key))
  }
  return place === undefined
}

/**
 * A number that only another scale has. A form may do without one of its numbers; but whoever means another scale means it for all
 * of them.
 */
function strayIn(numbers: readonly ScaledNumber[]): ScaledNumber | undefined {
  return numbers.every(({ isAside }) => isAside)
    ? undefined
    : numbers.find(({ position }) => position < -ROUNDING || position > 1 + ROUNDING)
}

/** Whether keys, choices and numbers are already spelt as in the schema, and nothing is beside them: there is nothing to coerce. */
function isSpeltAs(value: unknown, json: Json): boolean {
  const { properties, items } = json
  if (properties !== undefined)
    return (
      isObject(value) && Object.entries(value).every(([key, content]) => isValueOf(content, entryOf(properties, key)))
    )
  if (typeof items === 'object' && !Array.isArray(items))
    return Array.isArray(value) && value.every((item) => isValueOf(item, items))
  if (json.enum !== undefined) return json.enum.includes(value as string)
  return json.type === 'string' ? typeof value === 'string' : json.type !== undefined && typeof value === 'number'
}

function isValueOf(value: unknown, json: Json | boolean | undefined): boolean {
  return typeof json === 'object' && isSpeltAs(value, json)
}

/**
 * The value with its keys, choices and numbers spelt as in the schema, if they can be read that way; otherwise
 * unchanged.
 */
function coerced(value: unknown, json: Json, path: readonly string[], twice: string[]): unknown {
  if (isObject(value) && json.properties !== undefined) {
    const made: LooseObject = {}
    const named = Object.entries(value).map(([name, content]) => ({ name: folded(name), content }))
    for (const wanted of keysOf(json)) {
      const { key, inner } = wanted
      const [first, ...others] = valuesOf(named, wanted).map((one) => coerced(one, inner, [...path, key], twice))
      if (others.some((one) => !isDeepStrictEqual(one, first))) twice.push([...path, key].join('.'))
      if (first !== undefined) made[key] = first
    }
    return made
  }
  if (Array.isArray(value) && typeof json.items === 'object' && !Array.isArray(json.items)) {
    const { items } = json
    return value.map((item, index) => coerced(item, items, [...path, String(index)], twice))
  }
  const said = value instanceof BareWord ? value.text : value
  if (typeof said !== 'string') return said
  if (json.enum !== undefined) return choiceIn(said, json.enum) ?? value
  if (json.type === 'number' || json.type === 'integer') return numberIn(said, json) ?? value
  return value
}

/**
 * All of an object's values for a key, under every spelling of it. A deciding value (a choice, a number) counts under
 * each name with the same meaning, so that contradictions are found; for free text another name counts only if its own
 * is missing.
 */
function valuesOf(named: readonly { name: string; content: unknown }[], { inner, own, same }: Key): unknown[] {
  const under = (wanted: (name: string) => boolean) =>
    named.flatMap(({ name, content }) => (wanted(name) ? [content] : []))
  const spelt = under((name) => name === own)
  return spelt.length > 0 && isFree(inner) ? spelt : [...spelt, ...under((name) => same.includes(name))]
}

const MARKS = /^[\s"'“”‘’*_`]+|[\s"'“”‘’*_`.!。！]+$/gu
/** Longest text that can stand for a choice or a number. */
const LONGEST_TEXT = 200
const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu

/** The one choice with the same letters. A question mark is a doubt, a slash means two choices: neither is removed. */
function choiceIn(said: string, choices: readonly unknown[]): unknown {
  if (said.length > LONGEST_TEXT) return undefined
  const letters = (text: string) =>
    narrow(text)
      .replace(UNSEEN, '')
      .toLowerCase()
      .replace(MARKS, '')
      .replace(/(?<=\p{L})[\s_\-‐-―'’]{1,3}(?=\p{L})/gu, '')
  const [only, ...more] = choices.filter((choice) => letters(String(choice)) === letters(said))
  return more.length === 0 ? only : undefined
}

const DECIMAL = String.raw`[+-]?(?:\d{1,17}(?:\.\d{0,17})?|\.\d{1,17})(?:e[+-]?\d{1,3})?`
const PLAIN = new RegExp(`^${DECIMAL}$`)
/** A comma before three digits may be a thousands separator, unless it follows a zero. */
const COMMA = /^([+-]?\d{1,17}),(\d{1,2})$|^([+-]?0),(\d{1,17})$/
const SHARE = new RegExp(`^(${DECIMAL})\\s?(?:%|(?:/|out of|of)\\s?(${DECIMAL}))$`)

function numberIn(said: string, { minimum, maximum }: Json): number | undefined {
  if (said.length > LONGEST_TEXT) return undefined
  const text = narrow(said).replace(UNSEEN, '').toLowerCase().replace(MARKS, '').replace('\u2212', '-')
  if (PLAIN.test(text)) return Number(text)
  const [, whole, decimals, zero, more] = COMMA.exec(text) ?? []
  if (whole !== undefined || zero !== undefined) return Number(`${whole ?? zero}.${decimals ?? more}`)
  const [, share, of] = SHARE.exec(text) ?? []
  if (share === undefined) return undefined
  const total = of === undefined ? 100 : Number(of)
  if (of !== undefined && total === maximum) return Number(share)
  return minimum === 0 && maximum === 1 && total > 0 ? Number(share) / total : undefined
}
