import { entryOf } from '../contracts/facts/entry-of.ts'
import { UnmappedRecord } from './faults.ts'

/** Reads a value in Avro's binary encoding, as its writer's schema has it. Throws an `UnmappedRecord` where the bytes are not that. */
export type ReadBytes = (bytes: Buffer) => unknown

type ReadNext = (cursor: Cursor) => unknown
type AvroSchema = Readonly<Record<string, unknown>>

/** Most items of lists and maps, and fields of records, in one value: bytes alone don't bound them, since one may take none. */
const MOST_ITEMS = 100_000
/** Deepest nesting of a value. */
const MOST_DEEP = 64

/**
 * A reader of the schema; `referenced`: schemas that it names and does not have. Times stay the numbers that they are, integers beyond
 * 2^53 are their digits, bytes are base64. Throws an `UnmappedRecord` where it can't be read.
 */
export function avroReader(schema: string, referenced: readonly string[] = []): ReadBytes {
  const read = wholeReader(schema, referenced)
  return (bytes) => {
    const cursor = new Cursor(bytes)
    const value = read(cursor)
    if (cursor.at !== bytes.length) throw new UnmappedRecord('bytes are left behind the Avro value')
    return value
  }
}

function wholeReader(schema: string, referenced: readonly string[]): ReadNext {
  const named = new Map<string, ReadNext>()
  try {
    for (const text of referenced) readerOf(parsed(text), '', named)
    return readerOf(parsed(schema), '', named)
  } catch (error) {
    // One that nests ten thousand lists is no fault of who reads it.
    throw error instanceof UnmappedRecord ? error : new UnmappedRecord("its Avro schema can't be read")
  }
}

function parsed(schema: string): unknown {
  try {
    return JSON.parse(schema)
  } catch {
    throw new UnmappedRecord('its Avro schema is no JSON')
  }
}

/** Where a value is read. */
class Cursor {
  readonly bytes: Buffer
  at = 0
  items = 0
  depth = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  take(length: number): Buffer {
    if (!(length >= 0 && this.at + length <= this.bytes.length)) throw new UnmappedRecord('the Avro value is cut off')
    this.at += length
    return this.bytes.subarray(this.at - length, this.at)
  }

  long(): bigint {
    let [value, shift] = [0n, 0n]
    for (;;) {
      const [byte = 0] = this.take(1)
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return (value >> 1n) ^ -(value & 1n)
      shift += 7n
      if (shift > 63n) throw new UnmappedRecord('an Avro number is too long')
    }
  }

  text(): string {
    return this.take(Number(this.long())).toString('utf8')
  }

  /** Counts what is about to be made. */
  count(items: number): void {
    this.items += items
    if (this.items > MOST_ITEMS) throw new UnmappedRecord(`the Avro value has more than ${MOST_ITEMS} items`)
  }

  /** Reads the blocks of a list or map. */
  blocks(each: () => void): void {
    for (let count = Number(this.long()); count !== 0; count = Number(this.long())) {
      if (count < 0) this.long()
      this.count(Math.abs(count))
      for (let nth = 0; nth < Math.abs(count); nth++) each()
    }
  }
}

const integer: ReadNext = (cursor) => {
  const value = cursor.long()
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
}

const PRIMITIVES: Readonly<Record<string, ReadNext>> = {
  null: () => null,
  boolean: (cursor) => cursor.take(1)[0] === 1,
  int: integer,
  long: integer,
  float: (cursor) => cursor.take(4).readFloatLE(),
  double: (cursor) => cursor.take(8).readDoubleLE(),
  bytes: (cursor) => cursor.take(Number(cursor.long())).toString('base64'),
  string: (cursor) => cursor.text(),
}

function readerOf(schema: unknown, space: string, named: Map<string, ReadNext>): ReadNext {
  if (typeof schema === 'string') {
    const primitive = entryOf(PRIMITIVES, schema)
    if (primitive !== undefined) return primitive
    // It may stand within itself, and is known only once it is read.
    return (cursor) => {
      const read = named.get(fullName(schema, space)) ?? named.get(schema)
      if (read === undefined) throw new UnmappedRecord(`its Avro schema has no type ${schema.slice(0, 100)}`)
      return read(cursor)
    }
  }
  if (Array.isArray(schema)) {
    const branches = schema.map((one) => readerOf(one, space, named))
    return (cursor) => {
      const branch = branches[Number(cursor.long())]
      if (branch === undefined) throw new UnmappedRecord('an Avro union has no such branch')
      return branch(cursor)
    }
  }
  if (typeof schema !== 'object' || schema === null) throw new UnmappedRecord("its Avro schema can't be read")
  return complexReader(schema as AvroSchema, space, named)
}

function complexReader(schema: AvroSchema, space: string, named: Map<string, ReadNext>): ReadNext {
  const { type, name, namespace = space } = schema
  const full = typeof name === 'string' ? fullName(name, String(namespace)) : ''
  const inner = full.includes('.') ? full.slice(0, full.lastIndexOf('.')) : ''
  const known = (read: ReadNext) => {
    named.set(full, read)
    return read
  }
  switch (type) {
    case 'record':
    case 'error':
      return known(nested(recordReader(schema, inner, named)))
    case 'enum': {
      const symbols = Array.isArray(schema.symbols) ? schema.symbols : []
      return known((cursor) => symbols[Number(cursor.long())] as unknown)
    }
    case 'fixed':
      return known((cursor) => cursor.take(Number(schema.size)).toString('base64'))
    case 'array': {
      const item = readerOf(schema.items, space, named)
      return nested((cursor) => {
        const items: unknown[] = []
        cursor.blocks(() => items.push(item(cursor)))
        return items
      })
    }
    case 'map': {
      const value = readerOf(schema.values, space, named)
      return nested((cursor) => {
        const entries: [string, unknown][] = []
        cursor.blocks(() => entries.push([cursor.text(), value(cursor)]))
        return Object.fromEntries(entries)
      })
    }
    default:
      return readerOf(type, space, named)
  }
}

function recordReader(schema: AvroSchema, space: string, named: Map<string, ReadNext>): ReadNext {
  const given = Array.isArray(schema.fields) ? (schema.fields as AvroSchema[]) : []
  const fields: (readonly [string, ReadNext])[] = []
  const read: ReadNext = (cursor) => {
    cursor.count(fields.length)
    return Object.fromEntries(fields.map(([name, one]) => [name, one(cursor)]))
  }
  for (const field of given) fields.push([String(field.name), readerOf(field.type, space, named)])
  return read
}

function nested(read: ReadNext): ReadNext {
  return (cursor) => {
    if (++cursor.depth > MOST_DEEP) throw new UnmappedRecord(`the Avro value is nested deeper than ${MOST_DEEP} levels`)
    const value = read(cursor)
    cursor.depth--
    return value
  }
}

function fullName(name: string, space: string): string {
  return name.includes('.') || space === '' ? name : `${space}.${name}`
}
