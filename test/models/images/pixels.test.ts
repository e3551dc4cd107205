import { describe, expect, test } from 'vitest'
import { gifParts, jpegParts, pixelsOf, pngParts, webpParts } from '../../../src/models/images/pixels.ts'
import {
  gif,
  jpeg,
  jpegComment,
  jpegHeader,
  jpegScan,
  png,
  WEBP_CHUNKS,
  webp,
  webpChunk,
} from '../../support/pictures.ts'

const { lossy, lossless, canvas, frame } = WEBP_CHUNKS
const SMALL = { width: 50, height: 50 }
const times = <Made>(count: number, made: Made) => Array.from({ length: count }, () => made)
const READERS = { png: pngParts, jpeg: jpegParts, gif: gifParts, webp: webpParts }
type Kind = keyof typeof READERS

/** Pictures of 40 by 30 pixels, as Pillow 13 wrote them. */
const WRITTEN: readonly [string, Kind, number, string][] = [
  [
    'PNG',
    'png',
    1,
    'iVBORw0KGgoAAAANSUhEUgAAACgAAAAeCAIAAADRv8uKAAAAMklEQVR4nO3NAQ0AMAzDsHT8OfcsNl2KCThtSViX7p8AzNFrbGxsbGxsbGxsbGz8U/wAyU0EOVTevOUAAAAASUVORK5CYII=',
  ],
  [
    'APNG of three frames',
    'png',
    3,
    'iVBORw0KGgoAAAANSUhEUgAAACgAAAAeCAIAAADRv8uKAAAACGFjVEwAAAADAAAAAM7tusAAAAAaZmNUTAAAAAAAAAAoAAAAHgAAAAAAAAAAAAAAAQAAg2dBmgAAADJJREFUeJztzQENADAMw7B0/Dn3LDZdigk4bUlYl+6fAMzRa2xsbGxsbGxsbGxs/FP8AMlNBDlU3rzlAAAAGmZjVEwAAAABAAAAKAAAAB4AAAAAAAAAAAAAAAEAABgUq04AAAA0ZmRBVAAAAAJ4nO3PgQkAMAzDsHT//9yeEQbyA8KTbBq9JNugp3kMBoPBYDAYDAaDwZ/ABzvZBDf7a3kRAAAAGmZjVEwAAAADAAAAKAAAAB4AAAAAAAAAAAAAAAEAAPWCeKcAAAA5ZmRBVAAAAAR4nO3QwQ0AIAgAMXBx3Rx/jiAx9hZochkrWho97IFr1mU4f10NBoPBYDAYDAaDX4Q3/nQDuDtnvtkAAAAASUVORK5CYII=',
  ],
  [
    'JPEG',
    'jpeg',
    1,
    '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71////m8H////6/+b9//j/2wBDASstLTw1PHZBQXb4pYyl+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj/wAARCAAeACgDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAT/xAAXEAEBAQEAAAAAAAAAAAAAAAAAAREx/8QAFgEBAQEAAAAAAAAAAAAAAAAAAAQF/8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAwDAQACEQMRAD8Alttttu29tATtgAAAAAAAAAB//9k=',
  ],
  [
    'progressive JPEG',
    'jpeg',
    1,
    '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71////m8H////6/+b9//j/2wBDASstLTw1PHZBQXb4pYyl+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj/wgARCAAeACgDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAP/xAAWAQEBAQAAAAAAAAAAAAAAAAAAAwT/2gAMAwEAAhADEAAAAZCewAAAAD//xAAUEAEAAAAAAAAAAAAAAAAAAABA/9oACAEBAAEFAif/xAAUEQEAAAAAAAAAAAAAAAAAAAAg/9oACAEDAQE/AV//xAAUEQEAAAAAAAAAAAAAAAAAAAAg/9oACAECAQE/AV//xAAUEAEAAAAAAAAAAAAAAAAAAABA/9oACAEBAAY/Aif/xAAUEAEAAAAAAAAAAAAAAAAAAABA/9oACAEBAAE/ISf/2gAMAwEAAgADAAAAEAAAAAAP/8QAFBEBAAAAAAAAAAAAAAAAAAAAIP/aAAgBAwEBPxBf/8QAFBEBAAAAAAAAAAAAAAAAAAAAIP/aAAgBAgEBPxBf/8QAFxABAAMAAAAAAAAAAAAAAAAAARExQP/aAAgBAQABPxBVVWVtcn//2Q==',
  ],
  [
    'GIF of three frames',
    'gif',
    3,
    'R0lGODlhKAAeAIEAAP////8AAAAAAAAAACH/C05FVFNDQVBFMi4wAwEAAAAsAAAAACgAHgAACDsAAQQYSLCgwYMIEypcyLChw4cQI0qcSLGixYsYM2rcyLGjx48gQ4ocSbKkyZMoU6pcybKly5cwY2IMCAAh+QQBAAACACwAAAAAKAAeAIH///8AAP8AAAAAAAAIPAADCBxIsKDBgwgLAkjIsKHDhxAjSpxIsaLFixgzatzIsaPHjyBDihxJsqTJkyhTqlzJsqXLlzBjyqQYEAAh+QQBAAACACwAAAAAKAAeAIH///8AgAAAAAAAAAAIPAADCBxIsKDBgwgTKlzIkCCAhhAjSpxIsaLFixgzatzIsaPHjyBDihxJsqTJkyhTqlzJsqXLlzBjyqwYEAA7',
  ],
  [
    'WebP, lossy',
    'webp',
    1,
    'UklGRkwAAABXRUJQVlA4IEAAAAAwAwCdASooAB4AP3G202G0rqomJWgCkC4JZQDImA8KmggAAP7gws6wsE+eqjscnP/qv+IL+IKwoaDGuviAAAAA',
  ],
  ['WebP, lossless', 'webp', 1, 'UklGRiYAAABXRUJQVlA4TBkAAAAvJ0AHAA8w//M///MfWhASJPj/uzmi/5knAA=='],
  [
    'WebP with a canvas',
    'webp',
    1,
    'UklGRnQAAABXRUJQVlA4WAoAAAAIAAAAJwAAHQAAVlA4IEAAAAAwAwCdASooAB4AP3G202G0rqomJWgCkC4JZQDImA8KmggAAP7gws6wsE+eqjscnP/qv+IL+IKwoaDGuviAAAAARVhJRg4AAABNTQAqAAAACAAAAAAAAA==',
  ],
  [
    'WebP of three frames',
    'webp',
    3,
    'UklGRkYBAABXRUJQVlA4WAoAAAACAAAAJwAAHQAAQU5JTQYAAAAAAAAAAABBTk1GXAAAAAAAAAAAACcAAB0AAAAAAAJWUDggRAAAAHADAJ0BKigAHgA/cbbUYbSvKqYlaAKQLgllAMuk7FgpHgS4AAD+34vOsLBPnrhbLMn/7g/ph/phx4fZoRjP3+mu5EAAQU5NRlwAAAAAAAAAAAAnAAAdAAAAAAAAVlA4IEQAAAD0AgCdASooAB4AP3G21GGCVoAAAuCWUAyyzsWCkeKzCAD+65EZexiBYnD/87fxBfxBWlYjDIf+AfhVqM/8A+pCSt4AAEFOTUZSAAAAAAAAAAAAJwAAHQAAAAAAAFZQOCA6AAAAtAIAnQEqKAAeAD9xqMRiAlYAAuCWcAAkKYtktBrwAP7gwkXJkuXFP6TiCkCf+qtLc2bvyp8+QwAAAA==',
  ],
]

test.each(WRITTEN)('an encoder’s image has the pixels that it has: %s', (_what, kind, frames, base64) => {
  expect(pixelsOf(READERS[kind](Buffer.from(base64, 'base64')))).toBe(40 * 30 * frames)
})

describe('an image that lies counts as the largest that a decoder may make of it', () => {
  test.each<[string, Kind, Buffer, number]>([
    ['an APNG that claims more frames than follow', 'png', png(50, 50, { claimed: 5 }), 12_500],
    ['an APNG that claims fewer', 'png', png(50, 50, { claimed: 1, frames: 5 }), 12_500],
    ['a PNG of all that four bytes can say', 'png', png(2 ** 32 - 1, 2 ** 32 - 1), (2 ** 32 - 1) ** 2],
    ['a JPEG with a second header', 'jpeg', jpeg(jpegHeader(1, 1), jpegHeader(101, 100)), 10_100],
    ['a JPEG of each process', 'jpeg', jpeg(jpegHeader(9, 9, 0xc1), jpegHeader(101, 100, 0xc2)), 10_100],
    [
      'a JPEG whose comment looks like a header',
      'jpeg',
      jpeg(jpegComment(jpegHeader(999, 999)), jpegHeader(101, 100)),
      10_100,
    ],
    [
      'a JPEG with other bytes, filling and restarts between its segments',
      'jpeg',
      jpeg(Buffer.from('x\xff\xff\xff\xd0\xff\0\xff\x01', 'latin1'), jpegHeader(101, 100)),
      10_100,
    ],
    ['a JPEG of as many scans as encoders make', 'jpeg', jpeg(jpegHeader(10, 10), ...times(15, jpegScan)), 100],
    [
      'a JPEG of more scans, each of which goes over all of it',
      'jpeg',
      jpeg(jpegHeader(10, 10), ...times(32, jpegScan)),
      300,
    ],
    ['a GIF whose frame is larger than its screen', 'gif', gif(1, 1, [{ width: 101, height: 100 }]), 10_100],
    ['a GIF whose frame leaves its screen', 'gif', gif(50, 50, [{ left: 51, top: 50, ...SMALL }]), 10_100],
    ['a GIF of frames of one pixel each', 'gif', gif(50, 50, times(5, { width: 1, height: 1 })), 12_500],
    ['a WebP whose picture is larger than its canvas', 'webp', webp(canvas(1, 1), lossy(101, 100)), 10_100],
    [
      'a WebP whose frame leaves its canvas',
      'webp',
      webp(canvas(1, 1), frame({ left: 52, top: 50, ...SMALL })),
      10_200,
    ],
    [
      'a WebP with a part of odd length',
      'webp',
      webp(canvas(1, 1), webpChunk('EXIF', Buffer.from('odd')), lossless(101, 100)),
      10_100,
    ],
  ])('%s', (_what, kind, image, pixels) => {
    expect(pixelsOf(READERS[kind](image))).toBe(pixels)
  })
})

describe('an image names no size', () => {
  test.each<[string, Kind, Buffer]>([
    [
      'a PNG that does not begin with it',
      'png',
      png(50, 50, { before: Buffer.from('\0\0\0\x08IDAT\x01\0\0\x01\x01\0\0\x01\0\0\0\0', 'latin1') }),
    ],
    ['a PNG that is cut off within it', 'png', png(50, 50).subarray(0, 20)],
    ['a JPEG without a header', 'jpeg', jpeg()],
    ['a JPEG that leaves its height to what follows', 'jpeg', jpeg(jpegHeader(50, 0))],
    ['a JPEG whose header stands behind its scan', 'jpeg', Buffer.concat([jpeg().subarray(0, -2), jpegHeader(50, 50)])],
    ['a GIF of no pixels', 'gif', gif(0, 0)],
    ['a WebP without a picture', 'webp', webp()],
    ['a WebP that begins with something else', 'webp', webp(webpChunk('EXIF', Buffer.from('even')), lossless(50, 50))],
  ])('%s', (_what, kind, image) => {
    expect(pixelsOf(READERS[kind](image))).toBe(0)
  })
})

test('an image is read no further once it has more pixels than it may', () => {
  const image = gif(10, 10, times(1_000, { width: 10, height: 10 }))
  const parts = READERS.gif(image)
  let read = 0
  const counted = function* () {
    for (const part of parts) {
      read++
      yield part
    }
  }
  expect(pixelsOf(counted(), 500)).toBe(600)
  // The screen, and a frame more than are allowed, each with its extension.
  expect(read).toBe(13)
})

describe('the bytes of an image are read once, whatever lengths it claims', () => {
  const repeated = (piece: Buffer) => (length: number) => Buffer.alloc(length, piece)
  const begunBy = (head: Buffer, piece: string) => (length: number) =>
    Buffer.concat([head, repeated(Buffer.from(piece, 'latin1'))(length)])
  const headOf = (image: Buffer, end: number) => image.subarray(0, end)
  test.each<[string, Kind, (length: number) => Buffer]>([
    ['a PNG of empty parts', 'png', begunBy(headOf(png(1, 1), 33), '\0\0\0\0fcTL\0\0\0\0')],
    ['a JPEG of filling', 'jpeg', begunBy(Buffer.from('\xff\xd8', 'latin1'), '\xff')],
    ['a JPEG of segments that claim no length', 'jpeg', begunBy(Buffer.from('\xff\xd8', 'latin1'), '\xff\xfe\0\0')],
    ['a JPEG of other bytes', 'jpeg', begunBy(Buffer.from('\xff\xd8', 'latin1'), 'x')],
    ['a GIF of blocks of one byte', 'gif', begunBy(headOf(gif(1, 1), 19), '!\xf9\x01\x01\0')],
    ['a GIF of frames', 'gif', begunBy(headOf(gif(1, 1), 19), ',\0\0\0\0\x01\0\x01\0\0\x02\0')],
    ['a GIF of other bytes', 'gif', begunBy(headOf(gif(1, 1), 19), 'x')],
    ['a WebP of empty parts', 'webp', begunBy(webp(canvas(1, 1)), 'ANMF\0\0\0\0')],
  ])('%s', (_what, kind, make) => {
    const [once, twice] = [20_000, 40_000].map((length) => bytesRead(READERS[kind], make(length)))
    expect(twice).toBeLessThanOrEqual(2.2 * (once ?? 0))
    expect(twice).toBeLessThanOrEqual(4 * 40_000)
  })
})

/** How many bytes of the image are looked at, each as often as it is. */
function bytesRead(parts: typeof pngParts, image: Buffer): number {
  let read = 0
  const watched = new Proxy(image, {
    get(bytes, name) {
      if (name === 'indexOf')
        return (byte: number, from: number) => {
          const found = bytes.indexOf(byte, from)
          read += (found === -1 ? Math.max(bytes.length, from) : found + 1) - from
          return found
        }
      if (name === 'toString')
        return (encoding: BufferEncoding, from: number, to: number) => {
          read += to - from
          return bytes.toString(encoding, from, to)
        }
      if (typeof name === 'string' && /^\d+$/.test(name)) read++
      return Reflect.get(bytes, name, bytes)
    },
  })
  pixelsOf(parts(watched))
  return read
}
