import { Refused } from './problem.ts'

/** Checks that a body is JSON that is read as it comes. */
export function checkBodyHeaders(headers: Headers): void {
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? ''
  if (encoding !== '' && encoding !== 'identity')
    throw new Refused('compressed', 'the body has a Content-Encoding', { headers: CLOSE })
  const [type = '', ...parameters] = (headers.get('content-type') ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  if (!/^application\/(?:[a-z0-9.+-]+\+)?json$/.test(type))
    throw new Refused(
      'content-type',
      type === '' ? 'there is no Content-Type' : 'the Content-Type is not application/json',
    )
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length)
  if (charset !== undefined && !/^"?(?:utf-?8|us-ascii)"?$/.test(charset))
    throw new Refused('content-type', 'the charset is not utf-8')
}

/** Nothing more is read of a connection whose request is not. */
const CLOSE = { connection: 'close' }

/** The body's bytes, `most` of them at most. Rejects with the problem too-large, having read no more than that. */
export async function bodyOf(request: Request, most: number): Promise<Buffer> {
  const tooLarge = () => new Refused('too-large', `the body has more than ${most} bytes`, { headers: CLOSE })
  const length = request.headers.get('content-length')
  // The parser holds a client to the length that it gave.
  if (length !== null) {
    if (!(Number(length) <= most)) throw tooLarge()
    return Buffer.from(await request.arrayBuffer())
  }
  if (request.body === null) return Buffer.alloc(0)
  const parts: Uint8Array[] = []
  let bytes = 0
  const reader = request.body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return Buffer.concat(parts)
    bytes += value.length
    if (bytes > most) {
      void reader.cancel().catch(() => undefined)
      throw tooLarge()
    }
    parts.push(value)
  }
}

const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [...Buffer.from('"\\,[]{}')]

/**
 * The entries of a JSON list, each as its bytes; null where the body is no list. What stands in them is not parsed: each is read by
 * itself, so that none of them can spoil another. Linear in the bytes. Throws the problem of more than `most`.
 */
export function entriesOf(body: Buffer, most: number): Buffer[] | null {
  const first = skipSpace(body, 0)
  if (body[first] !== OPEN_LIST) return null
  const entries: Buffer[] = []
  let [depth, quoted, from] = [0, false, first + 1]
  const end = (to: number) => {
    if (entries.length === most) throw new Refused('too-large', `there are more than ${most} messages`)
    entries.push(body.subarray(from, to))
  }
  for (let at = first; at < body.length; at++) {
    const byte = body[at]
    if (quoted) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) quoted = false
    } else if (byte === QUOTE) quoted = true
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth++
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      if (--depth > 0) continue
      if (byte !== CLOSE_LIST || skipSpace(body, at + 1) !== body.length) break
      if (entries.length > 0 || skipSpace(body, from) < at) end(at)
      return entries
    } else if (byte === COMMA && depth === 1) {
      end(at)
      from = at + 1
    }
  }
  throw new Refused('not-json', 'the list does not end as a list')
}

const COLON = 0x3a
/** More fields, and longer names, are in no body that is read here. */
const [MOST_FIELDS, LONGEST_NAME] = [1_000, 100]

/** The fields of a JSON object, each value as its bytes, of several of one name the last; null where the body is no object. */
export function fieldsOf(body: Buffer): Map<string, Buffer> | null {
  const first = skipSpace(body, 0)
  if (body[first] !== OPEN_OBJECT) return null
  const fields = new Map<string, Buffer>()
  let [depth, quoted, nameFrom, nameTo, valueFrom, count] = [0, false, -1, -1, -1, 0]
  const end = (to: number) => {
    if (valueFrom < 0) return
    if (++count > MOST_FIELDS) throw new Refused('invalid', `more than ${MOST_FIELDS} fields`)
    if (nameTo - nameFrom <= LONGEST_NAME)
      fields.set(nameIn(body.subarray(nameFrom, nameTo + 1)), body.subarray(valueFrom, to))
    valueFrom = -1
  }
  for (let at = first; at < body.length; at++) {
    const byte = body[at]
    if (quoted) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) {
        quoted = false
        if (depth === 1 && valueFrom < 0) nameTo = at
      }
    } else if (byte === QUOTE) {
      quoted = true
      if (depth === 1 && valueFrom < 0) nameFrom = at
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth++
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      if (--depth > 0) continue
      if (byte !== CLOSE_OBJECT || skipSpace(body, at + 1) !== body.length) break
      end(at)
      return fields
    } else if (depth === 1 && byte === COLON && valueFrom < 0) valueFrom = at + 1
    else if (depth === 1 && byte === COMMA) end(at)
  }
  throw new Refused('not-json', 'the object does not end as an object')
}

function nameIn(bytes: Buffer): string {
  try {
    return String(JSON.parse(bytes.toString('utf8')))
  } catch {
    throw new Refused('not-json', 'the name of a field is no JSON')
  }
}

function skipSpace(body: Buffer, from: number): number {
  let at = from
  while (at < body.length && (body[at] === 0x20 || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09)) at++
  return at
}
const strictUtf8 = new TextDecoder('utf-8', { fatal: true })
/** Nested deeper than this, and with more lists, objects and values than that, a body is not parsed: V8 would take seconds. */
const [MOST_DEPTH, MOST_PARTS] = [32, 20_000]

/** A body of a form that others have laid down, parsed as a whole. Refuses what is too deep or holds too many parts. */
export function jsonOf(body: Buffer): unknown {
  let [depth, parts, quoted] = [0, 0, false]
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]
    if (quoted) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) quoted = false
    } else if (byte === QUOTE) quoted = true
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      if (++depth > MOST_DEPTH) throw new Refused('too-deep', `nested deeper than ${MOST_DEPTH} levels`)
      parts++
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
    else if (byte === COMMA) parts++
  }
  if (parts > MOST_PARTS) throw new Refused('too-deep', `holds more than ${MOST_PARTS} values`)
  let text: string
  try {
    text = strictUtf8.decode(body)
  } catch {
    throw new Refused('bad-encoding', 'the body is not UTF-8')
  }
  try {
    return JSON.parse(text)
  } catch {
    throw new Refused('not-json', 'the body is not JSON')
  }
}
