import type { z } from 'zod'
import type { transcript, verdict } from '../contracts/facts/verdict.ts'
import type { CitedClause } from '../contracts/facts/verdict-fields.ts'

// What goes to the door and comes from it. Times are ISO 8601 with an offset; the tenant is the key's.

export type Verdict = z.infer<typeof verdict>
export type Transcript = z.infer<typeof transcript>

interface Deletion {
  readonly deleted: true
}

export interface Image {
  readonly kind: 'image'
  /** An https: or data: URL. */
  readonly url?: string
  /** The author's own words for it. */
  readonly alt?: string
  /** Of its bytes, in hexadecimal digits. */
  readonly sha256?: string
  /** Its perceptual hash (PDQ), in hexadecimal digits. */
  readonly pdq?: string
}

/** A video or an audio clip. It is judged by what is given of it; without what is said in it, or of a video without pictures, nothing benign is said of its post. */
export interface Clip {
  readonly kind: 'video' | 'audio'
  /** What is said in it. */
  readonly transcript?: string
  /** Single pictures of it, each with when it is seen, in seconds. */
  readonly frames?: readonly (Image & { readonly at?: number })[]
  /** How long it is. */
  readonly seconds?: number
}

/** A post's own content. It has a text, or media. */
export interface PostContent {
  readonly text?: string
  readonly author?: string
  readonly authorSince?: string
  /** A BCP 47 tag. */
  readonly lang?: string
  readonly media?: readonly (Image | Clip)[]
  /** How many people have seen it, or may have. */
  readonly reach?: number
}
export interface CommentContent {
  readonly text: string
  /** The comment that it answers; left out where it answers the post. */
  readonly parentId?: string
  readonly author?: string
  readonly authorSince?: string
}
export interface ReplyContent {
  /** What it answers. */
  readonly hateSpeech: string
  readonly text: string
}

interface PostIds {
  readonly type: 'post'
  readonly id: string
  readonly createdAt: string
}
interface CommentIds {
  readonly type: 'comment'
  readonly id: string
  readonly postId: string
  readonly createdAt: string
}
interface CounterspeechIds {
  readonly type: 'counterspeech'
  readonly id: string
  readonly author?: string
  /** The post under which it was written. */
  readonly postId?: string
  readonly createdAt: string
}

export type Post = PostIds & (PostContent | Deletion)
export type Comment = CommentIds & (CommentContent | Deletion)
export type Counterspeech = CounterspeechIds & (ReplyContent | Deletion)

/** What something is said of. */
interface About {
  readonly subjectId: string
  /** By default what the protocol judges. */
  readonly subjectKind?: 'post' | 'reply' | 'comment'
  /** Of a comment: its post. */
  readonly postId?: string
}

/** What a verdict's label should have been. */
export interface Feedback extends About {
  readonly type: 'feedback'
  readonly protocol: string
  readonly label: string
  readonly by: string
  readonly at: string
  readonly note?: string
  /** Whether Gavel's label was shown to the person before they chose. */
  readonly sawLabel?: boolean
}

/** Anything that is sent. A decision among messages has a time, and needs a key that may decide. */
export type Message =
  | Post
  | Comment
  | Counterspeech
  | Feedback
  | (Decision & { readonly type: 'decision'; readonly at: string })

/** What became of messages. */
export interface Sent {
  readonly accepted: number
  readonly refused: number
  readonly items: readonly {
    /** Its place in the request, from 0. */
    readonly index: number
    readonly id: string | null
    readonly status: 'acknowledged' | 'refused'
    /** Fields that nobody reads. */
    readonly ignored?: readonly string[]
    readonly problem?: { readonly type: string; readonly detail: string }
  }[]
}

interface JudgingOptions {
  /** Who judges; left out, as the routes have it. */
  readonly protocols?: readonly string[]
  /** Seconds, 0 to 60. */
  readonly wait?: number
  /** Puts it on the topics, too. */
  readonly stream?: boolean
  /** Sends its verdicts to the webhooks of the tenant, too. */
  readonly webhook?: boolean
}

/** What is to be judged: a post, with comments if there are some, a reply, or a comment by itself. Ids and times may be left out. */
export type Judging = JudgingOptions &
  (
    | {
        readonly post: PostContent & { readonly id?: string; readonly createdAt?: string }
        readonly comments?: readonly (CommentContent & {
          readonly id?: string
          readonly postId?: string
          readonly createdAt?: string
        })[]
      }
    | {
        readonly comment: CommentContent & {
          readonly id?: string
          readonly postId?: string
          readonly createdAt?: string
        }
        /** What it is shown with, which is not judged. */
        readonly post?: PostContent & { readonly id?: string; readonly createdAt?: string }
        readonly parent?: CommentContent & { readonly id?: string; readonly createdAt?: string }
      }
    | { readonly reply: ReplyContent & { readonly id?: string; readonly postId?: string; readonly createdAt?: string } }
  )

/** Verdicts so far. */
export interface Judged {
  readonly id: string
  /** Where it is answered, and until when. */
  readonly url: string
  readonly until: string
  readonly done: boolean
  /** As on the topic; `subject` is the id that you gave. */
  readonly verdicts: readonly (Verdict & { readonly subject: string })[]
  /** Protocols whose verdict is to come. */
  readonly missing: readonly string[]
  /** In the answer to the question itself, beside a verdict of a first lane: what may replace it. Empty: nothing does. */
  readonly supersededBy?: readonly ('stream' | 'person')[]
  readonly transcripts?: readonly Transcript[]
  readonly ignored?: readonly string[]
}

/** What is known of a streamed post or reply, or of a comment that is judged by itself. */
export interface Subject {
  readonly id: string
  readonly kind: 'post' | 'reply' | 'comment'
  /** Of a comment: its post. */
  readonly postId?: string
  readonly tenant: string
  readonly deleted: boolean
  readonly status: string
  readonly comments: { readonly accepted: number; readonly kept: number; readonly late: number }
  readonly final: boolean
  readonly dueSince: string | null
  readonly nextAge: string | null
  readonly waitsFor: readonly string[]
  readonly open: readonly {
    readonly id: string
    readonly protocol: string
    readonly revision: number
    readonly final: boolean
    readonly openedAt: string | null
    readonly decided: boolean
  }[]
  readonly revisions: Readonly<
    Record<string, { readonly revision: number; readonly final: boolean; readonly published: number }>
  >
  /** Verdicts that stand, where the record is kept. */
  readonly standing?: readonly Verdict[]
  readonly transcripts?: readonly Transcript[]
}

/** How far the erasure of all that a person wrote is. */
export interface AuthorErasure {
  readonly erasure: string
  readonly tenant: string
  /** `sending`: deletions of what is found are sent; `sent`: they are carried out; `done`: they were. */
  readonly state: 'asked' | 'sending' | 'sent' | 'done'
  readonly waitsFor: 'intake' | 'record' | 'shelves' | null
  /** How many posts, comments and replies were deleted so far. */
  readonly sent: number
  readonly askedAt: string
  readonly doneAt: string | null
  /** What stays for longer, and where. */
  readonly stays: readonly string[]
}

/** A person's verdict in place of the machines', or its withdrawal. */
export type Decision = About & {
  readonly protocol: string
  /** The revision that the person saw; 0 for none. */
  readonly against: number
  readonly why: string
  readonly kind?: 'post' | 'reply'
  /** A repeat has the same. */
  readonly at?: string
  readonly force?: boolean
  readonly opinion?: boolean
  /** Of an opinion on a golden item: the key, by which others are checked, or such an answer. */
  readonly golden?: 'key' | 'answer'
  /** The clauses of the policy that the label rests on, and words of the post that break them. */
  readonly clauses?: readonly CitedClause[]
  /** The reason's code, by the platform's own list. */
  readonly code?: string
  /** How long it was shown to them before they decided. */
  readonly seconds?: number
  /** The appeals that it answers, by their ids; needs `code`. */
  readonly appeals?: readonly string[]
  /** What is to become of the actions that these appeals are against, where the label stays; by default they are kept. */
  readonly measure?: 'keep' | 'lessen' | 'lift'
  /** The label in force was shown before they chose. */
  readonly sawLabel?: boolean
  /** An image could not be shown to the person as it was judged. */
  readonly unseen?: true
} & ({ readonly label: string } | { readonly withdraw: true })

/** What came of a decision. */
export interface Decided {
  /** Its place on the topic of decisions: PARTITION@OFFSET. */
  readonly of: string
  readonly by: string
  /** `unheard`: it stands on its topic, and is carried out as soon as it is read. */
  readonly outcome: 'stands' | 'withdrawn' | 'noted' | 'duplicate' | 'unheard'
  readonly verdict?: string | null
}
