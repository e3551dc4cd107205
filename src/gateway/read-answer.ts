import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'

export type Reading<Answer> =
  | { readonly readable: true; readonly answer: Answer }
  | { readonly readable: false; readonly why: string }

/** Opening braces tried in one text before it counts as unreadable: each may cost a look through the rest of it. */
const MAX_STARTS = 64

/**
 * Finds the answer in what a model wrote: the whole text as JSON, else the one JSON object in it that fits the schema
 * (models wrap answers in prose and code fences). Two that fit and differ are no answer: one may be a quotation. A number or a choice that is written as another kind of string is read
 * as what it says; nothing is filled in. `why` holds no word of the text.
 */
export function readAnswer<Answer>(text: string, schema: z.ZodType<Answer>): Reading<Answer> {
  let why = 'no JSON object'
  let found: Extract<Reading<Answer>, { readable: true }> | undefined
  for (const candidate of candidates(text)) {
    const read = fitted(candidate, schema)
    if (!read.readable) why = read.why
    else if (found === undefined) found = read
    else if (!isDeepStrictEqual(found.answer, read.answer))
      return { readable: false, why: 'several answers that differ' }
  }
  return found ?? { readable: false, why }
}

function* candidates(text: string): Generator<unknown> {
  const whole = parsed(text)
  if (whole !== undefined) {
    yield whole
    return
  }
  let start = text.indexOf('{')
  for (let tried = 0; start !== -1 && tried < MAX_STARTS; tried++) {
    const end = closing(text, start)
    if (end === -1) return
    const value = parsed(text.slice(start, end + 1))
    if (value !== undefined) yield value
    start = text.indexOf('{', end + 1)
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Index of the brace that closes the one at `start`, strings skipped; -1 if the text ends before. */
function closing(text: string, start: number): number {
  let depth = 0
  let quoted = false
  for (let at = start; at < text.length; at++) {
    const char = text[at]
    if (quoted) {
      if (char === '\\') at++
      else if (char === '"') quoted = false
    } else if (char === '"') quoted = true
    else if (char === '{') depth++
    else if (char === '}' && --depth === 0) return at
  }
  return -1
}

function fitted<Answer>(value: unknown, schema: z.ZodType<Answer>): Reading<Answer> {
  const first = schema.safeParse(value)
  if (first.success) return { readable: true, answer: first.data }
  for (const issue of first.error.issues) mend(value, issue)
  const second = schema.safeParse(value)
  if (second.success) return { readable: true, answer: second.data }
  const issue = second.error.issues[0]
  // Our own rules say in their own words what is wrong; zod's messages may quote the answer.
  const what = issue?.code === 'custom' ? issue.message : (issue?.code ?? 'does not fit')
  return { readable: false, why: `${issue?.path.join('.') || 'answer'}: ${what}` }
}

/** Reads `"0.8"` as 0.8 and `"fake."` as Fake, in place, where the schema says that a number or a choice belongs there. */
function mend(root: unknown, issue: z.core.$ZodIssue): void {
  const key = issue.path.at(-1)
  const parent = issue.path
    .slice(0, -1)
    .reduce<unknown>((at, step) => (at as Record<PropertyKey, unknown>)?.[step], root)
  if (key === undefined || typeof parent !== 'object' || parent === null) return
  const holder = parent as Record<PropertyKey, unknown>
  const found = holder[key]
  if (typeof found !== 'string') return
  if (issue.code === 'invalid_type' && (issue.expected === 'number' || issue.expected === 'int')) {
    if (/^\s*[+-]?(\d+(\.\d+)?|\.\d+)\s*$/.test(found)) holder[key] = Number(found)
  } else if (issue.code === 'invalid_value') {
    const said = found.toLowerCase().replace(/^[\s"'*_.]+|[\s"'*_.!]+$/g, '')
    const choice = issue.values.find((value) => String(value).toLowerCase() === said)
    if (choice !== undefined) holder[key] = choice
  }
}
