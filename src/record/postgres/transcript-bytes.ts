const LENGTH = 4

/**
 * A transcript and the words of its subject in one value: the words stand in it as well, and compressed together they take next to
 * no room of their own.
 */
export function heldBytes(json: string, words: string | null): Buffer {
  const own = Buffer.from(words ?? '')
  const length = Buffer.alloc(LENGTH)
  length.writeUInt32LE(own.length)
  return Buffer.concat([length, own, Buffer.from(json)])
}

export function heldJson(bytes: Buffer): string {
  return bytes.toString('utf8', LENGTH + bytes.readUInt32LE(0))
}

export function heldWords(bytes: Buffer): string {
  return bytes.toString('utf8', LENGTH, LENGTH + bytes.readUInt32LE(0))
}
