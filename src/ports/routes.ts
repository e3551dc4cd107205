import type { Post, ThreadRef } from '../domain/thread.ts'

/** A protocol that judges a subject, as far as intake asks. */
export interface Judging {
  readonly name: string
  /** A thread is judged at its checkpoints; a post or reply by itself, at once. */
  readonly subject: 'thread' | 'post' | 'reply'
}

/** Names of the protocols that have given a verdict on a subject. */
export type GivenVerdicts = Pick<ReadonlyMap<string, unknown>, 'has'>

/** Says which protocols judge a subject, whatever the number of its comments. Those in `given` were drawn for it before. */
export interface Routes {
  of(ref: ThreadRef, post: Post, given?: GivenVerdicts): readonly Judging[]
}
