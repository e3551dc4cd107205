import type { CaseworkEntry } from '../facts/casework.ts'

/** Tells who is to review what. */
export interface CaseworkDesk {
  /** Resolves when the entry is kept; rejects, soon, if that is not known. */
  tell(entry: CaseworkEntry): Promise<void>
}
