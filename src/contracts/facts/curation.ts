import type { Ask } from './ask.ts'
import type { Snapshot } from './thread.ts'
import type { Turn } from './verdict.ts'

/** A turn of a transcript without its prompt, which is most of it. */
export type ClosedTurn = Pick<Turn, 'stage' | 'role' | 'answer' | 'failed'>

/** A case whose true label is known, with the whole argument that led to its verdict. */
export interface ClosedCase {
  /** The post in words, with what is known of its images. */
  readonly subject: string
  /** The transcript's turns, in order, without lookups. */
  readonly turns: readonly ClosedTurn[]
  /** One of the curation's labels; null if nothing could be decided. */
  readonly verdict: string | null
  /** One of the curation's labels. */
  readonly truth: string
}

/** What the case library keeps of a case: the lesson, without any details of the people in it. */
export interface Lesson {
  readonly reasoning: string
  readonly keyCues: readonly string[]
  readonly summary: string
}

/** How to learn from a protocol's cases: it knows what its transcripts contain, and what to ask about them in hindsight. */
export interface Curation {
  /** The labels that its question uses. */
  readonly labels: readonly string[]
  /** A case in words, for searching a shelf: what was judged, and what the turns say about its images. */
  words(subject: Snapshot, turns: readonly ClosedTurn[]): string
  /** The question to the curator, which has a role of its own in the settings. */
  ask(closed: ClosedCase): Ask<Lesson>
}
