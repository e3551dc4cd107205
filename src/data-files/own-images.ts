import { open, readFile, realpath, stat } from 'node:fs/promises'
import { dirname, resolve, sep } from 'node:path'
import { PermanentError } from '../contracts/facts/errors.ts'
import { printable } from '../contracts/facts/printable.ts'
import type { LoadImage } from '../contracts/ports/images.ts'

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
  const path = await pathOf(file, image)
  return path === null ? image : bytesAddress(await readFile(path))
}

/** Stands for an image in an address until it is shown. */
const LATER = 'data:application/vnd.gavel.image,'

/** The images of a file that is judged: each is read whenever it is shown, since all of a large file's would fill memory. */
export class LaterImages {
  readonly #of = new Map<string, { readonly file: string; readonly image: string }>()

  /** The address of an image as it stands, or where it is a path, one that stands for it. Rejects as {@link imageAddress} does. */
  async addressOf(file: string, image: string): Promise<string> {
    if ((await pathOf(file, image)) === null) return image
    const address = `${LATER}${encodeURIComponent(image)}`
    this.#of.set(address, { file, image })
    return address
  }

  /** The same loader, also of images that are read later. */
  loading(load: LoadImage): LoadImage {
    return async (url, signal) => {
      const later = this.#of.get(url)
      if (later === undefined) return load(url, signal)
      const address = await imageAddress(later.file, later.image).catch((cause: Error) => {
        throw new PermanentError('image', cause.message, { cause })
      })
      return load(address, signal)
    }
  }
}

/** The path of an image that an item names by one, once it is known to be an image; null where it is an address. */
async function pathOf(file: string, image: string): Promise<string | null> {
  if (/^(https|data):/i.test(image)) return null
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
  if (!isImage(await beginningOf(path)))
    throw new Error(`${named} is none: PNG, JPEG, GIF, WebP, AVIF and HEIC are read`)
  return path
}

async function beginningOf(path: string): Promise<Buffer> {
  await using opened = await open(path)
  const { buffer, bytesRead } = await opened.read(Buffer.alloc(12), 0, 12, 0)
  return buffer.subarray(0, bytesRead)
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
