import { z } from 'zod'
import { entryOf } from './entry-of.ts'
import {
  amount,
  author,
  CLIP_KINDS,
  instant,
  isContent,
  lang,
  MAX_LANG_CHARS,
  MAX_MEDIA,
  MAX_NAME_BYTES,
  media,
  oddField,
  optionalId,
  type ReadField,
  readOptional,
  type SchemaFields,
  since,
  words,
} from './odd-fields.ts'
import { unreadWordsIn } from './unread-words.ts'
import { openList } from './verdict-fields.ts'

/** Longest id, in bytes: long enough for AT URIs, short enough for Redis and Kafka keys. */
const MAX_ID_BYTES = 512

export const id = z
  .string()
  .min(1)
  .refine((value) => Buffer.byteLength(value) <= MAX_ID_BYTES, `longer than ${MAX_ID_BYTES} bytes`)
  .refine((value) => value.isWellFormed(), 'holds half a character')
  // For the published schema: bytes can't be said there, and no text has more characters than bytes.
  .meta({ maxLength: MAX_ID_BYTES })

/** Longest id of a verdict, in characters: that of a comment whose ids and whose post's are percent-encoded throughout. */
const MAX_VERDICT_ID_CHARS = 3_300
export const idOfVerdict = z
  .string()
  .min(1)
  .refine((value) => value.length <= MAX_VERDICT_ID_CHARS, `longer than ${MAX_VERDICT_ID_CHARS} characters`)

export const TENANT_RULE = 'a tenant is 1 to 64 letters, digits, dots, dashes or underscores'
export const tenantName = z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, TENANT_RULE)
export const tenant = tenantName
  .default('default')
  .describe('The tenant that it belongs to. Ids are unique within a tenant.')
const createdAt = instant.describe('When it was written, ISO 8601 with an offset: the clock of the stream goes by it.')
const authorSince = instant.describe('Since when the author has the account, ISO 8601.')
const written = z.string().describe('The words. Cut at threads.maxTextChars.')
const authorName = z.string().meta({
  description: 'Who wrote it, by an id or a name that is the same in each of their messages.',
  maxLength: MAX_NAME_BYTES,
})
const deleted = z
  .literal(true)
  .describe('It was deleted: its words are erased, and other fields of the message are ignored.')

/** What people may say something of, by its kind; nobody judges comments by themselves yet. */
export const NAMED_KINDS = ['post', 'reply', 'comment'] as const

/** The fields by which a message says what it is about, beside its `subjectId`. */
export const aboutSubject = {
  subjectKind: z
    .enum(NAMED_KINDS)
    .describe('What the subjectId names; by default what the protocol judges. Of a comment, postId is needed.')
    .optional(),
  postId: id.describe('Of a comment: its post, and the record’s key. Of anything else it is ignored.').optional(),
}

/** A subject as a message names it. */
interface NamedSubject {
  readonly subjectId?: unknown
  readonly subjectKind?: unknown
  readonly postId?: unknown
}

/** A comment is named beside its post: a refinement, and its error. */
export const namesItsPost = ({ subjectKind, postId }: NamedSubject): boolean =>
  subjectKind !== 'comment' || postId !== undefined
export const WITHOUT_ITS_POST = { path: ['postId'], error: 'a comment is named beside its post' }

/** Kafka's key of what is said of a subject: the post's id, by which it stays in order with what concerns the same post. */
export function subjectKeyOf({ subjectId, subjectKind, postId }: NamedSubject): string {
  return String(subjectKind === 'comment' ? postId : subjectId)
}

/** Every field of a message that is read, and those that identify an envelope. */
export const MESSAGE_FIELDS: ReadonlySet<string> = new Set(
  `id postId subjectId parentId tenant text hateSpeech author authorSince by at lang createdAt media deleted protocol label note
  against why withdraw force opinion golden unseen kind subjectKind reach verdictId actionId decisionAt what ground clause since until
  countries source contact appeals automated type specversion payload schema op after before`.split(/\s+/),
)

/** What was odd about a message's optional fields. */
const odd = z.array(oddField).optional()

/** What a deletion is read for. */
const ENVELOPE = ['id', 'postId', 'tenant', 'createdAt'] as const

/**
 * A message as it comes: null is absent, and so is `deleted: false`. A deletion is read only for what it deletes: its
 * other fields may be empty or invalid. Of any other message the optional fields that are odd are left out, and named in
 * `odd`, and so are unknown ones that hold words; ids, tenant, time and `deleted` are never guessed. Fields that nobody knows are
 * not copied: a copy of hundreds is copied again and again while it grows.
 */
function arriving<Message extends z.ZodObject>(optional: Readonly<Record<string, ReadField>>, message: Message) {
  const names = Object.keys(message.shape)
  const known = new Set([...names, 'type'])
  return z.preprocess((whole) => {
    if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) return whole
    const given = whole as Readonly<Record<string, unknown>> // any object has fields
    const deleted = entryOf(given, 'deleted')
    if (deleted === true) {
      const [id, postId, tenant, createdAt] = ENVELOPE.map((name) => entryOf(given, name))
      return { id, postId: postId ?? undefined, tenant: tenant ?? undefined, createdAt, deleted }
    }
    const living = deleted === undefined || deleted === null || deleted === false
    const value: SchemaFields = {}
    for (const name of names) {
      const one = entryOf(given, name)
      if (one !== undefined && !(living && name === 'deleted')) value[name] = one
    }
    return readOptional(value, optional, unreadWordsIn(given, known))
  }, message)
}

/** A hash of 256 bits. */
const digest = z.string().meta({ pattern: '^[0-9A-Fa-f]{64}$' })

const image = z.object({
  kind: z.literal('image'),
  url: z
    .string()
    .meta({ description: 'An https: or data: URL.', pattern: '^([Hh][Tt][Tt][Pp][Ss]://|[Dd][Aa][Tt][Aa]:)' })
    .optional(),
  alt: z.string().describe("The author's own words for it: a claim, never taken for a look at it.").optional(),
  sha256: digest.describe('The SHA-256 of its bytes, in hexadecimal digits.').optional(),
  pdq: digest.describe('Its perceptual hash (PDQ), in hexadecimal digits.').optional(),
})

/** A single picture of a clip. */
const frame = image.extend({
  at: z.number().min(0).describe('When it is seen in the clip, in seconds from its beginning.').optional(),
})

const clip = z.object({
  kind: z
    .enum(CLIP_KINDS)
    .describe(
      'It is judged by what is given of it. Without what is said in it, or of a video without pictures, no benign label is given.',
    ),
  transcript: z
    .string()
    .describe('What is said in it. Cut at threads.maxTextChars, which all clips of a post share.')
    .optional(),
  frames: z.array(frame).meta({ description: 'Single pictures of it.', maxItems: MAX_MEDIA }).optional(),
  seconds: z.number().min(0).describe('How long it is.').optional(),
})

export const postMessage = arriving(
  { text: words, author, authorSince: since, lang, media, reach: amount },
  z
    .object({
      id: id.describe("The post's id, and the record's key."),
      tenant,
      text: written.optional(),
      author: authorName.optional(),
      authorSince: authorSince.optional(),
      lang: z.string().meta({ description: 'Its language, a BCP 47 tag.', maxLength: MAX_LANG_CHARS }).optional(),
      createdAt,
      media: z
        .array(z.union([image, clip]))
        .meta({ description: 'Its images, videos and audio clips.', maxItems: MAX_MEDIA })
        .optional(),
      reach: z
        .number()
        .min(0)
        .describe('How many people have seen it, or may have. No edit: it changes no verdict.')
        .optional(),
      odd,
      deleted: deleted.optional(),
    })
    .superRefine((post, context) => {
      if (post.deleted === true || (post.text ?? '') !== '' || (post.media ?? []).length > 0) return
      for (const { field, why } of (post.odd ?? []).filter(isContent))
        context.addIssue({ code: 'custom', path: field.split('.'), message: why })
      context.addIssue({ code: 'custom', message: 'a post has a text or media' })
    }),
)

export const commentMessage = arriving(
  { text: words, author, authorSince: since, parentId: optionalId(id) },
  z
    .object({
      id: id.describe("The comment's id. A message with a known one and another text is an edit."),
      postId: id.describe("The post's id, and the record's key."),
      tenant,
      parentId: id.describe('The comment that it answers; absent where it answers the post.').optional(),
      text: written.optional(),
      author: authorName.optional(),
      authorSince: authorSince.optional(),
      createdAt,
      odd,
      deleted: deleted.optional(),
    })
    .refine(({ deleted, text }) => deleted === true || text !== undefined, {
      path: ['text'],
      error: 'a comment has one',
    }),
)

/** Longest note that a person may add to feedback, in characters. */
const MAX_NOTE_CHARS = 2_000

const said = z
  .string()
  .overwrite((value) => value.toWellFormed())
  .refine((text) => text.trim() !== '', 'is empty')
  .meta({ pattern: '\\S' })

/** A reply to hate speech; `text` is the reply. `postId` is the post under which it was written, if known. */
export const counterspeechMessage = arriving(
  { author },
  z
    .object({
      id: id.describe("The reply's id; the record's key where it names no post."),
      tenant,
      postId: id
        .describe("The post under which it was written, and the record's key: it goes with that post.")
        .optional(),
      hateSpeech: said.describe('What it answers.').optional(),
      text: said.describe('The reply.').optional(),
      author: authorName.optional(),
      createdAt,
      odd,
      deleted: deleted.optional(),
    })
    .refine(({ deleted, hateSpeech }) => deleted === true || hateSpeech !== undefined, {
      path: ['hateSpeech'],
      error: 'a reply needs hateSpeech, the text that it answers',
    })
    .refine(({ deleted, text }) => deleted === true || text !== undefined, {
      path: ['text'],
      error: 'a reply has one',
    }),
)

/** A person's view of what a verdict's label should have been. Its `at` is the `createdAt` for the stream's clock. */
export const feedbackMessage = z
  .preprocess(
    (value) => readOptional(value, { note: words }),
    z
      .object({
        subjectId: id.describe("The verdict's subjectId."),
        tenant,
        ...aboutSubject,
        protocol: z.string().min(1).max(64).describe("The verdict's protocol."),
        label: z.string().min(1).max(64).describe('The label that it should have had.'),
        by: id.describe('The person who gave it.'),
        at: instant.describe('The time of the feedback, ISO 8601 with an offset.'),
        note: z
          .string()
          .overwrite((note) => note.slice(0, MAX_NOTE_CHARS).toWellFormed())
          .describe(`Why; the first ${MAX_NOTE_CHARS} characters are read.`)
          .optional(),
        sawLabel: z
          .boolean()
          .describe(
            "Whether Gavel's label was shown to the person before they chose; leave it out where that is not known.",
          )
          .optional(),
      })
      .refine(namesItsPost, WITHOUT_ITS_POST),
  )
  .transform((feedback) => ({ ...feedback, createdAt: feedback.at }))

/** A line of a produce file: a message, the topic it belongs to, and the ids by which it is found there. */
export const produceLine = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('post'), id: z.string().min(1) }),
  z.looseObject({ type: z.literal('comment'), id: z.string().min(1), postId: z.string().min(1) }),
  z.looseObject({ type: z.literal('counterspeech'), id: z.string().min(1) }),
  z.looseObject({ type: z.literal('feedback'), subjectId: z.string().min(1) }),
])

/** What messages say: which topic they belong to. */
export type MessageType = z.infer<typeof produceLine>['type']

/** Kafka's key of a message, by which it stays in order with what concerns the same subject. */
export function keyOf(type: MessageType, message: Readonly<Record<string, unknown>>): string {
  switch (type) {
    case 'post':
      return String(message.id)
    case 'comment':
      return String(message.postId)
    case 'counterspeech':
      return String(message.postId ?? message.id)
    case 'feedback':
      return subjectKeyOf(message)
  }
}

export type PostMessage = z.infer<typeof postMessage>
export type CommentMessage = z.infer<typeof commentMessage>
export type CounterspeechMessage = z.infer<typeof counterspeechMessage>
export type FeedbackMessage = z.infer<typeof feedbackMessage>

/** The possible outcomes of an input message: each has exactly one. */
export const OUTCOMES = [
  'judged',
  'duplicate',
  'updated',
  'deleted',
  'late',
  'orphan',
  'unrouted',
  'dead-letter',
] as const
export type Outcome = (typeof OUTCOMES)[number]

export const DEAD_LETTER_REASONS = [
  'not-json',
  'invalid',
  'too-large',
  'corrupt-batch',
  'future',
  'orphan-expired',
  'unjudgeable',
  'unmapped',
  'over-share',
  'refused',
] as const
export type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number]

/** A message that could not be read or judged, as it is on the dead-letters topic. */
export const deadLetter = z.object({
  schema: z.literal(1),
  topic: z
    .string()
    .describe("The topic of the message; of reason refused, the one that would not take Gavel's record."),
  partition: z.number().int().describe('-1 where the reason is refused, and so is the offset.'),
  offset: z.string(),
  key: z.string().nullable(),
  headers: z
    .record(z.string(), z.string())
    .describe("At most the first 32 of the message's headers, each name and value cut to 256 characters."),
  reason: openList('Why it is one.', DEAD_LETTER_REASONS),
  detail: z.string().describe('The reason in words.'),
  raw: z.string().describe("The message's bytes, as base64: at most 256 KiB of them."),
  rawBytes: z.number().int().describe('How many bytes the whole message has.'),
  truncated: z.boolean().describe('Whether raw is less than the whole message.'),
  at: z
    .string()
    .describe("The broker's timestamp: with the offset it identifies one message, even if the topic was recreated."),
})
export type DeadLetter = z.infer<typeof deadLetter>
