import { z } from 'zod'
import { hasPlaceholder, isObject, type LooseObject } from './loose-json.ts'

/** The form of an answer, as needed for reading. Names are compared folded: {@link folded}. */
export interface Form {
  readonly json: Json
  /** Every name that may stand for one of its keys. */
  readonly names: ReadonlySet<string>
  /** Names of the deciding keys: a choice, a number. */
  readonly decisive: ReadonlySet<string>
  /** Its only key, if that is a list. */
  readonly list: string | undefined
}

export type Json = z.core.JSONSchema.JSONSchema

const forms = new WeakMap<z.ZodType, Form>()

export function formOf(schema: z.ZodType): Form {
  const known = forms.get(schema)
  if (known !== undefined) return known
  const json = z.toJSONSchema(schema)
  const keys = keysOf(json)
  const [only] = keys
  const form = {
    json,
    names: new Set(keys.flatMap(({ own, same }) => [own, ...same])),
    decisive: new Set(keys.flatMap(({ inner, own, same }) => (isFree(inner) ? [] : [own, ...same]))),
    list: keys.length === 1 && only?.inner.type === 'array' ? only.key : undefined,
  }
  forms.set(schema, form)
  return form
}

/** Names that models use interchangeably, folded. */
const SAME_MEANING = [
  ['reason', 'reasoning', 'reasons', 'rationale', 'explanation', 'justification'],
  ['label', 'answer', 'verdict', 'finallabel', 'finalanswer', 'finalverdict'],
  ['score', 'riskscore', 'finalscore', 'rating'],
]

/** A key of an answer's form. */
export interface Key {
  readonly key: string
  readonly inner: Json
  readonly own: string
  /** Other names with the same meaning, unless they belong to another key. */
  readonly same: readonly string[]
}

const keysKnown = new WeakMap<Json, readonly Key[]>()

export function keysOf(json: Json): readonly Key[] {
  const known = keysKnown.get(json)
  if (known !== undefined) return known
  const properties = Object.entries(json.properties ?? {})
  const owns = properties.map(([key]) => folded(key))
  const keys = properties.flatMap(([key, inner], index) => {
    const own = owns[index] ?? ''
    const same = (SAME_MEANING.find((names) => names.includes(own)) ?? []).filter((name) => !owns.includes(name))
    return typeof inner === 'object' ? [{ key, inner, own, same }] : []
  })
  keysKnown.set(json, keys)
  return keys
}

/** A name reduced to its letters and digits, in lower case. */
export function folded(name: string): string {
  return narrow(name)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
}

/** Full-width letters, digits and punctuation converted to ASCII. */
export function narrow(text: string): string {
  return text.replace(/[\uff01-\uff5e]/g, (char) => String.fromCharCode(char.charCodeAt(0) - 0xfee0))
}

/** Whether any string will do. */
export function isFree({ type, enum: choices }: Json): boolean {
  return type === 'string' && choices === undefined
}

/** Whether an object has any of the form's keys, by any name. */
export function hasKeys(value: LooseObject, { names }: Form): boolean {
  return Object.keys(value).some((key) => names.has(folded(key)))
}

/** Whether an object repeats the answer's format instead of filling it in: every deciding key has a placeholder. */
export function isForm(value: unknown, { decisive }: Form): boolean {
  const decisiveKeys = isObject(value) ? Object.keys(value).filter((key) => decisive.has(folded(key))) : []
  return decisiveKeys.length > 0 && isObject(value) && decisiveKeys.every((key) => hasPlaceholder(value[key]))
}
