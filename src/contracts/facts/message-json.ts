import { CLOSE_LIST, CLOSE_OBJECT, COLON, COMMA, JsonWalk, OPEN_LIST, OPEN_OBJECT, writtenFields } from './json-walk.ts'

/** Fields in which a number is read as it was written: platforms number what they keep, and beyond 2^53 digits would be lost. */
const AS_WRITTEN = ['id', 'postId', 'parentId', 'subjectId', 'actionId', 'author', 'by', 'text', 'hateSpeech'] as const

/**
 * The JSON of one message or one line of a file. A number in a field of {@link AS_WRITTEN} becomes the string of its
 * digits: `{"id": 267081518403440641}` has the id "267081518403440641". Throws a `SyntaxError` if it is not JSON.
 */
export function parseMessage(text: string): unknown {
  const parsed: unknown = JSON.parse(text)
  if (!isObject(parsed) || !AS_WRITTEN.some((field) => hasNumber(parsed[field], field))) return parsed
  // Of these fields alone: a callback for each number costs fifty times as much as its parsing.
  const written = writtenFields(Buffer.from(text))
  for (const field of AS_WRITTEN)
    if (hasNumber(parsed[field], field))
      parsed[field] = JSON.parse(written?.get(field)?.toString() ?? 'null', sourceOfNumber)
  return parsed
}

/**
 * The messages that `listed` finds in one JSON text, each as {@link parseMessage} reads it. Throws a `SyntaxError` if it is not JSON,
 * and what `listed` throws.
 */
export function parseMessages(text: string, listed: (json: unknown) => unknown[]): unknown[] {
  const parsed = listed(JSON.parse(text))
  const isOdd = (one: unknown) => isObject(one) && AS_WRITTEN.some((field) => hasNumber(one[field], field))
  if (!parsed.some(isOdd)) return parsed
  // The same text has the same messages.
  const written = listed(JSON.parse(text, sourceOfNumber)) as Record<string, unknown>[]
  for (const [at, one] of parsed.entries())
    if (isObject(one))
      for (const field of AS_WRITTEN) if (hasNumber(one[field], field)) one[field] = written[at]?.[field]
  return parsed
}

/** An author that is an object is distinguished from others by all of its content. */
function hasNumber(value: unknown, field: string): boolean {
  return typeof value === 'number' || (field === 'author' && typeof value === 'object' && value !== null)
}

function sourceOfNumber(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' ? (context?.source ?? String(value)) : value
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Nested deeper than this, a field of a message holds nothing that is read. */
export const MAX_DEPTH = 32
/** More lists and objects than this, and values within them, are not parsed in one message. */
const MAX_PARTS = 20_000
/** Most fields of a message of which those that nobody knows are parsed. */
const MAX_FIELDS = 2_000
/** Of this field the first entries are read however many there are; values without lists and objects are quickly parsed. */
const READ_IN_PART = 'media'
/** In place of a value that is nested too deep, or holds too much: no field takes it. */
const TOO_DEEP = Buffer.from('[[]]')
/** In place of fields that nobody knows. */
const NOTHING = Buffer.from('"":0')

/**
 * The JSON of a message with {@link TOO_DEEP} in place of each field's value that is nested deeper than
 * {@link MAX_DEPTH}, or takes the lists, objects and values of the message above {@link MAX_PARTS}; null if there are such
 * depths outside of its fields. Of the fields beyond {@link MAX_FIELDS} only those of `known` names are in it. V8 needs a
 * hundred times longer for brackets than for other text, and thirty times for names that it has not met. Linear in the
 * message's bytes.
 */
export function withoutDeepFields(json: Buffer, known?: ReadonlySet<string>): Buffer | null {
  if (json.length <= 2 * MAX_DEPTH) return json
  const kept: Buffer[] = []
  const walk = new JsonWalk(json)
  let [deepest, from, valueFrom] = [0, 0, -1]
  // Of this field, and of those before it that are kept.
  let [parts, keptParts] = [0, 0]
  let [fields, nameFrom, isUnknown, isPart, afterUnknown] = [0, 0, false, false, false]
  /** Ends the value of a field; false if what is too deep is not the value of one. */
  const endValue = (to: number) => {
    const tooDeep = deepest > MAX_DEPTH || keptParts + parts > MAX_PARTS
    if (tooDeep && valueFrom < 0) return false
    const isGone = isUnknown && valueFrom >= 0
    if (isGone) {
      // Of several in a row the first stands for all.
      if (!afterUnknown) kept.push(json.subarray(from, nameFrom), NOTHING)
      from = to
    } else if (tooDeep) {
      kept.push(json.subarray(from, valueFrom), TOO_DEEP)
      from = to
    } else keptParts += parts
    afterUnknown = isGone
    deepest = 0
    parts = 0
    valueFrom = -1
    isUnknown = false
    isPart = false
    return true
  }
  for (let sign = walk.next(); sign !== 0; sign = walk.next()) {
    const { at, depth } = walk
    if (sign === OPEN_LIST || sign === OPEN_OBJECT) {
      parts++
      deepest = Math.max(deepest, depth - 1)
    } else if (sign === CLOSE_LIST || sign === CLOSE_OBJECT) {
      if (depth === 0 && !endValue(at)) return null
    } else if (sign === COMMA && depth > 1) {
      if (!isPart) parts++
    } else if (depth === 1 && sign === COLON) {
      valueFrom = at + 1
      nameFrom = walk.stringFrom
      const name = json.toString('latin1', nameFrom + 1, walk.stringTo - 1)
      isPart = name === READ_IN_PART
      isUnknown = ++fields > MAX_FIELDS && known !== undefined && !known.has(name)
    } else if (depth === 1 && !endValue(at)) return null
  }
  if (!endValue(json.length)) return null
  return kept.length === 0 ? json : Buffer.concat([...kept, json.subarray(from)])
}
