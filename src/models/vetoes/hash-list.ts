import { type FileHandle, open } from 'node:fs/promises'
import { setImmediate as others } from 'node:timers/promises'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { bitsIn } from '../images/pdq.ts'
import { MOST_INDEXED, wordIndex } from './word-index.ts'

/** The bytes of a hash of 256 bits. */
const HASH = 32
/** A packed list begins with this, as long as a hash is; its hashes follow in order, each once. */
const MAGIC = Buffer.from('gavel: packed hashes, version 1\n')
/** Most hashes of a list of text lines: it is held in memory. A longer one is packed (`gavel veto pack`). */
const MOST_LINES = 1_000_000
/** Hashes that are compared before other work has its turn: about a millisecond. */
const AT_ONCE = 65_536

/** Perceptual hashes of which it is remembered what was found: a post names its pictures' to each protocol, at each revision. */
const MOST_KNOWN = 10_000

/** Hashes that are looked up: in memory, or in a packed file, of which nothing is. */
export interface HashList {
  readonly entries: number
  /** The nearest of its hashes that differs in at most so many bits, in hexadecimal digits; null if none does. */
  find(hash: string, distance: number): Promise<string | null>
  close(): Promise<void>
}

/** Opens a list of text lines, or a packed one. Throws an `OperatorError` that names what is wrong with it. */
export async function openHashList(path: string): Promise<HashList> {
  const file = await opened(path)
  try {
    const head = Buffer.alloc(HASH)
    await file.read(head, 0, HASH, 0)
    if (!head.equals(MAGIC)) {
      const hashes = sorted(await hashLines(file, path, MOST_LINES))
      await file.close()
      return listOf(hashes.length / HASH, async (from, to) => hashes.subarray(HASH * from, HASH * to), indexed(hashes))
    }
    const { size } = await file.stat()
    if (size % HASH !== 0) throw new OperatorError(`${path} is a packed list that was cut off: pack it again`)
    const read = async (from: number, to: number) => {
      const length = HASH * (to - from)
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, HASH * (1 + from))
      if (bytesRead < length) throw new Error('its file was cut off after it was opened')
      return buffer
    }
    return listOf(size / HASH - 1, read, null, () => file.close())
  } catch (error) {
    await file.close().catch(() => {})
    throw error
  }
}

/** A list of text lines as a packed file, and how many hashes it has. */
export async function packed(path: string): Promise<{ readonly bytes: Buffer; readonly entries: number }> {
  const file = await opened(path)
  try {
    const hashes = sorted(await hashLines(file, path, Number.POSITIVE_INFINITY))
    return { bytes: Buffer.concat([MAGIC, hashes]), entries: hashes.length / HASH }
  } finally {
    await file.close()
  }
}

async function opened(path: string): Promise<FileHandle> {
  try {
    return await open(path)
  } catch (error) {
    throw new OperatorError(`the list ${path} can't be read: ${error instanceof Error ? error.message : error}`)
  }
}

/** The hashes at the beginnings of a file's lines; what stands behind them, empty lines and lines with # are passed over. */
async function hashLines(file: FileHandle, path: string, most: number): Promise<Buffer> {
  let [hashes, used, line] = [Buffer.alloc(HASH * 4_096), 0, 0]
  for await (const text of file.readLines({ start: 0 })) {
    line++
    if (text === '' || text.startsWith('#')) continue
    if (!/^[0-9a-f]{64}(?![0-9a-z])/i.test(text))
      throw new OperatorError(`${path}:${line} begins with no hash of 64 hexadecimal digits`)
    if (used === HASH * most)
      throw new OperatorError(
        `${path} has more than ${most.toLocaleString('en')} hashes: gavel veto pack makes a list of which none is held in memory`,
      )
    if (used === hashes.length) hashes = Buffer.concat([hashes, Buffer.alloc(hashes.length)])
    used += hashes.write(text.slice(0, 2 * HASH), used, 'hex')
  }
  return hashes.subarray(0, used)
}

/** The hashes in order, each once: by their first two bytes at once, and then within each of these. */
function sorted(hashes: Buffer): Buffer {
  const begins = new Uint32Array(65_537)
  const bucketAt = (at: number) => hashes.readUInt16BE(at)
  for (let at = 0; at < hashes.length; at += HASH) begins[bucketAt(at) + 1] = (begins[bucketAt(at) + 1] ?? 0) + 1
  for (let bucket = 0; bucket < 65_536; bucket++) begins[bucket + 1] = (begins[bucket + 1] ?? 0) + (begins[bucket] ?? 0)
  const next = begins.slice()
  const ordered = Buffer.alloc(hashes.length)
  for (let at = 0; at < hashes.length; at += HASH) {
    const place = next[bucketAt(at)] ?? 0
    next[bucketAt(at)] = place + 1
    hashes.copy(ordered, HASH * place, at, at + HASH)
  }
  let used = 0
  for (let bucket = 0; bucket < 65_536; bucket++) {
    const own: Buffer[] = []
    for (let nth = begins[bucket] ?? 0; nth < (begins[bucket + 1] ?? 0); nth++)
      own.push(Buffer.from(ordered.subarray(HASH * nth, HASH * (nth + 1))))
    own.sort(Buffer.compare)
    for (const [nth, one] of own.entries())
      if (nth === 0 || own[nth - 1]?.equals(one) === false) used += one.copy(ordered, used)
  }
  return ordered.subarray(0, used)
}

/** Finds what is near among hashes in memory; made when it is first wanted. Null where they are few. */
function indexed(hashes: Buffer): NearestIn | null {
  if (hashes.length <= HASH * AT_ONCE) return null
  let index: ReturnType<typeof wordIndex> | undefined
  return async (hash, distance) => {
    index ??= wordIndex(hashes)
    return (await index).nearest(hash, distance)
  }
}
type NearestIn = (hash: Buffer, distance: number) => Promise<Buffer | null>

/** `read`: the hashes from one number up to another. `index`: quicker than reading all, up to a distance. */
function listOf(
  entries: number,
  read: (from: number, to: number) => Promise<Buffer>,
  index: NearestIn | null,
  close = async () => {},
): HashList {
  let [underWay, isClosed] = [0, false]

  async function same(hash: Buffer): Promise<Buffer | null> {
    let [low, high] = [0, entries]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const one = await read(middle, middle + 1)
      const order = Buffer.compare(one, hash)
      if (order === 0) return one
      if (order < 0) low = middle + 1
      else high = middle
    }
    return null
  }

  async function nearest(hash: Buffer, distance: number): Promise<Buffer | null> {
    if (index !== null && distance <= MOST_INDEXED) return index(hash, distance)
    let [found, least]: [Buffer | null, number] = [null, distance + 1]
    const wanted = wordsOf(hash)
    for (let from = 0; from < entries; from += AT_ONCE) {
      const some = await read(from, Math.min(entries, from + AT_ONCE))
      const words = wordsOf(some)
      for (let at = 0; at < words.length; at += wanted.length) {
        let apart = 0
        for (let nth = 0; nth < wanted.length && apart < least; nth++)
          apart += bitsIn((words[at + nth] ?? 0) ^ (wanted[nth] ?? 0))
        // A copy: what is found is kept for long, and the chunk that it was read in would be kept with it.
        if (apart < least) [found, least] = [Buffer.from(some.subarray(4 * at, 4 * at + HASH)), apart]
      }
      await others()
    }
    return found
  }

  const known = new Map<string, Promise<Buffer | null>>()
  function remembered(hash: Buffer, distance: number): Promise<Buffer | null> {
    const name = `${hash.toString('latin1')} ${distance}`
    const before = known.get(name)
    if (before !== undefined) return before
    const found = nearest(hash, distance)
    known.set(name, found)
    found.catch(() => known.delete(name))
    for (const oldest of known.keys()) if (known.size > MOST_KNOWN) known.delete(oldest)
    return found
  }

  return {
    entries,
    async find(hex, distance) {
      const hash = Buffer.from(hex, 'hex')
      underWay++
      try {
        const found = distance === 0 ? await same(hash) : await remembered(hash, distance)
        return found === null ? null : found.toString('hex')
      } finally {
        underWay--
        if (isClosed && underWay === 0) await close()
      }
    },
    async close() {
      isClosed = true
      if (underWay === 0) await close()
    },
  }
}

/** Words of 32 bits, to count by; a copy where their bytes stand at no place of words. */
function wordsOf(hashes: Buffer): Uint32Array {
  const whole = hashes.byteOffset % 4 === 0 ? hashes : Buffer.from(Uint8Array.from(hashes).buffer)
  return new Uint32Array(whole.buffer, whole.byteOffset, whole.length / 4)
}
