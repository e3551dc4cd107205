import type { AuditEntry } from '../facts/audit.ts'

/** Keeps who saw and did what. */
export interface Audit {
  /** Resolves when the entry is kept; rejects, soon, if that is not known. */
  note(entry: AuditEntry): Promise<void>
}
