import { z } from 'zod'
import { scales } from '../contracts/facts/scales.ts'
import { isObject } from './reading/loose-json.ts'

/** A score in an answer: its place in the form, and where on its scale it stands, 0 at the lowest and 1 at the highest. */
export interface ScaledNumber {
  readonly path: readonly string[]
  readonly scale: string
  /** Below 0 or above 1 if only another scale has the number. */
  readonly position: number
  /** The answer counts without it. */
  readonly isAside: boolean
}

type Json = z.core.JSONSchema.JSONSchema & { readonly scale?: unknown; readonly aside?: unknown }
const described = new WeakMap<z.ZodType, { readonly json: Json; readonly names: readonly string[] }>()

function describe(answer: z.ZodType) {
  const known = described.get(answer)
  if (known !== undefined) return known
  const json: Json = z.toJSONSchema(answer, { metadata: scales })
  const made = { json, names: [...new Set(namesIn(json))] }
  described.set(answer, made)
  return made
}

/** The names of the scales in an answer's form, each once. */
export function scalesOf(answer: z.ZodType): readonly string[] {
  return describe(answer).names
}

function namesIn(json: Json): string[] {
  const own = typeof json.scale === 'string' && json.aside !== true ? [json.scale] : []
  const inner = [...Object.values(json.properties ?? {}), json.items]
  return [...own, ...inner.flatMap((one) => (isForm(one) ? namesIn(one) : []))]
}

/** The scores in what was answered in this form, in their order. */
export function scaledNumbers(value: unknown, answer: z.ZodType): ScaledNumber[] {
  const { json, names } = describe(answer)
  return names.length === 0 ? [] : numbersIn(value, json, [])
}

function numbersIn(value: unknown, json: Json, path: readonly string[]): ScaledNumber[] {
  const { scale, aside, properties = {}, items } = json
  if (typeof value === 'number' && typeof scale === 'string') {
    const [lowest = 0, highest = 0] = scale.split(' to ').map(Number)
    return [{ path, scale, position: (value - lowest) / (highest - lowest), isAside: aside === true }]
  }
  if (Array.isArray(value))
    return isForm(items) ? value.flatMap((one, at) => numbersIn(one, items, [...path, String(at)])) : []
  if (!isObject(value)) return []
  return Object.entries(properties).flatMap(([key, inner]) =>
    isForm(inner) ? numbersIn(value[key], inner, [...path, key]) : [],
  )
}

function isForm(json: unknown): json is Json {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}
