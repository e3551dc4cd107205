import type { LoggedChange } from '../ports/library.ts'
import { placeOf } from './names.ts'
import { type ChangeRecord, DamagedFiles } from './storage.ts'

/** A change as the history shows it. */
export function toldOf({ replaced: _, torn: __, kind, damaged, ...logged }: ChangeRecord): LoggedChange {
  const told = { ...logged, kind: logged.item === undefined ? kind : ('take-back' as const), ...placeOf(logged.shelf) }
  return damaged === undefined ? told : { ...told, damaged: DamagedFiles.ofChange(logged.id, undefined).message }
}
