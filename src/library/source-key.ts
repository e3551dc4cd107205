import { hashOf } from './names.ts'

/** By what a row is known to be a data set's item, whose id this is. */
export function sourceKey(sourceId: string): string {
  return hashOf('item', sourceId).slice(0, 32)
}
