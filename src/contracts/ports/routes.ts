import type { Post, ThreadRef } from '../facts/thread.ts'

/** A protocol that judges a subject, as far as intake needs it. */
export interface JudgingProtocol {
  readonly name: string
  /** A thread is judged at its checkpoints; a post or reply by itself, at once. */
  readonly subject: 'thread' | 'post' | 'reply'
  /** What a late or wrong verdict of it costs beside others' (src/judging/threads/head-start.ts), from 1 on; 1 where it does not say. */
  readonly lateCost?: number
}

/** Names of the protocols that have already given a verdict on a subject. */
export type GivenVerdicts = Pick<ReadonlyMap<string, unknown>, 'has'>

/** Decides which protocols judge a subject, whatever its number of comments. Sampling never leaves out those in `given`. */
export interface Routes {
  /** Whether any protocol judges comments by themselves. */
  readonly takeComments: boolean
  of(ref: ThreadRef, post: Post, given?: GivenVerdicts): readonly JudgingProtocol[]
}
