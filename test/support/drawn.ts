import { crc32, deflateSync } from 'node:zlib'

type Pixel = readonly [red: number, green: number, blue: number, alpha: number]

const number = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const chunk = (name: string, data: Buffer) => {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data])
  return Buffer.concat([number(data.length), named, number(crc32(named))])
}

/** A PNG with these pixels, which every decoder can draw. */
export function drawnPng(
  width: number,
  height: number,
  pixelAt: (x: number, y: number) => Pixel,
  { profile }: { readonly profile?: Buffer } = {},
): Buffer {
  const rows = Buffer.alloc(height * (1 + 4 * width))
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows.set(pixelAt(x, y), y * (1 + 4 * width) + 1 + 4 * x)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', Buffer.concat([number(width), number(height), Buffer.from([8, 6, 0, 0, 0])])),
    ...(profile === undefined ? [] : [chunk('iCCP', Buffer.concat([Buffer.from('a\0\0'), deflateSync(profile)]))]),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** The same JPEG as a camera writes it, which was held so (1 to 8), with the place where it was. */
export function withExif(jpeg: Buffer, orientation: number): Buffer {
  const tiff = Buffer.alloc(8 + 2 + 12 + 4)
  tiff.write('II*\0', 'latin1')
  tiff.writeUInt32LE(8, 4)
  tiff.writeUInt16LE(1, 8)
  tiff.writeUInt16LE(0x0112, 10)
  tiff.writeUInt16LE(3, 12)
  tiff.writeUInt32LE(1, 14)
  tiff.writeUInt16LE(orientation, 18)
  const exif = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), tiff, Buffer.from('GPS 50.1N 8.7E')])
  const length = Buffer.alloc(2)
  length.writeUInt16BE(exif.length + 2)
  return Buffer.concat([jpeg.subarray(0, 2), Buffer.from([0xff, 0xe1]), length, exif, jpeg.subarray(2)])
}
