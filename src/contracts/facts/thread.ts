import { z } from 'zod'
import { isBlank } from './blank.ts'
import type { TextCut } from './cut.ts'
import { CLIP_KINDS, oddField } from './odd-fields.ts'

/** Identifies a thread: post ids are unique only within a tenant, and counterspeech has ids of its own. */
export interface ThreadRef {
  readonly tenant: string
  readonly postId: string
  readonly kind: SubjectKind
}

/** `post` came on the posts topic, `reply` on the counterspeech topic: a text that answers hate speech. */
export const STREAMED_KINDS = ['post', 'reply'] as const
/**
 * `comment` is a comment that is judged by itself, beside its thread; its id is that of `commentKey` (verdict-id.ts). `asked` is one
 * request to judge a post or reply apart from the stream; its id is the request's.
 */
export const SUBJECT_KINDS = [...STREAMED_KINDS, 'comment', 'asked'] as const
export type SubjectKind = (typeof SUBJECT_KINDS)[number]

const cutAway: z.ZodType<TextCut> = z.object({ left: z.int(), of: z.int() })

const image = z.object({
  kind: z.literal('image'),
  url: z.string().optional(),
  /** The author's description of the image. */
  alt: z.string().optional(),
  sha256: z.string().optional(),
  pdq: z.string().optional(),
  /** What a vision model saw, according to a data set; never from a message. */
  description: z.string().optional(),
  /** What intake left out of the author's description. */
  cut: cutAway.optional(),
  /** Of a picture of a clip: when it is seen there, in seconds from its beginning. */
  at: z.number().optional(),
  /** The same in words, as protocols read it; never kept. */
  of: z.string().optional(),
})

const clip = z.object({
  kind: z.enum(CLIP_KINDS),
  transcript: z.string().optional(),
  /** What intake left out of the transcript. */
  cut: cutAway.optional(),
  frames: z.array(image).optional(),
  seconds: z.number().optional(),
})

export const comment = z.object({
  id: z.string(),
  parentId: z.string().optional(),
  text: z.string(),
  /** What intake left out of the text. */
  cut: cutAway.optional(),
  author: z.string().optional(),
  authorSince: z.number().optional(),
  /** ms since 1970 */
  createdAt: z.number(),
  /** As of a post. */
  odd: z.array(oddField).optional(),
})
export type Comment = z.infer<typeof comment>

/** What stands around a comment: its words, and what was left out of them. */
const wordsAround = z.object({ text: z.string(), cut: cutAway.optional() })

export const post = z.object({
  id: z.string(),
  text: z.string(),
  /** What intake left out of the text. It can't be marked in the text itself: its author could write such a mark too. */
  cut: cutAway.optional(),
  author: z.string().optional(),
  authorSince: z.number().optional(),
  lang: z.string().optional(),
  /** ms since 1970 */
  createdAt: z.number(),
  /** Its images. */
  media: z.array(image).optional(),
  /** Its videos and audio clips: `odd` names what was not given of each. */
  clips: z.array(clip).optional(),
  /** Of a comment that is judged by itself: the comment that it answers. */
  parentId: z.string().optional(),
  /** Counterspeech: the hate speech that the text replies to. */
  hateSpeech: z.string().optional(),
  /** What intake left out of `hateSpeech`. */
  hateSpeechCut: cutAway.optional(),
  /** The fields of its message that were odd: left out, or read as they say; and what was not given of its clips. */
  odd: z.array(oddField).optional(),
  /** The hash of the mapping that made its message. Before `reach`: the store tells an edit without either. */
  mapping: z.string().optional(),
  /** Last of what its message says. */
  reach: z.number().optional(),
  /** Of kind `asked`: the protocols that are to judge it. */
  asked: z.array(z.string()).optional(),
  /** Of kind `asked`, a comment: its post's id, and what it is shown with, as far as whoever asks gave it. */
  around: z.object({ postId: z.string(), under: wordsAround.nullable(), answered: comment.nullable() }).optional(),
})
export type Post = z.infer<typeof post>
export type Medium = NonNullable<Post['media']>[number]
export type Clip = NonNullable<Post['clips']>[number]

/** What of a post is judged, in any order of time the same: who has seen it is no edit, nor by which mapping it came. */
export function judgedPart({ reach: _, mapping: __, ...judged }: Post): Omit<Post, 'reach' | 'mapping'> {
  return judged
}

/** The post as it came through this mapping. */
export function mappedBy(mapping: string | undefined, { reach, ...said }: Post): Post {
  return { ...said, ...(mapping === undefined ? {} : { mapping }), ...(reach === undefined ? {} : { reach }) }
}

/** Whether it has anything but words. */
export function hasMedia({ media = [], clips = [] }: Pick<Post, 'media' | 'clips'>): boolean {
  return media.length + clips.length > 0
}

/** The best known description of an image: a vision model's, else the author's. */
export function shownIn({ description, alt }: Medium): string | undefined {
  return description ?? alt
}

/** Whether anything is known in words about what an image shows. */
export function isDescribed(medium: Medium): boolean {
  return !isBlank(shownIn(medium) ?? '')
}

/** A post with its comments at one moment, ordered by time, then id; or a comment that is judged, in the place of the post. */
export const snapshot = z.object({
  post,
  /** Of a comment that is judged, what it answers, if that is known: shown with it, and not judged. */
  comments: z.array(comment),
  /** Of a comment that is judged: the words of the post that it stands under, shown with it and not judged; null if it is not known. */
  under: wordsAround.nullable().optional(),
  /**
   * Comments under other posts in the same words, each under the key of its post and itself (`commentKey`): shown beside the thread's
   * own, of which they are none. Absent where there are none, or a protocol is not shown any.
   */
  elsewhere: z.array(comment).optional(),
  /** How many comments the thread's cap left out. */
  leftOut: z.number().int(),
  /** How many comments were above their authors' share. */
  overAuthor: z.number().int().optional(),
  /** How many comments are left out because their authors took too many others back while this was judged. */
  tookBack: z.number().int().optional(),
})
export type Snapshot = z.infer<typeof snapshot>

/** Order of comments in a snapshot and among equal scores: time, then id. */
export function byTimeThenId(a: Comment, b: Comment): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}

/**
 * A tenant's open cases are limited to this many times the free slots; beyond the limit, an extra share (one in this
 * many) is reserved for other tenants.
 */
export const TENANT_SHARE = 8

/**
 * How many deleted comments a thread remembers for each comment that it may keep; those that it never saw are dropped
 * first. They take no place from the comments themselves.
 */
export const TOMBSTONES = 8

/** How many comments' origins a thread keeps, while its post is missing, for each comment that it may keep. */
export const ORIGINS = 32

/** Characters of a post that weigh as much as one more comment of its thread: the longest that is kept of one. */
export const COMMENT_CHARACTERS = 10_000
