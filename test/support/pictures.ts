// Images as far as their headers and parts go, with sizes that they need not have: nothing is ever decoded.

interface Frame {
  readonly left?: number
  readonly top?: number
  readonly width: number
  readonly height: number
}

const big = (bytes: number, ...numbers: readonly number[]) => numbersIn(numbers, bytes).map((one) => one.reverse())
const little = (bytes: number, ...numbers: readonly number[]) => numbersIn(numbers, bytes)
const numbersIn = (numbers: readonly number[], bytes: number) =>
  numbers.map((number) => Buffer.from(Array.from({ length: bytes }, (_, nth) => Math.floor(number / 256 ** nth) % 256)))
const latin = (text: string) => Buffer.from(text, 'latin1')

const pngChunk = (name: string, ...parts: readonly Buffer[]) => {
  const data = Buffer.concat(parts)
  return Buffer.concat([...big(4, data.length), latin(name), data, Buffer.alloc(4)])
}

/** An animation where `claimed` says how many frames it has, whatever its number of frames. */
export function png(width: number, height: number, { frames = 0, claimed = 0, before = Buffer.alloc(0) } = {}): Buffer {
  return Buffer.concat([
    latin('\x89PNG\r\n\x1a\n'),
    before,
    pngChunk('IHDR', ...big(4, width, height), latin('\x08\x02\0\0\0')),
    ...(claimed === 0 ? [] : [pngChunk('acTL', ...big(4, claimed, 0))]),
    ...Array.from({ length: frames }, () => pngChunk('fcTL', Buffer.alloc(26, 1))),
    pngChunk('IDAT', Buffer.alloc(32, 1)),
    latin('\0\0\0\0IEND\xae\x42\x60\x82'),
  ])
}

const segment = (marker: number, data: Buffer) =>
  Buffer.concat([latin('\xff'), ...big(1, marker), ...big(2, data.length + 2), data])

export function jpegHeader(width: number, height: number, marker = 0xc0): Buffer {
  return segment(marker, Buffer.concat([latin('\x08'), ...big(2, height, width), latin('\x01\x01\x11\0')]))
}

export const jpegScan = Buffer.concat([segment(0xda, latin('\x01\x01\0\0\x3f\0')), latin('words')])

/** Its headers in their order, between a comment and a scan. */
export function jpeg(...headers: readonly Buffer[]): Buffer {
  return Buffer.concat([latin('\xff\xd8'), segment(0xfe, latin('words')), ...headers, jpegScan, latin('\xff\xd9')])
}

/** A comment whose text is a header of another size. */
export const jpegComment = (text: Buffer): Buffer => segment(0xfe, text)

export function gif(width: number, height: number, frames: readonly Frame[] = [{ width, height }]): Buffer {
  return Buffer.concat([
    latin('GIF89a'),
    ...little(2, width, height),
    latin('\x80\0\0'),
    Buffer.alloc(6),
    ...frames.flatMap((frame) => [
      latin('!\xf9\x04\0\0\0\0\0,'),
      ...little(2, frame.left ?? 0, frame.top ?? 0, frame.width, frame.height),
      latin('\x81'),
      Buffer.alloc(12),
      latin('\x02\x03,;!\x14'),
      Buffer.alloc(20),
      latin('\0'),
    ]),
    latin(';'),
  ])
}

export const webpChunk = (name: string, ...parts: readonly Buffer[]): Buffer => {
  const data = Buffer.concat(parts)
  return Buffer.concat([latin(name), ...little(4, data.length), data, Buffer.alloc(data.length % 2)])
}

export const WEBP_CHUNKS = {
  lossy: (width: number, height: number) =>
    webpChunk('VP8 ', latin('\0\0\0\x9d\x01\x2a'), ...little(2, width + 0x4000, height)),
  lossless: (width: number, height: number) =>
    webpChunk('VP8L', latin('\x2f'), ...little(4, (height - 1) * 2 ** 14 + width - 1)),
  canvas: (width: number, height: number) => webpChunk('VP8X', Buffer.alloc(4), ...little(3, width - 1, height - 1)),
  frame: ({ left = 0, top = 0, width, height }: Frame) =>
    webpChunk('ANMF', ...little(3, left / 2, top / 2, width - 1, height - 1), Buffer.alloc(5)),
}

export function webp(...chunks: readonly Buffer[]): Buffer {
  const inside = Buffer.concat([latin('WEBP'), ...chunks])
  return Buffer.concat([latin('RIFF'), ...little(4, inside.length), inside])
}
