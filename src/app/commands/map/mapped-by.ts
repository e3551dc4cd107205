import type { DecodeValue } from '../../../../consumers/registry-values.ts'
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
  if (mapping.format === 'json' || record.value === null || decode === undefined) return mapping.map(record)
  try {
    const decoded = await decode(record.value)
    return decoded.ok ? await mapping.map(record, decoded) : decoded
  } catch (error) {
    if (error instanceof RegistryAway)
      throw new OperatorError(`${error.message} (schemaRegistry.url).`, { cause: error })
    throw error
  }
}
