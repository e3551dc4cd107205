import { isDeepStrictEqual } from 'node:util'

/** A value without quotes that is no JSON: `Fake`, `80%`, `NaN`. It is not taken for a string. */
export class Bare {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Objects have no prototype, so that `__proto__` is a key like any other. */
export type LooseObject = { [key: string]: unknown }

export type Parsed =
  | { readonly ok: true; readonly value: unknown; readonly end: number }
  | { readonly ok: false; readonly why: string }

/** In place of `"Fake" or "Real"`: the answer's format repeated instead of filled in. */
const EITHER = new Bare('...')

const OPENS_OBJECT =
  /[{｛][\s\ufeff\u200b-\u200d\u2060]*(?:[}｝]|["'“”„‘＂«]|\/[/*]|[\p{L}_$][\p{L}\p{N}_$-]{0,60}\s*[:：])/uy

/** Whether an object begins at `at`, rather than a brace in prose. */
export function opensObject(text: string, at: number): boolean {
  OPENS_OBJECT.lastIndex = at
  return OPENS_OBJECT.test(text)
}

const DEEPEST = 32
const SPACE = /[\s\ufeff\u200b-\u200d\u2060]+/y
const IDENTIFIER = /[\p{L}_$][\p{L}\p{N}_$-]*/uy
const BARE = /[^\s,，:：{}｛｝[\]［］"'“”„‘＂«](?:(?!\/\/)[^,，:：{}｛｝[\]［］"“”„＂«\n]){0,80}/y
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** After a whole number in an object, where a key or the end would have to follow. */
const DECIMALS = /[,，](\d{1,17})(?=\s*[,，}｝])/y
const OR = /\s*(?:\bor\b|\|)\s*(?=")/y

/** What ends a string, by what begins it. */
const CLOSING = new Map([
  ['"', '"'],
  ["'", "'"],
  ['“', '”“'],
  ['”', '”'],
  ['„', '“”'],
  ['‘', '’'],
  ['＂', '＂'],
  ['«', '»'],
])
const ESCAPES = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['b', '\b'],
  ['f', '\f'],
])

class Malformed extends Error {}

/**
 * The JSON value that begins at `start`, in linear time. It also accepts what is no JSON but can mean only one thing: keys without
 * quotes, single, curved and full-width quotes, full-width punctuation, line ends in strings, comments, commas before an
 * end, and a decimal comma in an object (`"score": 0,8`). A quote inside a string that is not escaped ends the string,
 * whatever follows. A key that comes twice with two values is malformed.
 */
export function looseJson(text: string, start: number): Parsed {
  let at = start
  const malformed = (): never => {
    throw new Malformed(at >= text.length ? 'an object that is cut off' : 'an object that is malformed')
  }
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found !== null) at = pattern.lastIndex
    return found
  }
  /** Whether one of `chars` comes next; goes on behind it. */
  const next = (chars: string): boolean => {
    if (at >= text.length || !chars.includes(text.charAt(at))) return false
    at++
    return true
  }
  const skip = () => {
    for (;;) {
      match(SPACE)
      if (text.startsWith('//', at)) at = orEnd(text.indexOf('\n', at))
      else if (text.startsWith('/*', at)) at = orEnd(text.indexOf('*/', at + 2), 2)
      else return
    }
  }
  const orEnd = (found: number, length = 0) => (found === -1 ? text.length : found + length)

  function value(depth: number, inObject: boolean): unknown {
    if (depth > DEEPEST) throw new Malformed('objects too deep in one another')
    skip()
    if (next('{｛')) return object(depth)
    if (next('[［')) return array(depth)
    if (CLOSING.has(text.charAt(at))) return alternatives(string())
    return bare(inObject)
  }

  function object(depth: number): LooseObject {
    const made: LooseObject = Object.create(null)
    for (;;) {
      skip()
      if (next('}｝')) return made
      const key = CLOSING.has(text.charAt(at)) ? string() : (match(IDENTIFIER)?.[0] ?? malformed())
      skip()
      if (!next(':：')) malformed()
      const content = value(depth + 1, true)
      if (key in made && !isDeepStrictEqual(made[key], content))
        throw new Malformed('a key comes twice, with two values')
      made[key] = content
      skip()
      if (!next(',，') && !'}｝'.includes(text.charAt(at) || '?')) malformed()
    }
  }

  function array(depth: number): unknown[] {
    const made: unknown[] = []
    for (;;) {
      skip()
      if (next(']］')) return made
      made.push(value(depth + 1, false))
      skip()
      if (!next(',，') && !']］'.includes(text.charAt(at) || '?')) malformed()
    }
  }

  function string(): string {
    const opening = text.charAt(at++)
    const closing = CLOSING.get(opening) ?? ''
    let made = ''
    let from = at
    for (; at < text.length; at++) {
      const char = text.charAt(at)
      if (char === '\\') {
        made += text.slice(from, at++) + escaped()
        from = at + 1
      } else if (closing.includes(char) && !isApostrophe(char)) {
        made += text.slice(from, at++)
        return made
      }
    }
    return malformed()
  }

  /** Between two letters no string can end. */
  function isApostrophe(char: string): boolean {
    return (char === "'" || char === '’') && LETTER.test(text.charAt(at - 1)) && LETTER.test(text.charAt(at + 1))
  }

  function escaped(): string {
    const char = text.charAt(at)
    if (char === 'u') {
      const code = text.slice(at + 1, at + 5)
      if (!/^[0-9a-fA-F]{4}$/.test(code)) malformed()
      at += 4
      return String.fromCharCode(Number.parseInt(code, 16))
    }
    // A backslash before anything else was meant as one, or for the quote behind it.
    return ESCAPES.get(char) ?? (/["'\\/]/.test(char) ? char : `\\${char}`)
  }

  function alternatives(first: string): string | Bare {
    if (match(OR) === null) return first
    do string()
    while (match(OR) !== null)
    return EITHER
  }

  function bare(inObject: boolean): unknown {
    const token = (match(BARE)?.[0] ?? malformed()).trim()
    if (inObject && /^-?\d{1,17}$/.test(token)) {
      const decimals = match(DECIMALS)
      if (decimals !== null) return Number(`${token}.${decimals[1]}`)
    }
    if (NUMBER.test(token)) return Number(token)
    if (token === 'true' || token === 'false') return token === 'true'
    return token === 'null' ? null : new Bare(token)
  }

  try {
    return { ok: true, value: value(0, false), end: at }
  } catch (error) {
    if (error instanceof Malformed) return { ok: false, why: error.message }
    throw error
  }
}

const LETTER = /\p{L}/u

export function isObject(value: unknown): value is LooseObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Bare)
}

/** Whether a value is a placeholder, or has one in it: `...` instead of an answer. */
export function hasPlaceholder(value: unknown): boolean {
  if (value instanceof Bare) return isPlaceholder(value.text)
  if (typeof value === 'string') return isPlaceholder(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasPlaceholder)
}

function isPlaceholder(text: string): boolean {
  return /^(?:\.{3}|…)$/.test(text)
}
