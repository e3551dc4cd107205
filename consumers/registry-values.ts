import { avroReader, type ReadBytes } from '../src/mapping/avro.ts'
import { UnmappedRecord } from '../src/mapping/faults.ts'
import { exactJsonValue } from '../src/mapping/json-value.ts'
import type { RegisteredSchema } from '../src/stream/schema-registry.ts'

/** A value in a registry's frame, decoded; or why it can't be. */
export type DecodedValue = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly why: string }

/** Decodes one value. Rejects where the registry has to be asked again. */
export type DecodeValue = (value: Buffer) => Promise<DecodedValue>

/** Schemas that are kept; beyond that the one goes that was met first. */
const MOST_KEPT = 1_000
/** For so long it is remembered that a registry has no schema of an id, in ms: it may get one. */
const UNKNOWN_MS = 10_000
/** Before the value: a zero, and the schema's id in four bytes. */
const FRAME_BYTES = 5

/** Decodes values that a registry frames, by the schemas of `schemaOf`, each asked for once. */
export function registryDecoder(
  schemaOf: (id: number) => Promise<RegisteredSchema | null>,
  clock: () => number,
): DecodeValue {
  const readers = new Map<number, { readonly read: ReadBytes; readonly until: number }>()
  return async (value) => {
    if (value.length < FRAME_BYTES || value[0] !== 0)
      return { ok: false, why: 'the value is not in the frame of a schema registry' }
    const id = value.readUInt32BE(1)
    let known = readers.get(id)
    if (known === undefined || known.until < clock()) {
      const schema = await schemaOf(id)
      const until = schema === null ? clock() + UNKNOWN_MS : Number.POSITIVE_INFINITY
      known = { read: await readerOf(id, schema), until }
      const [oldest] = readers.keys()
      if (readers.size >= MOST_KEPT && oldest !== undefined) readers.delete(oldest)
      readers.set(id, known)
    }
    try {
      return { ok: true, value: known.read(value.subarray(FRAME_BYTES)) }
    } catch (error) {
      if (error instanceof UnmappedRecord) return { ok: false, why: error.message }
      throw error
    }
  }
}

async function readerOf(id: number, schema: RegisteredSchema | null): Promise<ReadBytes> {
  try {
    switch (schema?.type) {
      case 'AVRO':
        return avroReader(schema.schema, [...schema.references.values()])
      case 'PROTOBUF': {
        // Loaded only where it is needed.
        const { protobufReader } = await import('../src/mapping/protobuf.ts')
        return protobufReader(schema.schema, schema.references)
      }
      case 'JSON':
        return exactJsonValue
      case undefined:
        return failing(`the schema registry has no schema ${id}`)
    }
  } catch (error) {
    if (error instanceof UnmappedRecord) return failing(error.message)
    throw error
  }
}

function failing(why: string): ReadBytes {
  return () => {
    throw new UnmappedRecord(why)
  }
}
