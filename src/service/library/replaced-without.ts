import type { ChangeRecord, Version } from './storage.ts'

/**
 * What a change replaced, with the versions that `which` picks replaced by what `instead` returns; null leaves the item
 * out. Returns the same object if none is picked.
 */
export function replacedWithout(
  { replaced }: Pick<ChangeRecord, 'replaced'>,
  which: (version: Version) => boolean,
  instead: (id: string, version: Version) => Version | null,
): ChangeRecord['replaced'] {
  if (!Object.values(replaced).some(which)) return replaced
  return Object.fromEntries(
    Object.entries(replaced).flatMap(([id, version]) => {
      const now = which(version) ? instead(id, version) : version
      return now === null ? [] : [[id, now]]
    }),
  )
}
