import { imageBytes, imageHash } from '../../contracts/facts/image-bytes.ts'
import type { SlotOwner } from '../../contracts/facts/slots.ts'
import type { PictureHashes } from '../../contracts/ports/vetoes.ts'
import type { DecodeImage } from '../images/decoder.ts'

/** Hashes below this quality are those of many pictures: flat colours, a line of text. By the reference's own advice. */
const LEAST_QUALITY = 50

/** How a picture is looked at, and for whom. */
export interface PictureLook {
  /** Writes a picture's perceptual hash and its quality. */
  readonly decode: DecodeImage
  readonly wants: ReadonlySet<string>
  readonly whose: SlotOwner
  readonly signal: AbortSignal
}

/** The hashes of a picture that came as a data: address. Decoded only where its perceptual hash is wanted. */
export async function hashesOfPicture(
  data: string,
  { decode, wants, whose, signal }: PictureLook,
): Promise<PictureHashes> {
  const sha256 = imageHash(data)
  if (!wants.has('pdq')) return { sha256 }
  const [hash = '', quality = '0'] = (await decode(imageBytes(data), whose, signal)).toString('latin1').split(' ')
  return { sha256, pdq: Number(quality) < LEAST_QUALITY ? null : hash }
}
