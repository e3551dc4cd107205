import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, resolve, sep } from 'node:path'
import { printable } from '../contracts/facts/printable.ts'

/** Largest image of a file's folder that is read, in bytes; `images.maxBytes` counts beside it. */
const LARGEST = 20 * 1024 * 1024

type Fields = Readonly<Record<string, unknown>>

/** The image of an item by its columns: a path or an address, and what a person says that it shows. */
export interface OwnImage {
  readonly image?: string
  readonly description?: string
}

/**
 * The item with its `image` and `description` as media, and these beside it; as it stands where it has neither, or media of its own, or is a
 * message of a topic.
 */
export function withOwnImage(fields: Fields): { readonly fields: Fields; readonly own?: OwnImage } {
  const { image: path, description: words, media, ...others } = fields
  const isOf = (given: unknown): given is string => typeof given === 'string' && given.trim() !== ''
  if (fields.type !== undefined || media !== undefined || (!isOf(path) && !isOf(words))) return { fields }
  const own = { ...(isOf(path) ? { image: path.trim() } : {}), ...(isOf(words) ? { description: words } : {}) }
  const { image: url, description: alt } = own
  const medium = { kind: 'image', ...(url === undefined ? {} : { url }), ...(alt === undefined ? {} : { alt }) }
  return { fields: { ...others, media: [medium] }, own }
}

/**
 * The address of an image that an item names: as it stands, or where it is a path within the folder of `file`, its bytes as a `data:` URL.
 * Rejects with the reason, in words that follow "the image …".
 */
export async function imageAddress(file: string, image: string): Promise<string> {
  if (/^(https|data):/i.test(image)) return image
  const named = `the image "${printable(image, 120)}"`
  const isFolder = (await stat(file)).isDirectory()
  const folder = await realpath(isFolder ? file : dirname(file))
  const path = await realpath(resolve(folder, image)).catch(() => null)
  // A link that leads out of the folder is outside of it.
  if (path === null || !path.startsWith(`${folder}${sep}`))
    throw new Error(`${named} is no file in the folder of this one`)
  const { size, ...about } = await stat(path).then((one) => ({ size: one.size, isFile: one.isFile() }))
  if (!about.isFile) throw new Error(`${named} is no file`)
  if (size > LARGEST) throw new Error(`${named} is larger than ${LARGEST / 1024 / 1024} MiB`)
  const bytes = await readFile(path)
  if (!isImage(bytes)) throw new Error(`${named} is none: PNG, JPEG, GIF, WebP, AVIF and HEIC are read`)
  return bytesAddress(bytes)
}

/** Whether bytes begin as an image does: a file of items must not send others of its folder. */
function isImage(bytes: Buffer): boolean {
  const [first, brand] = [bytes.toString('latin1', 0, 4), bytes.toString('latin1', 4, 12)]
  if (first === '\x89PNG' || first === 'GIF8' || first.startsWith('\xff\xd8\xff')) return true
  return (first === 'RIFF' && brand.endsWith('WEBP')) || /^ftyp(?:avif|avis|hei[cxs]|hev[cx]|mif1|msf1)$/.test(brand)
}

/** An image's bytes as an address; which format they are of is found out where it is loaded. */
export function bytesAddress(bytes: Uint8Array): string {
  return `data:application/octet-stream;base64,${Buffer.from(bytes).toString('base64')}`
}
