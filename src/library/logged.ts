import type { LoggedChange } from '../ports/library.ts'
import { placeOf } from './names.ts'
import type { ChangeRecord } from './storage.ts'

/** A change as the history shows it. */
export function toldOf({ replaced: _, kind, ...logged }: ChangeRecord): LoggedChange {
  return { ...logged, kind: logged.item === undefined ? kind : 'take-back', ...placeOf(logged.shelf) }
}
