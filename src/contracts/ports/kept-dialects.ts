import type { DialectPart } from '../facts/dialect.ts'

/** What `gavel doctor` has found out about models, by the place where each is asked, for all processes and for good. */
export interface KeptDialects {
  /** Replaces what was kept of a model; an empty part forgets it. */
  keep(place: string, part: DialectPart): Promise<void>
  read(): Promise<ReadonlyMap<string, DialectPart>>
}
