import type { DecodedValue, DecodeValue } from '../../../../consumers/registry-values.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { TopicMapping } from '../../../mapping/mapping.ts'
import type { RawRecord, RecordMapping } from '../../../mapping/source.ts'
import { RegistryAway } from '../../../stream/schema-registry.ts'

/** What a mapping makes of a record whose value is as on its topic. Throws an `OperatorError` where the registry does not answer. */
export async function mappedBy(
  mapping: TopicMapping | undefined,
  record: RawRecord,
  decode: DecodeValue | undefined,
): Promise<RecordMapping | null> {
  if (mapping === undefined) return null
  const decoded = await decodedBy(mapping, record, decode)
  return decoded === undefined || decoded.ok ? mapping.map(record, decoded) : decoded
}

/** A record's value by the schema of the registry; undefined where it is JSON, or nothing. Throws like {@link mappedBy}. */
export async function decodedBy(
  { format }: Pick<TopicMapping, 'format'>,
  { value }: RawRecord,
  decode: DecodeValue | undefined,
): Promise<DecodedValue | undefined> {
  if (format === 'json' || value === null || decode === undefined) return undefined
  try {
    return await decode(value)
  } catch (error) {
    if (error instanceof RegistryAway)
      throw new OperatorError(`${error.message} (schemaRegistry.url).`, { cause: error })
    throw error
  }
}
