import protobuf from 'protobufjs'
import type { ReadBytes } from './avro.ts'
import { UnmappedRecord } from './faults.ts'

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
  const names = new Set([...schema.matchAll(/^\s*message\s+(\w+)/gm)].map(([, name = '']) => name))
  return (bytes) => {
    const reader = protobuf.Reader.create(bytes)
    try {
      const path = pathOf(reader)
      const [first = 0, ...rest] = path
      let type = typesIn(own).filter(({ name }) => names.has(name))[first]
      for (const nth of rest) type = typesIn(type)[nth]
      if (type === undefined) throw new UnmappedRecord('its Protobuf schema has no such type')
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

function typesIn(holder: protobuf.ReflectionObject | null | undefined): protobuf.Type[] {
  if (!(holder instanceof protobuf.Namespace)) return []
  return holder.nestedArray.filter((one) => one instanceof protobuf.Type)
}
