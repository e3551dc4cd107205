import {
  behindSpace,
  CLOSE_LIST,
  COMMA,
  JsonWalk,
  OPEN_LIST,
  OPEN_OBJECT,
  writtenFields,
} from '../contracts/facts/json-walk.ts'
import { faultInJson } from '../contracts/facts/not-json.ts'
import { RequestRefused } from './problem.ts'

/** Checks that a body is JSON that is read as it comes; `mayBeUntyped`: also where no header says that it is JSON. */
export function checkBodyHeaders(headers: Headers, mayBeUntyped = false): void {
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? ''
  if (encoding !== '' && encoding !== 'identity')
    throw new RequestRefused('compressed', 'the body has a Content-Encoding', { headers: CLOSE })
  const [type = '', ...parameters] = (headers.get('content-type') ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  if (mayBeUntyped && !headers.has('content-type')) return
  if (!/^application\/(?:[a-z0-9.+-]+\+)?json$/.test(type))
    throw new RequestRefused(
      'content-type',
      type === '' ? 'there is no Content-Type' : 'the Content-Type is not application/json',
    )
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length)
  if (charset !== undefined && !/^"?(?:utf-?8|us-ascii)"?$/.test(charset))
    throw new RequestRefused('content-type', 'the charset is not utf-8')
}

/** Nothing more is read of a connection whose request is not. */
export const CLOSE = { connection: 'close' }

/** Room for bodies that are held in memory. */
export interface BodyRoom {
  /** Takes room for so many more bytes of a body of this tenant. Throws the problem of too many. */
  take(tenant: string, bytes: number): void
  free(tenant: string, bytes: number): void
}

/** Room for so many bytes in all, half of them for one tenant. */
export function bodyRoom(most: number): BodyRoom {
  const ofTenant = new Map<string, number>()
  let all = 0
  return {
    take(tenant, bytes) {
      const own = ofTenant.get(tenant) ?? 0
      if (all + bytes > most || own + bytes > most / 2)
        throw new RequestRefused('back-pressure', 'too many bytes of other requests are held', {
          retryAfter: 1,
          headers: CLOSE,
        })
      all += bytes
      ofTenant.set(tenant, own + bytes)
    },
    free(tenant, bytes) {
      all -= bytes
      const left = (ofTenant.get(tenant) ?? 0) - bytes
      if (left > 0) ofTenant.set(tenant, left)
      else ofTenant.delete(tenant)
    },
  }
}

/**
 * The body's bytes, `most` of them at most, without a byte order mark; `take` gets the number of all before they are read. Rejects with the
 * problem too-large, having read no more than that.
 */
export async function bodyOf(request: Request, most: number, take: (bytes: number) => void): Promise<Buffer> {
  const tooLarge = () => new RequestRefused('too-large', `the body has more than ${most} bytes`, { headers: CLOSE })
  const length = request.headers.get('content-length')
  // The parser holds a client to the length that it gave.
  if (length !== null) {
    if (!(Number(length) <= most)) throw tooLarge()
    take(Number(length))
    return withoutMark(Buffer.from(await request.arrayBuffer()))
  }
  if (request.body === null) return Buffer.alloc(0)
  const parts: Uint8Array[] = []
  let bytes = 0
  const reader = request.body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return withoutMark(Buffer.concat(parts))
    bytes += value.length
    try {
      if (bytes > most) throw tooLarge()
      take(value.length)
    } catch (error) {
      void reader.cancel().catch(() => undefined)
      throw error
    }
    parts.push(value)
  }
}

const MARK = Buffer.from('\u{FEFF}')

function withoutMark(body: Buffer): Buffer {
  return body.subarray(0, MARK.length).equals(MARK) ? body.subarray(MARK.length) : body
}

/**
 * The entries of a JSON list, each as its bytes; null where the body is no list. What stands in them is not parsed: each is read by
 * itself, so that none of them can spoil another. Linear in the bytes. Throws the problem of more than `most`.
 */
export function entriesOf(body: Buffer, most: number): Buffer[] | null {
  const first = behindSpace(body, 0)
  if (body[first] !== OPEN_LIST) return null
  const entries: Buffer[] = []
  const walk = new JsonWalk(body)
  let from = first + 1
  const end = () => {
    if (entries.length === most) throw new RequestRefused('too-large', `there are more than ${most} messages`)
    entries.push(body.subarray(from, walk.at))
    from = walk.at + 1
  }
  for (let sign = walk.next(); sign !== 0; sign = walk.next()) {
    if (walk.depth === 0) {
      if (sign !== CLOSE_LIST || behindSpace(body, walk.at + 1) !== body.length) break
      if (entries.length > 0 || behindSpace(body, from) < walk.at) end()
      return entries
    }
    if (sign === COMMA && walk.depth === 1) end()
  }
  throw new RequestRefused('not-json', 'the list does not end as a list')
}

/** More fields, and longer names, are in no body that is read here. */
const MOST = { most: 1_000, longestName: 100 }

/** The fields of a JSON object, each value as its bytes, of several of one name the last; null where the body is no object. */
export function fieldsOf(body: Buffer): Map<string, Buffer> | null {
  try {
    return writtenFields(body, MOST)
  } catch (error) {
    if (error instanceof RangeError) throw new RequestRefused('invalid', error.message)
    throw new RequestRefused('not-json', 'the object does not end as an object, or the name of a field is no JSON')
  }
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })
/** Nested deeper than this, and with more lists, objects and values than that, a body is not parsed: V8 would take seconds. */
const [MOST_DEPTH, MOST_PARTS] = [32, 20_000]

/**
 * A body of a form that others have laid down, parsed as a whole. Refuses what is too deep or holds too many parts. What is no JSON is
 * tried once more as `mended` makes it.
 */
export function jsonOf(body: Buffer, mended?: (text: string) => string): unknown {
  const walk = new JsonWalk(body)
  let parts = 0
  for (let sign = walk.next(); sign !== 0; sign = walk.next()) {
    if (walk.depth > MOST_DEPTH) throw new RequestRefused('too-deep', `nested deeper than ${MOST_DEPTH} levels`)
    if (sign === COMMA || sign === OPEN_LIST || sign === OPEN_OBJECT) parts++
  }
  if (parts > MOST_PARTS) throw new RequestRefused('too-deep', `holds more than ${MOST_PARTS} values`)
  let text: string
  try {
    text = strictUtf8.decode(body)
  } catch {
    throw new RequestRefused('bad-encoding', 'the body is not UTF-8')
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    if (mended !== undefined) return jsonOf(Buffer.from(mended(text)))
    const detail = body.length === 0 ? 'the body is empty' : `the body is not JSON${faultInJson(text, error)}`
    throw new RequestRefused('not-json', detail)
  }
}
