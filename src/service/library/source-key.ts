import { hashOf } from './names.ts'

/** The `source` of a row that was imported from a data set: a hash of the item's id. */
export function sourceKey(sourceId: string): string {
  return hashOf('item', sourceId).slice(0, 32)
}
