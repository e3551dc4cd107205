import protobuf from 'protobufjs'
import { MAX_DEPTH } from '../contracts/facts/message-json.ts'
import type { ReadBytes } from './avro.ts'
import { UnmappedRecord } from './faults.ts'
import { MOST_FIELDS } from './json-value.ts'

/**
 * A reader of a Protobuf schema's messages, each with the path of its type before it, as registries frame them. `imported`: the texts
 * of the files that it imports, by their names. Integers of 64 bits are their digits, enumerations their names, bytes base64. Throws an
 * `UnmappedRecord` where the schema can't be read.
 */
export function protobufReader(schema: string, imported: ReadonlyMap<string, string> = new Map()): ReadBytes {
  const root = new protobuf.Root()
  let space: string | undefined
  try {
    const parsed = [...imported.values(), schema].map((text) => protobuf.parse(text, root, KEPT_NAMES))
    space = parsed.at(-1)?.package
    // Registries do not give what every compiler brings along.
    for (const name of new Set(parsed.flatMap(({ imports = [] }) => imports)))
      if (!imported.has(name)) root.addJSON(protobuf.common.get(name)?.nested ?? {})
    root.resolveAll()
  } catch {
    throw new UnmappedRecord("its Protobuf schema can't be read")
  }
  const own = space === undefined ? root : root.lookup(space)
  // Of several files in one package the registry counts the types of this one alone.
  const names = new Set([...schema.matchAll(/(?:^|[;{}])[ \t]*message\s+(\w+)/gm)].map(([, name = '']) => name))
  return (bytes) => {
    const reader = protobuf.Reader.create(bytes)
    try {
      const path = pathOf(reader)
      const [first = 0, ...rest] = path
      let type = typesIn(own).filter(({ name }) => names.has(name))[first]
      for (const nth of rest) type = typesIn(type)[nth]
      if (type === undefined) throw new UnmappedRecord('its Protobuf schema has no such type')
      const value = bytes.subarray(reader.pos)
      countParts(type.fieldsById, protobuf.Reader.create(value), value.length, { parts: 0, depth: 0 })
      return type.toObject(type.decode(reader), { longs: String, enums: String, bytes: String })
    } catch (error) {
      if (error instanceof UnmappedRecord) throw error
      throw new UnmappedRecord('the value is no message of its Protobuf schema')
    }
  }
}

const KEPT_NAMES = { keepCase: true }
/** Deepest nesting of a type in another. */
const MOST_DEEP = 16

/** The place of a type among those of its file; that of the first is written as one zero. */
function pathOf(reader: protobuf.Reader): number[] {
  const length = reader.sint32()
  if (length < 0 || length > MOST_DEEP) throw new UnmappedRecord('its Protobuf type is nested too deep')
  return length === 0 ? [0] : Array.from({ length }, () => reader.sint32())
}

/** How many bytes a number of a packed list has; of those that are not here as many as it takes. */
const PACKED_BYTES: ReadonlyMap<string, number> = new Map([
  ...['fixed32', 'sfixed32', 'float'].map((type) => [type, 4] as const),
  ...['fixed64', 'sfixed64', 'double'].map((type) => [type, 8] as const),
])

/** Throws where a value has too many parts, before they are made: a packed zero takes a byte, and what is made of it a hundred. */
function countParts(
  fields: Readonly<Record<number, FieldForm>>,
  reader: protobuf.Reader,
  end: number,
  counted: { parts: number; depth: number },
): void {
  if (++counted.depth > MAX_DEPTH) throw new UnmappedRecord(`nested deeper than ${MAX_DEPTH} levels`)
  while (reader.pos < end) {
    const tag = reader.uint32()
    const [field, wire] = [fields[tag >>> 3], tag & 7]
    counted.parts++
    if (wire !== 2) reader.skipType(wire)
    else {
      const to = reader.uint32() + reader.pos
      const inner = field === undefined || to > end ? undefined : fieldsWithin(field)
      if (inner !== undefined) countParts(inner, reader, to, counted)
      else {
        if (field?.repeated === true && field.type !== 'string' && field.type !== 'bytes')
          counted.parts += numbersIn(reader.buf.subarray(reader.pos, to), PACKED_BYTES.get(field.type))
        reader.skip(to - reader.pos)
      }
    }
    if (counted.parts > MOST_FIELDS) throw new UnmappedRecord(`more than ${MOST_FIELDS} fields and numbers`)
  }
  counted.depth--
}

type FieldForm = Pick<protobuf.Field, 'resolvedType' | 'repeated' | 'type'>

/** The fields of what a field holds; undefined where that is no message. An entry of a map has its value under 2. */
function fieldsWithin(field: FieldForm): Readonly<Record<number, FieldForm>> | undefined {
  const { resolvedType, type } = field
  if (field instanceof protobuf.MapField) return { 2: { resolvedType, type, repeated: false } }
  return resolvedType instanceof protobuf.Type ? resolvedType.fieldsById : undefined
}

/** How many numbers a packed list has: each ends with a byte that says so, if they have no common length. */
function numbersIn(packed: Uint8Array, bytes: number | undefined): number {
  if (bytes !== undefined) return Math.ceil(packed.length / bytes)
  let count = 0
  for (const byte of packed) if (byte < 128) count++
  return count
}

function typesIn(holder: protobuf.ReflectionObject | null | undefined): protobuf.Type[] {
  if (!(holder instanceof protobuf.Namespace)) return []
  return holder.nestedArray.filter((one) => one instanceof protobuf.Type)
}
