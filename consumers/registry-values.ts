import { avroReader, type ReadBytes } from '../src/mapping/avro.ts'
import { UnmappedRecord } from '../src/mapping/faults.ts'
import { exactJsonValue, MOST_BYTES } from '../src/mapping/json-value.ts'
import { type RegisteredSchema, SchemaFault } from '../src/stream/schema-registry.ts'

/** A value in a registry's frame, decoded; or why it can't be. */
export type DecodedValue = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly why: string }

/** Decodes one value of a topic. Rejects where the registry has to be asked again. */
export type DecodeValue = (value: Buffer, topic?: string) => Promise<DecodedValue>

/** Schemas that are kept, and ids of which nothing can be had; beyond that the one goes that was met first. */
const MOST_KEPT = 1_000
/** For so long it is remembered that of an id nothing can be had, in ms: the registry may get it. */
const UNKNOWN_MS = 10_000
/** So often a second the registry is asked for an id of which nothing can be had, and so often at once, for each topic. */
const MISSES = { perSecond: 10, atOnce: 50 }
/** Before the value: a zero, and the schema's id in four bytes. */
const FRAME_BYTES = 5

/**
 * Decodes values that a registry frames, by the schemas of `schemaOf`, each asked for once. Made-up ids take no schema's place, and are
 * asked for so seldom that nobody waits for their answers; those of one topic keep no other from being asked for its own.
 */
export function registryDecoder(schemaOf: (id: number) => Promise<RegisteredSchema>, clock: () => number): DecodeValue {
  const known = new Map<number, ReadBytes>()
  const faults = new Map<number, { readonly why: string; readonly until: number }>()
  const missesOf = new Map<string, { count: number; since: number }>()

  const missed = (id: number, why: string): DecodedValue => {
    faults.delete(id)
    keep(faults, id, { why, until: clock() + UNKNOWN_MS })
    return { ok: false, why }
  }

  return async (value, topic = '') => {
    if (value.length < FRAME_BYTES || value[0] !== 0)
      return { ok: false, why: 'the value is not in the frame of a schema registry' }
    if (value.length > MOST_BYTES) return { ok: false, why: `${value.length} bytes exceed the limit of ${MOST_BYTES}` }
    const id = value.readUInt32BE(1)
    let read = known.get(id)
    if (read === undefined) {
      const now = clock()
      const misses = missesOf.get(topic) ?? { count: 0, since: now }
      misses.count = Math.max(0, misses.count - (Math.max(0, now - misses.since) * MISSES.perSecond) / 1_000)
      misses.since = now
      missesOf.set(topic, misses)
      const fault = faults.get(id)
      if (fault !== undefined && fault.until >= now) return { ok: false, why: fault.why }
      if (misses.count >= MISSES.atOnce)
        return { ok: false, why: `schema ${id} was not asked for: too many ids are none that the registry has` }
      try {
        read = await readerOf(await schemaOf(id))
      } catch (error) {
        if (!(error instanceof SchemaFault || error instanceof UnmappedRecord)) throw error
        misses.count++
        return missed(id, error.message)
      }
      keep(known, id, read)
    }
    try {
      return { ok: true, value: read(value.subarray(FRAME_BYTES)) }
    } catch (error) {
      if (error instanceof UnmappedRecord) return { ok: false, why: error.message }
      throw error
    }
  }
}

function keep<Value>(kept: Map<number, Value>, id: number, value: Value): void {
  const [oldest] = kept.keys()
  if (kept.size >= MOST_KEPT && oldest !== undefined) kept.delete(oldest)
  kept.set(id, value)
}

async function readerOf({ type, schema, references }: RegisteredSchema): Promise<ReadBytes> {
  switch (type) {
    case 'AVRO':
      return avroReader(schema, [...references.values()])
    case 'PROTOBUF': {
      // Loaded only where it is needed.
      const { protobufReader } = await import('../src/mapping/protobuf.ts')
      return protobufReader(schema, references)
    }
    case 'JSON':
      return exactJsonValue
  }
}
