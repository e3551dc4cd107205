import type { AuditEntry } from '../facts/audit.ts'

/** Keeps who saw and did what. */
export interface Audit {
  /** Resolves when the entry is kept; rejects, soon, if that is not known. */
  note(entry: AuditEntry): Promise<void>
}

/** A point among the entries, from the newest to the oldest: before all of this time, or behind the one of it at this place. */
export interface AuditPoint {
  /** ms since 1970 */
  readonly at: number
  readonly place?: { readonly partition: number; readonly offset: bigint } | undefined
}

/** Which entries of the audit are asked for. */
export interface AuditQuery {
  /** ms since 1970 */
  readonly since: number
  /** Entries behind this point; all where it is left out. */
  readonly before?: AuditPoint | undefined
  readonly by?: string | undefined
  /** Entries of these kinds and pages alone. */
  readonly what?: readonly AuditEntry['what'][] | undefined
  readonly pages?: readonly string[] | undefined
  /** What it is about: a verdict's id, or that of a post or reply. */
  readonly subject?: string | undefined
  /** Only verdicts on subjects of these tenants, and no entry without one. */
  readonly tenants?: readonly string[] | undefined
  readonly most: number
}

export interface AuditFindings {
  /** The newest first. */
  readonly entries: readonly AuditEntry[]
  /** What was read and not given, or not read, is behind this point, which is behind `before`; null: there is no more. */
  readonly next: AuditPoint | null
}

/** What the audit has kept. */
export interface AuditLog {
  /** Rejects if it can't be read. */
  find(query: AuditQuery, signal: AbortSignal): Promise<AuditFindings>
}
