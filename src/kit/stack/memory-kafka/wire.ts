/** Reads the primitive types of Kafka's protocol (its guide, "Protocol Primitive Types"), one after the other. */
export function wireReader(bytes: Buffer) {
  let at = 0
  const advance = (size: number): number => {
    if (size < 0 || at + size > bytes.length) throw new RangeError('the request ends too early')
    at += size
    return at - size
  }
  const nullable = (size: number): Buffer | null => {
    if (size < 0) return null
    const from = advance(size)
    return bytes.subarray(from, from + size)
  }
  const reader = {
    int8: () => bytes.readInt8(advance(1)),
    int16: () => bytes.readInt16BE(advance(2)),
    int32: () => bytes.readInt32BE(advance(4)),
    int64: () => Number(bytes.readBigInt64BE(advance(8))),
    text: () => nullable(reader.int16())?.toString('utf8') ?? '',
    bytes: () => nullable(reader.int32()) ?? Buffer.alloc(0),
    /** Null stands for all, where a request may say so. */
    listOrAll<Item>(item: () => Item): Item[] | null {
      const count = reader.int32()
      return count < 0 ? null : Array.from({ length: Math.min(count, bytes.length) }, item)
    },
    list: <Item>(item: () => Item): Item[] => reader.listOrAll(item) ?? [],
  }
  return reader
}
export type WireReader = ReturnType<typeof wireReader>

/** Parts of an answer; they are joined once, when the whole answer is sent. */
export type Wire = readonly Buffer[]

export const int8 = (value: number): Wire => [Buffer.of(value & 0xff)]
export function int16(value: number): Wire {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return [bytes]
}
export function int32(value: number): Wire {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return [bytes]
}
export function int64(value: number): Wire {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(value))
  return [bytes]
}
export function text(value: string | null): Wire {
  if (value === null) return int16(-1)
  const bytes = Buffer.from(value)
  return [...int16(bytes.length), bytes]
}
export function sized(parts: Wire): Wire {
  return [...int32(parts.reduce((sum, { length }) => sum + length, 0)), ...parts]
}
export function list<Item>(items: readonly Item[], item: (one: Item) => Wire): Wire {
  return [...int32(items.length), ...items.flatMap(item)]
}
