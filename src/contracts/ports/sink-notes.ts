import type { ThreadRef } from '../facts/thread.ts'

/** Which entries of the setting `sinks` have had a record of a subject by a protocol, of those that have a condition. Durable. */
export interface SinkNotes {
  /** Notes that these get one. Resolves to all that have had one; they are kept anew. Repeatable. */
  note(
    of: { readonly ref: ThreadRef; readonly protocol: string },
    entries: readonly string[],
  ): Promise<ReadonlySet<string>>
}
