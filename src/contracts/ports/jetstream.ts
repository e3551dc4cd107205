/** How far the reader of Jetstream has come: everything up to there is on the topics. */
export interface JetstreamPosition {
  /** When the relay saw the last event, µs since 1970. */
  readonly time: number
  /** The relay, and the event's number there; null where it gives none. */
  readonly relay: string
  readonly seq: number | null
}

/** What is known of a record, or of an account, of which something was sent. */
export interface TakenRecord {
  /** The revision of its repository that was sent last. Later ones are greater as texts. */
  readonly rev: string
  /** When it was written, ms since 1970: an edit of it keeps that. */
  readonly createdAt: number
  /** The post that a comment stands under; null: it is a post. */
  readonly root: string | null
  /** It was deleted, and stays so. */
  readonly isDeleted: boolean
}

/** What is to be remembered of events: of records and accounts by their addresses, and the authors whose accounts are gone. */
export interface NotedEvents {
  readonly taken: ReadonlyMap<string, TakenRecord>
  readonly gone: ReadonlySet<string>
}

/** What the reader of Jetstream remembers. All of it may be lost: then edits, replies and deletions of what came before are not recognized. */
export interface JetstreamStore {
  position(): Promise<JetstreamPosition | null>
  /** What is known of each of these, in their order. */
  taken(ids: readonly string[]): Promise<readonly (TakenRecord | null)[]>
  /** In one step, once all of it is on the topics. What was taken is remembered for so long, ms. */
  save(position: JetstreamPosition, noted: NotedEvents, keepMs: number): Promise<void>
  /** Some authors who are gone and wait to be erased. */
  gone(limit: number): Promise<readonly string[]>
  /** The erasure of this author is begun. */
  erased(author: string): Promise<void>
}
