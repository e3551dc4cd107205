import { isDeepStrictEqual } from 'node:util'

/** An unquoted value that is not JSON: `Fake`, `80%`, `NaN`. It is never treated as a string. */
export class BareWord {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Objects have no prototype, so that `__proto__` is a key like any other. */
export type LooseObject = { [key: string]: unknown }

export type ParseResult =
  | { readonly ok: true; readonly value: unknown; readonly end: number }
  | { readonly ok: false; readonly why: string }

/** Stands for `"Fake" or "Real"`: the answer's format repeated instead of filled in. */
const EITHER = new BareWord('...')

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
/** Digits after a comma that follow an integer in an object, where a key or the end must come next. */
const DECIMALS = /[,，](\d{1,17})(?=\s*[,，}｝])/y
const OR = /\s*(?:\bor\b|\|)\s*(?=")/y

/** The character that ends a string, by the one that starts it. */
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

/** A position in a text that advances as the text is read. */
class Cursor {
  readonly text: string
  at: number
  constructor(text: string, at: number) {
    this.text = text
    this.at = at
  }

  malformed(): never {
    throw new Malformed(this.at >= this.text.length ? 'an object that is cut off' : 'an object that is malformed')
  }

  get char(): string {
    return this.text.charAt(this.at)
  }

  /** Matches a sticky pattern here and advances past it. */
  match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)
    if (found !== null) this.at = pattern.lastIndex
    return found
  }

  /** Whether one of `chars` comes next; advances past it. */
  next(chars: string): boolean {
    if (this.at >= this.text.length || !chars.includes(this.char)) return false
    this.at++
    return true
  }

  /** Advances past white space and comments. */
  skip(): void {
    const orEnd = (found: number, length = 0) => (found === -1 ? this.text.length : found + length)
    for (;;) {
      this.match(SPACE)
      if (this.text.startsWith('//', this.at)) this.at = orEnd(this.text.indexOf('\n', this.at))
      else if (this.text.startsWith('/*', this.at)) this.at = orEnd(this.text.indexOf('*/', this.at + 2), 2)
      else return
    }
  }
}

/**
 * Parses the JSON value that begins at `start`, in linear time. Also accepts what is not JSON but can mean only one
 * thing: unquoted keys, single, curved and full-width quotes, full-width punctuation, line ends in strings, comments,
 * trailing commas, and a decimal comma in an object (`"score": 0,8`). An unescaped quote inside a string ends the
 * string, whatever follows. A key that occurs twice with different values is malformed.
 */
export function looseJson(text: string, start: number): ParseResult {
  const cursor = new Cursor(text, start)
  try {
    return { ok: true, value: readValue(cursor, 0, { inObject: false }), end: cursor.at }
  } catch (error) {
    if (error instanceof Malformed) return { ok: false, why: error.message }
    throw error
  }
}

/**
 * The object that a text is if it is plain JSON, one object and nothing else, in which no key comes twice; else undefined.
 * `looseJson` reads the same of it: this is the short way for what models mostly write.
 */
export function plainObject(text: string): LooseObject | undefined {
  const trimmed = text.trim()
  if (!trimmed.startsWith('{') || !trimmed.endsWith('}')) return undefined
  let value: unknown
  try {
    value = JSON.parse(trimmed)
  } catch {
    return undefined
  }
  return isObject(value) && countKeys(value, 0) === countColons(trimmed) ? value : undefined
}

/** The keys of a value at any depth; NaN beyond the depth that is read. */
function countKeys(value: unknown, depth: number): number {
  if (depth > DEEPEST) return Number.NaN
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + countKeys(one, depth + 1), 0)
  if (typeof value !== 'object' || value === null) return 0
  let keys = 0
  for (const one of Object.values(value)) keys += 1 + countKeys(one, depth + 1)
  return keys
}

/** The colons outside of strings in a JSON text: one for each key, also where a key comes twice. */
function countColons(json: string): number {
  let colons = 0
  for (let at = 0; at < json.length; at++) {
    const char = json.charCodeAt(at)
    if (char === COLON) colons++
    else if (char === QUOTE) for (at++; json.charCodeAt(at) !== QUOTE; at++) if (json.charCodeAt(at) === BACKSLASH) at++
  }
  return colons
}

const COLON = 0x3a
const QUOTE = 0x22
const BACKSLASH = 0x5c

function readValue(cursor: Cursor, depth: number, { inObject }: { readonly inObject: boolean }): unknown {
  if (depth > DEEPEST) throw new Malformed('objects too deep in one another')
  cursor.skip()
  if (cursor.next('{｛')) return readObject(cursor, depth)
  if (cursor.next('[［')) return readArray(cursor, depth)
  if (CLOSING.has(cursor.char)) return alternatives(cursor, readString(cursor))
  return readBare(cursor, inObject)
}

function readObject(cursor: Cursor, depth: number): LooseObject {
  const made: LooseObject = Object.create(null)
  for (;;) {
    cursor.skip()
    if (cursor.next('}｝')) return made
    const key = CLOSING.has(cursor.char) ? readString(cursor) : (cursor.match(IDENTIFIER)?.[0] ?? cursor.malformed())
    cursor.skip()
    if (!cursor.next(':：')) cursor.malformed()
    const content = readValue(cursor, depth + 1, { inObject: true })
    if (key in made && !isDeepStrictEqual(made[key], content)) throw new Malformed('a key comes twice, with two values')
    made[key] = content
    cursor.skip()
    if (!cursor.next(',，') && !'}｝'.includes(cursor.char || '?')) cursor.malformed()
  }
}

function readArray(cursor: Cursor, depth: number): unknown[] {
  const made: unknown[] = []
  for (;;) {
    cursor.skip()
    if (cursor.next(']］')) return made
    made.push(readValue(cursor, depth + 1, { inObject: false }))
    cursor.skip()
    if (!cursor.next(',，') && !']］'.includes(cursor.char || '?')) cursor.malformed()
  }
}

function readString(cursor: Cursor): string {
  const { text } = cursor
  const closing = CLOSING.get(text.charAt(cursor.at++)) ?? ''
  let made = ''
  let from = cursor.at
  for (; cursor.at < text.length; cursor.at++) {
    const { char } = cursor
    if (char === '\\') {
      made += text.slice(from, cursor.at++) + readEscaped(cursor)
      from = cursor.at + 1
    } else if (closing.includes(char) && !isApostrophe(cursor)) {
      made += text.slice(from, cursor.at++)
      return made
    }
  }
  return cursor.malformed()
}

/** An apostrophe: a string can't end between two letters. */
function isApostrophe({ text, at, char }: Cursor): boolean {
  return (char === "'" || char === '’') && LETTER.test(text.charAt(at - 1)) && LETTER.test(text.charAt(at + 1))
}

/** The character that a backslash escapes; leaves the cursor at the escape's last character. */
function readEscaped(cursor: Cursor): string {
  const { char } = cursor
  if (char === 'u') {
    const code = cursor.text.slice(cursor.at + 1, cursor.at + 5)
    if (!/^[0-9a-fA-F]{4}$/.test(code)) cursor.malformed()
    cursor.at += 4
    return String.fromCharCode(Number.parseInt(code, 16))
  }
  // Before any other character a backslash is literal, or it escapes the quote that follows.
  return ESCAPES.get(char) ?? (/["'\\/]/.test(char) ? char : `\\${char}`)
}

function alternatives(cursor: Cursor, first: string): string | BareWord {
  if (cursor.match(OR) === null) return first
  do readString(cursor)
  while (cursor.match(OR) !== null)
  return EITHER
}

function readBare(cursor: Cursor, inObject: boolean): unknown {
  const token = (cursor.match(BARE)?.[0] ?? cursor.malformed()).trim()
  if (inObject && /^-?\d{1,17}$/.test(token)) {
    const decimals = cursor.match(DECIMALS)
    if (decimals !== null) return Number(`${token}.${decimals[1]}`)
  }
  if (NUMBER.test(token)) return Number(token)
  if (token === 'true' || token === 'false') return token === 'true'
  return token === 'null' ? null : new BareWord(token)
}

const LETTER = /\p{L}/u

export function isObject(value: unknown): value is LooseObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof BareWord)
}

/** Whether a value is or contains a placeholder: `...` instead of an answer. */
export function hasPlaceholder(value: unknown): boolean {
  if (value instanceof BareWord) return isPlaceholder(value.text)
  if (typeof value === 'string') return isPlaceholder(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasPlaceholder)
}

function isPlaceholder(text: string): boolean {
  return /^(?:\.{3}|…)$/.test(text)
}
