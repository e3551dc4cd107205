/** The signs that give JSON its form. */
export const [COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from(',:[]{}')
const [QUOTE, BACKSLASH] = Buffer.from('"\\')
const [SPACE, TAB, LINE_FEED, CARRIAGE_RETURN] = Buffer.from(' \t\n\r')

/** Goes over the bytes of JSON from sign to sign, without parsing it; what stands within strings is passed over. Linear, and holds nothing. */
export class JsonWalk {
  readonly #json: Buffer
  /** Where the sign stands; the length once there are no more. */
  at = -1
  /** How many lists and objects are open behind the sign. */
  depth = 0
  /** The last string before the sign, with its quotes: its first byte, and the one behind it. */
  stringFrom = 0
  stringTo = 0

  constructor(json: Buffer) {
    this.#json = json
  }

  /** The next sign; 0 if there is none. */
  next(): number {
    const json = this.#json
    for (let at = this.at + 1; at < json.length; at++) {
      const byte = json[at] as number
      if (byte === QUOTE) {
        this.stringFrom = at++
        while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1
        this.stringTo = at + 1
        continue
      }
      if (byte === OPEN_LIST || byte === OPEN_OBJECT) this.depth++
      else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) this.depth--
      else if (byte !== COMMA && byte !== COLON) continue
      this.at = at
      return byte
    }
    this.at = json.length
    return 0
  }
}

/** The first byte from `from` on that is no white space; the length if there is none. */
export function behindSpace(json: Buffer, from: number): number {
  let at = from
  while (json[at] === SPACE || json[at] === LINE_FEED || json[at] === CARRIAGE_RETURN || json[at] === TAB) at++
  return at
}

/**
 * The fields of an object in JSON, each value as it is written, of several of one name the last. What stands in the values is not
 * parsed. Null if it is no object; throws a `SyntaxError` if it does not end as one, and a `RangeError` for more than `most`. Names of
 * more than `longestName` bytes are left out.
 */
export function writtenFields(
  json: Buffer,
  { most = Number.POSITIVE_INFINITY, longestName = Number.POSITIVE_INFINITY } = {},
): Map<string, Buffer> | null {
  if (json[behindSpace(json, 0)] !== OPEN_OBJECT) return null
  const fields = new Map<string, Buffer>()
  const walk = new JsonWalk(json)
  let [count, nameFrom, nameTo, valueFrom] = [0, 0, 0, -1]
  const end = () => {
    if (valueFrom < 0) return
    if (++count > most) throw new RangeError(`more than ${most} fields`)
    const name = json.subarray(nameFrom, nameTo)
    if (name.length - 2 <= longestName)
      fields.set(String(JSON.parse(name.toString())), json.subarray(valueFrom, walk.at))
    valueFrom = -1
  }
  for (let sign = walk.next(); sign !== 0; sign = walk.next()) {
    if (walk.depth === 0) {
      if (sign !== CLOSE_OBJECT || behindSpace(json, walk.at + 1) !== json.length) break
      end()
      return fields
    }
    if (walk.depth > 1) continue
    if (sign === COMMA) end()
    else if (sign === COLON && valueFrom < 0)
      [nameFrom, nameTo, valueFrom] = [walk.stringFrom, walk.stringTo, walk.at + 1]
  }
  throw new SyntaxError('the object does not end as an object')
}

/** What JSON has more of than it may; null if nothing. `depth` counts nested lists and objects, `parts` all of them. */
type Excess = 'depth' | 'parts' | null

/**
 * Whether JSON has more than it may, checked before it is parsed: a megabyte of brackets takes V8 a hundred times as long as a
 * megabyte of text. `fields` counts every field of an object as a part, too: each name of its own costs as much as a list. `values`
 * counts every value. Linear in the text, and not beyond the first excess; any result for what is not JSON.
 */
export function excessOf(
  json: string,
  most: { readonly depth: number; readonly parts: number; readonly fields?: boolean; readonly values?: boolean },
): Excess {
  let [depth, parts] = [0, 0]
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(json, at + 1)
        break
      case OPEN_LIST:
      case OPEN_OBJECT:
        if (++depth > most.depth) return 'depth'
        parts++
        break
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth--
        break
      case COLON:
        if (most.fields === true) parts++
        break
      // A value is the first of its list or object, or stands behind a comma.
      case COMMA:
        if (most.values === true) parts++
    }
    if (parts > most.parts) return 'parts'
  }
  return null
}

const [MINUS, ZERO, NINE] = [0x2d, 0x30, 0x39]
const NUMBER = /[-+.\deE]+/y

/** JSON with the integers that a float would change in quotes, so that their digits stay. Linear in the text; any result for what is not JSON. */
export function withExactNumbers(json: string): string {
  const parts: string[] = []
  let from = 0
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = endOfString(json, at + 1)
    if (code !== MINUS && !(code >= ZERO && code <= NINE)) continue
    NUMBER.lastIndex = at
    const [written = ''] = NUMBER.exec(json) ?? []
    const number = Number(written)
    if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
      parts.push(json.slice(from, at), '"', written, '"')
      from = at + written.length
    }
    at += written.length - 1
  }
  return from === 0 ? json : parts.join('') + json.slice(from)
}

/** Where the string that begins before `from` ends. */
function endOfString(json: string, from: number): number {
  let at = from
  while (at < json.length && json.charCodeAt(at) !== QUOTE) at += json.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at
}
