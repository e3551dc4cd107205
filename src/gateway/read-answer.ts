import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { ModelReply } from '../ports/model.ts'
import { Bare, holdsPlaces, isObject, type LooseObject, looseJson, opensObject } from './loose-json.ts'

export type Reading<Answer> =
  | { readonly readable: true; readonly answer: Answer }
  | { readonly readable: false; readonly why: string }

/** What a reply says: an answer, or the name of what it is instead. */
export type ReplyReading<Answer> =
  | { readonly readable: true; readonly answer: Answer }
  | {
      readonly readable: false
      readonly code: 'refused' | 'content-filter' | 'unreadable'
      readonly why: string
    }

/** A refusal is what the endpoint calls one. One that is written in prose is unreadable like any other prose. */
export function readReply<Answer>(
  { text, finish }: Pick<ModelReply, 'text' | 'finish'>,
  schema: z.ZodType<Answer>,
): ReplyReading<Answer> {
  if (finish === 'refusal') return { readable: false, code: 'refused', why: 'the model refused' }
  if (finish === 'content-filter')
    return { readable: false, code: 'content-filter', why: "the endpoint's filter stopped it" }
  const cut = finish === 'length'
  const reading = readAnswer(text ?? '', schema, { cut })
  if (reading.readable) return reading
  return { readable: false, code: 'unreadable', why: `${reading.why}${cut ? ', cut at the token limit' : ''}` }
}

/**
 * Finds the answer in what a model wrote: the one JSON object in it that fits the schema, else lines `Key: value` that
 * name each of its keys once. Prose, code fences, a wrapper (`{"response": {…}}`) and thoughts in tags at the head stand
 * around it. `why` holds no word of the text. Takes linear time and never throws.
 *
 * It reads what can mean one thing only, and fills nothing in:
 * - keys by their letters (`key_cues` is `keyCues`), or by a name that means the same (`reason`, `rationale`);
 * - a choice by its letters (`Non hate.` is `non-hate`), where exactly one choice has them;
 * - a number in a string, `0,8` as 0.8, and full-width digits; `4/5` as 4 where the scale ends at 5; a share (`80%`,
 *   `8/10`) on a scale from 0 to 1 only. A number beyond the scale was meant on another one, and
 *   is never clamped here.
 *
 * Models quote, and not every model escapes what it quotes: a comment that holds `","answer":"Real"}` may end the answer
 * that quotes it. So it is no answer if anything else in the text looks like one: another object that fits and differs,
 * whichever comes first; an object with some of the keys; a broken object; outside every object a key, or a line that
 * decides. The form of the answer, repeated with `...` or `"Fake" or "Real"`, is none of these. A text that was cut at the
 * token limit must end in its answer.
 */
export function readAnswer<Answer>(
  text: string,
  schema: z.ZodType<Answer>,
  { cut = false }: { cut?: boolean } = {},
): Reading<Answer> {
  const form = formOf(schema)
  const said = decoded(withoutThoughts(text))
  const list = form.list === undefined ? undefined : wholeArray(said)
  if (list !== undefined && form.list !== undefined) {
    const read = fitted({ [form.list]: list }, form, schema)
    if (read.readable) return read
  }

  const { objects, outside, why } = objectsIn(said)
  if (why !== undefined) return unreadable(why)
  if (objects.length > 0 && outside.some((prose) => hasKey(prose, form))) return unreadable('pieces of another answer')
  if (cut && objects.length > 0 && !/^[\s`~]*$/.test(outside.at(-1) ?? ''))
    return unreadable('more text after the last object')
  const read = theOneIn(objects, form, schema)
  if (read !== undefined) return read
  if (objects.length > 0) return unreadable('no object with the keys asked for')
  const lines = cut ? undefined : labelledLines(said, form)
  return lines === undefined ? unreadable('no JSON object') : fitted(lines, form, schema)
}

/** What the objects that have a key of the form agree on; undefined where there are none. */
function theOneIn<Answer>(
  objects: readonly unknown[],
  form: Form,
  schema: z.ZodType<Answer>,
): Reading<Answer> | undefined {
  let found: Extract<Reading<Answer>, { readable: true }> | undefined
  for (const object of objects) {
    const layers = [object, ...unwrapped(object)].filter((layer) => isObject(layer) && hasKeys(layer, form))
    const readings = layers.map((layer) => fitted(layer, form, schema))
    const read = readings.find(({ readable }) => readable) ?? readings.at(-1)
    if (read === undefined || (!read.readable && isForm(object, form))) continue
    if (!read.readable) return read
    if (found === undefined) found = read
    else if (!isDeepStrictEqual(found.answer, read.answer)) return unreadable('several answers that differ')
  }
  return found
}

function unreadable(why: string) {
  return { readable: false, why } as const
}

/** What an answer must look like, as far as reading needs it. */
interface Form {
  readonly json: Json
  /** Every name under which one of its keys may come, folded. */
  readonly names: ReadonlySet<string>
  /** Those of the keys that decide: a choice, a number. */
  readonly decisive: ReadonlySet<string>
  /** Its only key, where that holds a list. */
  readonly list: string | undefined
}
type Json = z.core.JSONSchema.JSONSchema

const forms = new WeakMap<z.ZodType, Form>()

function formOf(schema: z.ZodType): Form {
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

const SAME_MEANING = [
  ['reason', 'reasoning', 'reasons', 'rationale', 'explanation', 'justification'],
  ['label', 'answer', 'verdict', 'finallabel', 'finalanswer', 'finalverdict'],
  ['score', 'riskscore', 'finalscore', 'rating'],
]

/** A key of an object's form. */
interface Key {
  readonly key: string
  readonly inner: Json
  /** Its name, folded. */
  readonly own: string
  /** Names of the same meaning, folded, that are no other key's own. */
  readonly same: readonly string[]
}

const keysKnown = new WeakMap<Json, readonly Key[]>()

function keysOf(json: Json): readonly Key[] {
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

function folded(name: string): string {
  return narrow(name)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
}

/** Full-width letters, digits and punctuation as ASCII. */
function narrow(text: string): string {
  return text.replace(/[\uff01-\uff5e]/g, (char) => String.fromCharCode(char.charCodeAt(0) - 0xfee0))
}

const THOUGHTS = /^\s*<(think|thinking|thought|analysis|scratchpad)>/i

/** What comes after the thoughts at the head of a text; nothing where they have no end. */
function withoutThoughts(text: string): string {
  const tag = THOUGHTS.exec(text)
  if (tag === null) return text
  const closing = `</${tag[1]?.toLowerCase()}>`
  const end = text.toLowerCase().indexOf(closing)
  return end === -1 ? '' : text.slice(end + closing.length)
}

/** A text that is JSON in a JSON string, with or without its outer quotes, as the JSON that it holds. */
function decoded(text: string): string {
  const trimmed = text.trim()
  const quoted = /^"\s*[{[]/.test(trimmed) ? trimmed : /^\{\s*\\+"/.test(trimmed) ? `"${trimmed}"` : undefined
  if (quoted === undefined) return text
  try {
    return z.string().parse(JSON.parse(quoted))
  } catch {
    // It only looked like one; what it is instead is found out by the reader.
    return text
  }
}

const FENCED = /^\s{0,9}(?:```|~~~)\w{0,20}\s*/

/** The array that the whole text is, code fences aside. */
function wholeArray(text: string): unknown[] | undefined {
  const start = FENCED.exec(text)?.[0].length ?? text.search(/\S/)
  if (text.charAt(start) !== '[') return undefined
  const parsed = looseJson(text, start)
  return parsed.ok && Array.isArray(parsed.value) && /^[\s`~]*$/.test(text.slice(parsed.end)) ? parsed.value : undefined
}

/** Every object of a text that is not inside another, and the prose before, between and after them. */
function objectsIn(text: string): { objects: unknown[]; outside: string[]; why?: string } {
  const objects: unknown[] = []
  const outside: string[] = []
  let from = 0
  for (let at = brace(text, 0); at !== -1; ) {
    if (!opensObject(text, at)) {
      at = brace(text, at + 1)
      continue
    }
    if (objects.length === MOST_OBJECTS) return { objects, outside, why: 'too many objects' }
    const parsed = looseJson(text, at)
    if (!parsed.ok) return { objects, outside, why: parsed.why }
    objects.push(parsed.value)
    outside.push(text.slice(from, at))
    from = parsed.end
    at = brace(text, from)
  }
  return { objects, outside: [...outside, text.slice(from)] }
}

/** A text with more of them is no answer, and not worth the time. */
const MOST_OBJECTS = 500
const BRACE = /[{｛]/g

function brace(text: string, from: number): number {
  BRACE.lastIndex = from
  return BRACE.exec(text)?.index ?? -1
}

const KEY =
  /["'“”„‘＂«]([\p{L}_ -]{1,40})["'“”’＂»]\s{0,9}[:：]|["'“”’＂»]\s{0,9}[,，]\s{0,9}([\p{L}_]{1,40})\s{0,9}[:：]/gu

/** Whether prose has a key as an object would have it, or a line that decides. */
function hasKey(prose: string, { names, decisive }: Form): boolean {
  if ([...prose.matchAll(KEY)].some(([, quoted, bare]) => names.has(folded(quoted ?? bare ?? '')))) return true
  return prose.split('\n').some((line) => {
    const [, label = '', rest = ''] = LABEL.exec(line) ?? []
    return decisive.has(folded(label)) && /[\p{L}\p{N}]/u.test(rest)
  })
}

function hasKeys(value: LooseObject, { names }: Form): boolean {
  return Object.keys(value).some((key) => names.has(folded(key)))
}

/** Whether an object repeats the form of the answer: every key that decides holds a place. */
function isForm(value: unknown, { decisive }: Form): boolean {
  const held = isObject(value) ? Object.keys(value).filter((key) => decisive.has(folded(key))) : []
  return held.length > 0 && isObject(value) && held.every((key) => holdsPlaces(value[key]))
}

const WRAPPERS = new Set(
  'answer response result output json data function toolcall toolcalls arguments parameters finalanswer'.split(' '),
)
/** What may stand beside the wrapped. */
const BESIDE = new Set('name type id index role recipient'.split(' '))
/** What stands beside the properties of a JSON Schema. */
const IN_SCHEMAS = new Set('type title description required additionalproperties schema'.split(' '))
const MOST_WRAPPERS = 4

/** What is wrapped in a value, layer by layer: in a key that says so, in a list of one, in a string, in a schema filled in. */
function unwrapped(value: unknown): unknown[] {
  const layers: unknown[] = []
  for (let inner = within(value); inner !== undefined && layers.length < MOST_WRAPPERS; inner = within(inner))
    layers.push(inner)
  return layers
}

function within(value: unknown): unknown {
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

/** The properties of a JSON Schema that hold an answer's values, where a schema's own hold schemas: small models write so. */
function filledIn(value: LooseObject): LooseObject | undefined {
  const { properties, ...beside } = value
  if (!isObject(properties) || Object.values(properties).every(isObject)) return undefined
  return Object.keys(beside).every((key) => IN_SCHEMAS.has(folded(key))) ? properties : undefined
}

const LABEL =
  /^[\s>#*_•-]{0,12}(?:\d{1,2}[.)]\s{0,3})?[*_`"]{0,4}(\p{L}[\p{L} _-]{0,39})[*_`"]{0,4}\s?[:：=][*_`]{0,4}(.*)$/u

/** The answer in lines `Key: value`, for a form without lists; text goes on to the next label, anything else ends with its line. */
function labelledLines(text: string, { json, names }: Form): LooseObject | undefined {
  const keys = keysOf(json)
  if (keys.some(({ inner: { type } }) => type === 'array' || type === 'object')) return undefined
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
    answer[key] = isFree(inner) ? only.value.trim() : new Bare(only.value.trim())
  }
  return answer
}

/** Whether any string will do. */
function isFree({ type, enum: choices }: Json): boolean {
  return type === 'string' && choices === undefined
}

function fitted<Answer>(value: unknown, { json }: Form, schema: z.ZodType<Answer>): Reading<Answer> {
  const twice: string[] = []
  const read = schema.safeParse(mended(value, json, [], twice))
  if (twice[0] !== undefined) return unreadable(`${twice[0]}: comes twice, with two values`)
  if (read.success) return { readable: true, answer: read.data }
  const issue = read.error.issues[0]
  // Our own rules say in their own words what is wrong; zod's messages may quote the answer.
  const what = issue?.code === 'custom' ? issue.message : (issue?.code ?? 'does not fit')
  return unreadable(`${issue?.path.join('.') || 'answer'}: ${what}`)
}

/** The value with its keys, choices and numbers as the schema has them, where they can be read so; else as it was. */
function mended(value: unknown, json: Json, path: readonly string[], twice: string[]): unknown {
  if (isObject(value) && json.properties !== undefined) {
    const made: LooseObject = {}
    const named = Object.entries(value).map(([name, held]) => ({ name: folded(name), held }))
    for (const wanted of keysOf(json)) {
      const { key, inner } = wanted
      const [first, ...others] = valuesOf(named, wanted).map((one) => mended(one, inner, [...path, key], twice))
      if (others.some((one) => !isDeepStrictEqual(one, first))) twice.push([...path, key].join('.'))
      if (first !== undefined) made[key] = first
    }
    return made
  }
  if (Array.isArray(value) && typeof json.items === 'object' && !Array.isArray(json.items)) {
    const { items } = json
    return value.map((item, index) => mended(item, items, [...path, String(index)], twice))
  }
  const said = value instanceof Bare ? value.text : value
  if (typeof said !== 'string') return said
  if (json.enum !== undefined) return choiceIn(said, json.enum) ?? value
  if (json.type === 'number' || json.type === 'integer') return numberIn(said, json) ?? value
  return value
}

/**
 * What an object holds under a key: every spelling of it. What decides (a choice, a number) may not come under another
 * name of the same meaning as well; of a free text, another name counts only where its own is missing.
 */
function valuesOf(named: readonly { name: string; held: unknown }[], { inner, own, same }: Key): unknown[] {
  const under = (wanted: (name: string) => boolean) => named.flatMap(({ name, held }) => (wanted(name) ? [held] : []))
  const spelt = under((name) => name === own)
  return spelt.length > 0 && isFree(inner) ? spelt : [...spelt, ...under((name) => same.includes(name))]
}

const MARKS = /^[\s"'“”‘’*_`]+|[\s"'“”‘’*_`.!。！]+$/gu
/** Longest way to say a choice or a number. */
const LONGEST_SAID = 200
const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu

/** The one choice that has the same letters. A question mark is a doubt, a slash two choices: neither is taken off. */
function choiceIn(said: string, choices: readonly unknown[]): unknown {
  if (said.length > LONGEST_SAID) return undefined
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
/** A comma before three digits may part thousands, unless nought stands before it. */
const COMMA = /^([+-]?\d{1,17}),(\d{1,2})$|^([+-]?0),(\d{1,17})$/
const SHARE = new RegExp(`^(${DECIMAL})\\s?(?:%|(?:/|out of|of)\\s?(${DECIMAL}))$`)

function numberIn(said: string, { minimum, maximum }: Json): number | undefined {
  if (said.length > LONGEST_SAID) return undefined
  const text = narrow(said).replace(UNSEEN, '').toLowerCase().replace(MARKS, '').replace('\u2212', '-')
  if (PLAIN.test(text)) return Number(text)
  const [, whole, decimals, nought, more] = COMMA.exec(text) ?? []
  if (whole !== undefined || nought !== undefined) return Number(`${whole ?? nought}.${decimals ?? more}`)
  const [, part, of] = SHARE.exec(text) ?? []
  if (part === undefined) return undefined
  const total = of === undefined ? 100 : Number(of)
  if (of !== undefined && total === maximum) return Number(part)
  return minimum === 0 && maximum === 1 && total > 0 ? Number(part) / total : undefined
}
