import { z } from 'zod'
import { leftOut } from './cut.ts'

/** Which thread: post ids are unique within a tenant only, and counterspeech has ids of its own. */
export interface ThreadRef {
  readonly tenant: string
  readonly postId: string
  readonly kind: SubjectKind
}

/** `post` came on the posts topic, `reply` on the counterspeech topic: a text that answers hate speech. */
export const SUBJECT_KINDS = ['post', 'reply'] as const
export type SubjectKind = (typeof SUBJECT_KINDS)[number]

export const post = z.object({
  id: z.string(),
  text: z.string(),
  /** What intake left out of the text. The text itself can't say: whoever wrote it could write that too. */
  cut: leftOut.optional(),
  author: z.string().optional(),
  authorSince: z.number().optional(),
  lang: z.string().optional(),
  /** ms since 1970 */
  createdAt: z.number(),
  media: z
    .array(
      z.object({
        kind: z.literal('image'),
        url: z.string().optional(),
        /** What the author says that it shows. */
        alt: z.string().optional(),
        /** What a vision model saw, where a data set says it; no message can. */
        description: z.string().optional(),
        /** What intake left out of these words. */
        cut: leftOut.optional(),
      }),
    )
    .optional(),
  /** Counterspeech: the hate speech that the text answers. */
  hateSpeech: z.string().optional(),
  /** What intake left out of `hateSpeech`. */
  hateSpeechCut: leftOut.optional(),
})
export type Post = z.infer<typeof post>
export type Medium = NonNullable<Post['media']>[number]

/** What is best known of an image in words: what a vision model saw, else what the author says. */
export function shownIn({ description, alt }: Medium): string | undefined {
  return description ?? alt
}

export const comment = z.object({
  id: z.string(),
  parentId: z.string().optional(),
  text: z.string(),
  /** What intake left out of the text. */
  cut: leftOut.optional(),
  author: z.string().optional(),
  authorSince: z.number().optional(),
  /** ms since 1970 */
  createdAt: z.number(),
})
export type Comment = z.infer<typeof comment>

/** A post with the comments that stood under it at one moment, in order of time, then id. */
export const snapshot = z.object({
  post,
  comments: z.array(comment),
  /** Comments that the thread's cap left out. */
  leftOut: z.number().int(),
  /** Comments that their authors' share of the thread had no room for. */
  overAuthor: z.number().int().optional(),
})
export type Snapshot = z.infer<typeof snapshot>

/** Order of comments in a snapshot and among equal scores: time, then id. */
export function byTimeThenId(a: Comment, b: Comment): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
