import photon from '@silvia-odwyer/photon-node'

// A process of its own: it is given the bytes of one image, draws it anew and ends. No byte of a stranger's file is in what it writes,
// so neither are its metadata. Its decoder is WebAssembly, and it may read no file but its own program.

/** The longer side of a picture, and of its cover, which shows no more than where it is light and dark, in pixels. */
const [PICTURE, COVER] = [1_024, 16]
/** Of JPEG, from 1 to 100. */
const QUALITY = 82
/** The squares behind what is transparent, in pixels, and their two greys: whatever colour is drawn there is seen. */
const [SQUARE, LIGHT, DARK] = [16, 0xff, 0xbb]

type Image = InstanceType<typeof photon.PhotonImage>

const chunks: Buffer[] = []
for await (const chunk of process.stdin) chunks.push(chunk)
const given = Buffer.concat(chunks)
const image = photon.PhotonImage.new_from_byteslice(given)
const picture = opaque(upright(fitted(image, PICTURE), orientationOf(given)))
image.free()
const [drawn, cover] = [picture, fitted(picture, COVER)].map((one) => Buffer.from(one.get_bytes_jpeg(QUALITY)))
if (drawn === undefined || cover === undefined) throw new Error('nothing was drawn')
const length = Buffer.alloc(4)
length.writeUInt32BE(drawn.length)
process.stdout.end(Buffer.concat([length, drawn, cover]))

/** At most so long, never larger than it is. */
function fitted(image: Image, longest: number): Image {
  const [width, height] = [image.get_width(), image.get_height()]
  const scale = Math.min(1, longest / Math.max(width, height))
  const side = (pixels: number) => Math.max(1, Math.round(pixels * scale))
  return photon.resize(image, side(width), side(height), photon.SamplingFilter.Triangle)
}

/** As its camera was held; `orientation` by EXIF, 1 to 8. */
function upright(image: Image, orientation: number): Image {
  if (orientation < 2 || orientation > 8) return image
  const [width, height] = [image.get_width(), image.get_height()]
  const pixels = new Uint32Array(image.get_raw_pixels().buffer)
  const turned = new Uint32Array(pixels.length)
  const isOnItsSide = orientation > 4
  const [across, down] = isOnItsSide ? [height, width] : [width, height]
  const [fromRight, fromBottom] = [[2, 3, 7, 8].includes(orientation), [3, 4, 6, 7].includes(orientation)]
  for (let y = 0; y < down; y++)
    for (let x = 0; x < across; x++) {
      const [left, top] = isOnItsSide ? [y, x] : [x, y]
      const from = (fromBottom ? height - 1 - top : top) * width + (fromRight ? width - 1 - left : left)
      turned[y * across + x] = pixels[from] ?? 0
    }
  return new photon.PhotonImage(new Uint8Array(turned.buffer), across, down)
}

/** JPEG knows no transparency. */
function opaque(image: Image): Image {
  const [width, height] = [image.get_width(), image.get_height()]
  const pixels = image.get_raw_pixels()
  for (let at = 0; at < pixels.length; at += 4) {
    const alpha = (pixels[at + 3] ?? 255) / 255
    if (alpha === 1) continue
    const [x, y] = [(at / 4) % width, Math.floor(at / 4 / width)]
    const behind = (Math.floor(x / SQUARE) + Math.floor(y / SQUARE)) % 2 === 0 ? LIGHT : DARK
    for (let colour = at; colour < at + 3; colour++)
      pixels[colour] = Math.round((pixels[colour] ?? 0) * alpha + behind * (1 - alpha))
    pixels[at + 3] = 255
  }
  return new photon.PhotonImage(pixels, width, height)
}

/** What a JPEG's EXIF says of how its camera was held, from 1, upright, to 8. */
function orientationOf(jpeg: Buffer): number {
  const [SEGMENT, START_OF_SCAN, EXIF, ORIENTATION] = [0xff, 0xda, 0xe1, 0x0112]
  for (let at = 2; at + 4 < jpeg.length && jpeg[at] === SEGMENT && jpeg[at + 1] !== START_OF_SCAN; ) {
    const end = at + 2 + jpeg.readUInt16BE(at + 2)
    if (jpeg[at + 1] === EXIF && jpeg.toString('latin1', at + 4, at + 10) === 'Exif\0\0') {
      const tiff = jpeg.subarray(at + 10, end)
      const isLittle = tiff.toString('latin1', 0, 2) === 'II'
      const number = (place: number, bytes: number) => {
        if (place + bytes > tiff.length) return 0
        return isLittle ? tiff.readUIntLE(place, bytes) : tiff.readUIntBE(place, bytes)
      }
      const directory = number(4, 4)
      for (let entry = 0; entry < number(directory, 2); entry++) {
        const place = directory + 2 + entry * 12
        if (number(place, 2) === ORIENTATION) return number(place + 8, 2)
      }
      return 1
    }
    at = end
  }
  return 1
}
