import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, resolve, sep } from 'node:path'
import { printable } from '../contracts/facts/printable.ts'

/** Largest image of a file's folder that is read, in bytes; `images.maxBytes` counts beside it. */
const LARGEST = 20 * 1024 * 1024

type Fields = Readonly<Record<string, unknown>>

/** An item with `image` or `description`, and no media of its own, has one image: the picture, and what a person wrote of it. */
export function withOwnImage(fields: Fields): Fields {
  const { image, description, media, ...others } = fields
  const isOf = (given: unknown): given is string => typeof given === 'string' && given.trim() !== ''
  if (media !== undefined || (!isOf(image) && !isOf(description))) return fields
  const medium = {
    kind: 'image',
    ...(isOf(image) ? { url: image.trim() } : {}),
    ...(isOf(description) ? { alt: description } : {}),
  }
  return { ...others, ...(isOf(description) ? { description } : {}), media: [medium] }
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
  return bytesAddress(await readFile(path))
}

/** An image's bytes as an address; which format they are of is found out where it is loaded. */
export function bytesAddress(bytes: Uint8Array): string {
  return `data:application/octet-stream;base64,${Buffer.from(bytes).toString('base64')}`
}
