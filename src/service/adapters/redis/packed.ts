import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/** No JSON text begins so. */
const MARK = 'zstd:'
/** Shorter texts are not worth the work. */
const WORTH_PACKING = 2_048

/** The text, shorter where that is worth it: compressed, in Base64, since replies of Redis are read as text. */
export async function packed(text: string): Promise<string> {
  if (text.length < WORTH_PACKING) return text
  return MARK + (await compress(Buffer.from(text))).toString('base64')
}

/** The text that was packed, or that never was; null if what was packed can't be read. */
export async function unpacked(stored: string): Promise<string | null> {
  if (!stored.startsWith(MARK)) return stored
  try {
    return (await decompress(Buffer.from(stored.slice(MARK.length), 'base64'))).toString('utf8')
  } catch {
    return null
  }
}
