import { inflateSync } from 'node:zlib'

const DATA = /^data:image\/png;base64,([A-Za-z0-9+/=]+)$/
const SIGNATURE_BYTES = 8
/** Longest picture that is looked at, in characters of its URL. */
const MAX_CHARS = 10_000

/** The colour of a small plain PNG of red, green and blue that comes as data; null for any other picture, and for black and white. */
export function colourOf(url: string): 'red' | 'green' | 'blue' | null {
  const data = url.length > MAX_CHARS ? undefined : DATA.exec(url)?.[1]
  if (data === undefined) return null
  try {
    const pixels = inflateSync(chunkOf(Buffer.from(data, 'base64'), 'IDAT'), { maxOutputLength: 2 ** 20 })
    // Before the first row stands how it is filtered.
    const [, red = 0, green = 0, blue = 0] = pixels
    if (red > 2 * Math.max(green, blue)) return 'red'
    if (green > 2 * Math.max(red, blue)) return 'green'
    return blue > 2 * Math.max(red, green) ? 'blue' : null
  } catch {
    return null
  }
}

/** The first chunk of this type: its length, its type, what it holds, and a checksum. */
function chunkOf(png: Buffer, wanted: string): Buffer {
  for (let at = SIGNATURE_BYTES; at + 8 <= png.length; ) {
    const length = png.readUInt32BE(at)
    if (png.toString('latin1', at + 4, at + 8) === wanted) return png.subarray(at + 8, at + 8 + length)
    at += length + 12
  }
  throw new RangeError(`no ${wanted}`)
}
