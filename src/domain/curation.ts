import type { Ask } from './ask.ts'
import type { Snapshot } from './thread.ts'
import type { Turn } from './verdict.ts'

/** A turn of a transcript without its prompt, which is most of it. */
export type ClosedTurn = Pick<Turn, 'stage' | 'role' | 'answer' | 'failed'>

/** A case whose true label is known, with the whole argument that led to its verdict. */
export interface ClosedCase {
  /** The post in words. */
  readonly subject: string
  /** The transcript's, in order; what the library answered is passed over. */
  readonly turns: readonly ClosedTurn[]
  /** One of the curation's labels; null where nothing could be decided. */
  readonly verdict: string | null
  /** One of the curation's labels. */
  readonly truth: string
}

/** What the case library keeps of a case: the lesson, and no word on whom it was about. */
export interface Lesson {
  readonly reasoning: string
  readonly keyCues: readonly string[]
  readonly summary: string
}

/** How a protocol's cases are learnt from: it knows what its transcripts hold, and what to ask about them in hindsight. */
export interface Curation {
  /** The labels that its question knows. */
  readonly labels: readonly string[]
  /** A case in words, as it is looked for on a shelf: what was judged, and what the turns say of its images. */
  words(subject: Snapshot, turns: readonly ClosedTurn[]): string
  /** The question to the curator, a role of its own in the settings. */
  ask(closed: ClosedCase): Ask<Lesson>
}
