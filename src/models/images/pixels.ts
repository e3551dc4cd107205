/** A segment, chunk or frame of an image. What it says nothing of is 0. */
interface ImagePart {
  readonly width?: number
  readonly height?: number
  /** Frames up to here. */
  readonly frames?: number
}

/**
 * The pixels that an image has once it is decoded: its largest width times its largest height times its frames, or times what takes
 * as long to decode. 0 if it names no size. The whole image is read once, from part to part, since a frame may be larger than the header says, and a header may name
 * fewer frames than follow. Reading ends as soon as there are more than `most`. Nothing is decompressed.
 */
export function pixelsOf(parts: Iterable<ImagePart>, most = Number.POSITIVE_INFINITY): number {
  const largest = { width: 0, height: 0, frames: 1 }
  let pixels = 0
  for (const { width = 0, height = 0, frames = 0 } of parts) {
    largest.width = Math.max(largest.width, width)
    largest.height = Math.max(largest.height, height)
    largest.frames = Math.max(largest.frames, frames)
    pixels = largest.width * largest.height * largest.frames
    if (pixels > most) break
  }
  return pixels
}

/** Decoders take the size from IHDR, which comes first. A frame of an APNG lies within it. */
export function* pngParts(png: Buffer): Generator<ImagePart> {
  if (nameAt(png, 12) !== 'IHDR') return
  yield { width: big(png, 16, 4), height: big(png, 20, 4) }
  let frames = 0
  for (let at = 8; at < png.length; at += 12 + big(png, at, 4)) {
    const name = nameAt(png, at + 4)
    if (name === 'IEND') return
    if (name === 'acTL') yield { frames: big(png, at + 8, 4) }
    else if (name === 'fcTL') yield { frames: ++frames }
    else yield {}
  }
}

/** Markers that no length follows: stuffing, TEM, restarts and SOI. */
const isBare = (marker: number) => marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd8)
/** SOF0 to SOF15, among which DHT, JPG and DAC have their numbers. */
const isFrameHeader = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
const [FILL, START_OF_SCAN, END_OF_IMAGE] = [0xff, 0xda, 0xd9]

/** Scans of a JPEG that cost as much as a frame: each goes over the whole image. Few files have more. */
const SCANS_OF_FRAME = 16

/**
 * Its segments, of which those up to the first scan may state a size. Like decoders it looks for the next marker where a segment
 * ends: in the data of a scan, which may be one of many, only bare markers stand.
 */
export function* jpegParts(jpeg: Buffer): Generator<ImagePart> {
  let scans = 0
  for (let at = jpeg.indexOf(FILL, 2); at !== -1; ) {
    const marker = big(jpeg, at + 1, 1)
    if (marker === END_OF_IMAGE) return
    if (marker === START_OF_SCAN) yield { frames: Math.ceil(++scans / SCANS_OF_FRAME) }
    else if (scans === 0 && isFrameHeader(marker)) yield { width: big(jpeg, at + 7, 2), height: big(jpeg, at + 5, 2) }
    else if (marker !== FILL && !isBare(marker)) yield {}
    at =
      marker === FILL
        ? lastFill(jpeg, at + 1)
        : jpeg.indexOf(FILL, at + 2 + (isBare(marker) ? 0 : big(jpeg, at + 2, 2)))
  }
}

/** Where a run of filling ends that goes on here: megabytes of it may stand before a marker. */
function lastFill(jpeg: Buffer, from: number): number {
  let at = from
  while (jpeg[at + 1] === FILL) at++
  return at
}

const [GIF_FRAME, GIF_EXTENSION, GIF_END] = [0x2c, 0x21, 0x3b]

/** Its screen, and every frame: decoders enlarge the screen for a frame that does not fit. */
export function* gifParts(gif: Buffer): Generator<ImagePart> {
  yield { width: little(gif, 6, 2), height: little(gif, 8, 2) }
  let frames = 0
  let at = 13 + colours(gif, 10)
  while (at < gif.length) {
    const kind = gif[at]
    if (kind === GIF_END) return
    if (kind === GIF_FRAME) {
      const [left, top] = [little(gif, at + 1, 2), little(gif, at + 3, 2)]
      yield { width: left + little(gif, at + 5, 2), height: top + little(gif, at + 7, 2), frames: ++frames }
      at = afterBlocks(gif, at + 11 + colours(gif, at + 9))
    } else if (kind === GIF_EXTENSION) {
      yield {}
      at = afterBlocks(gif, at + 2)
    } else at++
  }
}

/** The bytes of the table of colours that these flags tell of. */
function colours(gif: Buffer, at: number): number {
  const flags = little(gif, at, 1)
  return flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0
}

function afterBlocks(gif: Buffer, first: number): number {
  let at = first
  for (let length = little(gif, at, 1); length > 0; length = little(gif, at, 1)) at += 1 + length
  return at + 1
}

/** What a WebP may begin with. Decoders look no further for a picture behind anything else. */
const WEBP_BEGINS = ['VP8 ', 'VP8L', 'VP8X']

/** The size of its canvas and its bitstreams, and every frame of an animation. */
export function* webpParts(webp: Buffer): Generator<ImagePart> {
  if (!WEBP_BEGINS.includes(nameAt(webp, 12))) return
  let frames = 0
  for (let at = 12; at < webp.length; at += 8 + 2 * Math.ceil(little(webp, at + 4, 4) / 2)) {
    const inside = at + 8
    switch (nameAt(webp, at)) {
      case 'VP8X':
        yield { width: 1 + little(webp, inside + 4, 3), height: 1 + little(webp, inside + 7, 3) }
        break
      case 'ANMF':
        yield {
          width: 2 * little(webp, inside, 3) + 1 + little(webp, inside + 6, 3),
          height: 2 * little(webp, inside + 3, 3) + 1 + little(webp, inside + 9, 3),
          frames: ++frames,
        }
        break
      case 'VP8 ':
        yield { width: little(webp, inside + 6, 2) & 0x3fff, height: little(webp, inside + 8, 2) & 0x3fff }
        break
      case 'VP8L': {
        const sizes = little(webp, inside + 1, 4)
        yield { width: 1 + (sizes & 0x3fff), height: 1 + ((sizes >>> 14) & 0x3fff) }
        break
      }
      default:
        yield {}
    }
  }
}

function nameAt(image: Buffer, at: number): string {
  return image.toString('latin1', at, at + 4)
}

/** The number in so many bytes, the most significant first. Bytes behind the end are 0. */
function big(image: Buffer, at: number, bytes: number): number {
  let number = 0
  for (let nth = 0; nth < bytes; nth++) number = number * 256 + (image[at + nth] ?? 0)
  return number
}

/** The same, the least significant first. */
function little(image: Buffer, at: number, bytes: number): number {
  let number = 0
  for (let nth = bytes - 1; nth >= 0; nth--) number = number * 256 + (image[at + nth] ?? 0)
  return number
}
