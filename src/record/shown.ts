import type { ThreadRef } from '../contracts/facts/thread.ts'
import { commentKeysOf } from '../contracts/facts/verdict-id.ts'

// Which comments that were judged by themselves show which other comments of their post, as their transcripts have it: a deletion finds
// them by this, and reads of thousands under one post none.

/** The row of a transcript that may show any comment of its post names none. */
export const SHOWN = `
  CREATE TABLE IF NOT EXISTS shown (tenant TEXT, key TEXT, s BIGINT, PRIMARY KEY (tenant, key, s));
  CREATE INDEX IF NOT EXISTS shown_in ON shown (s);
`

/** By which keys it is found who shows one of these comments: not the comments' own keys, as the databases make them of rows. */
export function shownKeys({ postId }: ThreadRef, comments: Iterable<string>): string[] {
  const [ofPost] = commentKeysOf(postId)
  return ['', ...comments].map((comment) => `${ofPost}${comment}`)
}
