import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { BytesResponse } from './bytes-response.ts'

interface MadeAnswer {
  readonly etag: string
  readonly plain: Buffer<ArrayBuffer>
  readonly gzipped: Buffer<ArrayBuffer>
}

/** Answers that are the same for everybody: made at the first request, once, and compressed once. Who has it already gets 304. */
export function staticAnswer(
  type: string,
  make: () => string | Uint8Array,
  cacheControl = 'no-cache',
): (headers: Headers) => Response {
  let made: MadeAnswer | undefined
  return (headers) => {
    made ??= madeOf(make())
    const { etag, plain, gzipped } = made
    const common = { 'content-type': type, etag, vary: 'accept-encoding', 'cache-control': cacheControl }
    if (hasTag(headers.get('if-none-match') ?? '', etag)) return new Response(null, { status: 304, headers: common })
    const isCompressed = takesGzip(headers.get('accept-encoding') ?? '')
    const bytes = isCompressed ? gzipped : plain
    const encoding: Record<string, string> = isCompressed ? { 'content-encoding': 'gzip' } : {}
    return new BytesResponse(bytes, { headers: { ...common, ...encoding, 'content-length': String(bytes.length) } })
  }
}

function madeOf(made: string | Uint8Array): MadeAnswer {
  const plain = Buffer.from(made)
  // Weak: the compressed form has the same tag.
  const etag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`
  return { etag, plain, gzipped: gzipSync(plain) }
}

/** Longest header of either kind that is looked at, in characters. */
const MOST_CHARS = 2_000

function hasTag(given: string, etag: string): boolean {
  const bare = (tag: string) => tag.trim().replace(/^W\//, '')
  const tags = given.slice(0, MOST_CHARS).split(',')
  return tags.some((tag) => tag.trim() === '*' || bare(tag) === bare(etag))
}

function takesGzip(given: string): boolean {
  return given
    .slice(0, MOST_CHARS)
    .split(',')
    .some((one) => /^\s*(?:gzip|\*)\s*(?:;\s*q=(?!0(?:\.0{0,3})?\s*$)[\d.]{1,5}\s*)?$/i.test(one))
}
