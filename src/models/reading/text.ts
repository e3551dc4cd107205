import { z } from 'zod'
import { looseJson, opensObject, plainObject } from './loose-json.ts'

const THOUGHTS = /^\s*(?:<(think|thinking|thought|analysis|scratchpad)>|\[(THINK)\]|◁(think)▷)/i
/** Ends thoughts that some chat templates have begun already, outside the answer. */
const LONE_END = /<\/think>|\[\/THINK\]|◁\/think▷/i

/** The text without its leading thoughts; empty if they are not closed. */
export function withoutThoughts(text: string): string {
  return thoughtsApart(text, () => true).text
}

/**
 * Leading thoughts in tags, and what follows them; null where there are none. A mark that ends thoughts which nobody began
 * counts unless it is quoted, or the text begins as an answer does.
 */
export function thoughtsApart(
  text: string,
  isQuoted: (mark: string) => boolean,
): { readonly thoughts: string | null; readonly text: string } {
  const tag = THOUGHTS.exec(text)
  if (tag === null) {
    const end = beginsAsAnswer(text) ? null : LONE_END.exec(text)
    if (end === null || isQuoted(end[0])) return { thoughts: null, text }
    return { thoughts: text.slice(0, end.index), text: text.slice(end.index + end[0].length) }
  }
  const [begun, named, bracketed] = tag
  const closing = named !== undefined ? `</${named}>` : bracketed !== undefined ? '[/THINK]' : '◁/think▷'
  const end = text.toLowerCase().indexOf(closing.toLowerCase(), begun.length)
  if (end === -1) return { thoughts: text.slice(begun.length), text: '' }
  return { thoughts: text.slice(begun.length, end), text: text.slice(end + closing.length) }
}

/** Whether a text begins with JSON or a code block, and not with words or thoughts. */
export function beginsAsAnswer(text: string): boolean {
  return /^\s*(?:[{[]|```|~~~)/.test(text)
}

/** A text that is JSON encoded as a JSON string, with or without its outer quotes, decoded; any other text unchanged. */
export function decoded(text: string): string {
  const trimmed = text.trim()
  const quoted = /^"\s*[{[]/.test(trimmed) ? trimmed : /^\{\s*\\+"/.test(trimmed) ? `"${trimmed}"` : undefined
  if (quoted === undefined) return text
  try {
    return z.string().parse(JSON.parse(quoted))
  } catch {
    // It only looked like one, and is read unchanged.
    return text
  }
}

/** The opening line of a fenced code block. */
export const FENCED = /^\s{0,9}(?:```|~~~)\w{0,20}\s*/

/** The array that makes up the whole text, apart from code fences; undefined if there is none. */
export function wholeArray(text: string): unknown[] | undefined {
  const start = FENCED.exec(text)?.[0].length ?? text.search(/\S/)
  if (text.charAt(start) !== '[') return undefined
  const parsed = looseJson(text, start)
  return parsed.ok && Array.isArray(parsed.value) && /^[\s`~]*$/.test(text.slice(parsed.end)) ? parsed.value : undefined
}

/** Every top-level object of a text, and the prose before, between and after them. */
export function objectsIn(text: string): { objects: unknown[]; outside: string[]; why?: string } {
  const plain = plainObject(text)
  if (plain !== undefined) return { objects: [plain], outside: [] }
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

/** Whether an object makes up the whole text, apart from code fences. */
export function isOneObject(text: string): boolean {
  const { objects, outside, why } = objectsIn(text)
  return (
    why === undefined &&
    objects.length === 1 &&
    outside.every((around) => /^\s*(?:(?:```|~~~)\w{0,20}\s*)?$/.test(around))
  )
}

/** A text with more objects is not an answer, and not worth the time. */
const MOST_OBJECTS = 500
const BRACE = /[{｛]/g

function brace(text: string, from: number): number {
  BRACE.lastIndex = from
  return BRACE.exec(text)?.index ?? -1
}
