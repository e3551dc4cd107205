import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs'

const [HEADER_BYTES, POINTER_BYTES] = [100, 2]
/** Bytes of the header of a page by its kind: https://sqlite.org/fileformat2.html#b_tree_pages. */
const KINDS: ReadonlyMap<number, number> = new Map([
  [2, 12],
  [5, 12],
  [10, 8],
  [13, 8],
])
/** The page at this byte is never used. */
const PENDING_BYTE = 2 ** 30

/**
 * Zeroes the unused middle of the pages from one byte of a file to another, as long as `isAlone` says that nobody else writes; returns
 * how many pages had something there. Pages of files below 2^25 pages alone can be told apart by their first byte.
 */
export function zeroFreeSpace(path: string, from: number, to: number, isAlone: () => boolean = () => true): number {
  const file = openSync(path, 'r+')
  try {
    const header = Buffer.alloc(HEADER_BYTES)
    readSync(file, header, 0, HEADER_BYTES, 0)
    const written = header.readUInt16BE(16)
    const page = written === 1 ? 65_536 : written
    const usable = page - header.readUInt8(20)
    // Where pages can move, each page of a map says whence the next ones are pointed to.
    const isMapped = header.readUInt32BE(52) !== 0
    const mapEach = Math.floor(usable / 5) + 1
    const isMap = (nth: number) => {
      const map = nth < 2 ? 0 : Math.floor((nth - 2) / mapEach) * mapEach + 2
      return isMapped && nth === (map === Math.floor(PENDING_BYTE / page) + 1 ? map + 1 : map)
    }
    let changed = 0
    const [bytes, zeros] = [Buffer.alloc(page), Buffer.alloc(page)]
    for (let at = Math.floor(from / page) * page; at < to; at += page) {
      if (readSync(file, bytes, 0, page, at) < page) break
      const start = at === 0 ? HEADER_BYTES : 0
      const size = KINDS.get(bytes.readUInt8(start))
      if (size === undefined || isMap(at / page + 1)) continue
      const free = start + size + POINTER_BYTES * bytes.readUInt16BE(start + 3)
      const content = bytes.readUInt16BE(start + 5) || 65_536
      if (
        content > usable ||
        free >= content ||
        bytes.subarray(free, content).equals(zeros.subarray(0, content - free))
      )
        continue
      if (!isAlone()) break
      writeSync(file, zeros, 0, content - free, at + free)
      changed++
    }
    if (changed > 0) fsyncSync(file)
    return changed
  } finally {
    closeSync(file)
  }
}
