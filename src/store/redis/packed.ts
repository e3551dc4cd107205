import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/** The quickest: each further level takes more time than it saves bytes. */
const QUICK = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** No JSON text begins so. */
const MARK = 'zstd:'
/** Shorter texts are not worth the work… */
const WORTH_PACKING = 2_048
/** …and longer ones, in characters or Base64, are worked on beside the event loop, which takes three times the processor time. */
const HOLDS_UP_OTHERS = 262_144

/** The text, shorter where that is worth it: compressed, in Base64, since replies of Redis are read as text. */
export async function packed(text: string): Promise<string> {
  if (text.length < WORTH_PACKING) return text
  const bytes = Buffer.from(text)
  const short = text.length > HOLDS_UP_OTHERS ? await compress(bytes, QUICK) : zstdCompressSync(bytes, QUICK)
  return MARK + short.toString('base64')
}

/** The text that was packed, or that never was; null if what was packed can't be read. */
export async function unpacked(stored: string): Promise<string | null> {
  if (!stored.startsWith(MARK)) return stored
  const short = Buffer.from(stored.slice(MARK.length), 'base64')
  try {
    const bytes = stored.length > HOLDS_UP_OTHERS ? await decompress(short) : zstdDecompressSync(short)
    return bytes.toString('utf8')
  } catch {
    return null
  }
}
