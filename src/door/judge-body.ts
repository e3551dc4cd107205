import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { behindSpace, OPEN_LIST } from '../contracts/facts/json-walk.ts'
import {
  type CommentMessage,
  type CounterspeechMessage,
  commentMessage,
  counterspeechMessage,
  keyOf,
  type MessageType,
  type PostMessage,
  postMessage,
} from '../contracts/facts/messages.ts'
import { type ReadLimits, readValue } from '../contracts/facts/read-value.ts'
import type { Comment, Post } from '../contracts/facts/thread.ts'
import type { VerdictRequest } from '../contracts/ports/answers.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { OutgoingMessage } from '../contracts/ports/topic.ts'
import { pauses } from '../platform/pauses.ts'
import { entriesOf, fieldsOf, jsonOf } from './body.ts'
import { knownOf, MESSAGE_TYPES, sentAs } from './messages.ts'
import { invalidBody, RequestRefused } from './problem.ts'
import { checkKnown, unknownIn } from './unknown-fields.ts'

/** Longest wait of a request for verdicts, and its default, in seconds. */
export const [MOST_WAIT, USUAL_WAIT] = [60, 30]
/** Who waits for less, in seconds, is served with those who do not wait: else bulk would go before the stream. */
const LEAST_WAIT = 1

export interface ReadingParts {
  readonly topics: Readonly<Record<MessageType, string>>
  readonly limits: ReadLimits
  /** Messages as threads keep them. */
  readonly kept: {
    post(message: PostMessage): Post
    comment(message: CommentMessage): Comment
    reply(message: CounterspeechMessage): Post
    /** What a comment is shown with. */
    around(postId: string, post: Post | null, answered: Comment | null): NonNullable<Post['around']>
  }
  /** Most comments of one request. */
  readonly items: number
  readonly clock: Clock
}

/** What a body asks for. */
export interface JudgeRequest extends VerdictRequest {
  readonly wait: number
  readonly stream: boolean
  /** Fields that nobody reads. */
  readonly ignored: readonly string[]
  /** The same as messages for the topics; none without `stream`. */
  readonly records: readonly OutgoingMessage[]
}

const fields = z.object({
  protocols: z.array(z.string().min(1).max(64)).min(1).max(20).optional(),
  wait: z.number().min(0).max(MOST_WAIT).default(USUAL_WAIT),
  stream: z.boolean().default(false),
  webhook: z.boolean().default(false),
})

/**
 * What a body asks for, as this tenant. The post and each comment are read like messages of a topic, by themselves. Throws the problem of what
 * can't be read. `wait`: that of the query, in seconds.
 */
export async function wantedOf(
  body: Buffer,
  tenant: string,
  parts: ReadingParts,
  wait: number | null,
): Promise<JudgeRequest> {
  const given = fieldsOf(body)
  if (given === null) throw noObject(body)
  checkKnown(given.keys(), FIELDS)
  const own = smallFields(given, wait)
  const ignored: string[] = []
  const now = parts.clock()
  const at = new Date(now).toISOString()
  const one = <Message extends { createdAt: number; tenant: string }>(
    name: string,
    type: MessageType,
    bytes: Buffer,
    schema: z.ZodType<Message>,
    more: Readonly<Record<string, unknown>>,
    always: Readonly<Record<string, unknown>> = {},
  ): { message: Message; json: Readonly<Record<string, unknown>> } => {
    const { fields } = MESSAGE_TYPES[type]
    const whole = z.preprocess((value) => completed(value, fields, { createdAt: at, ...more }, always), schema)
    const read = readValue(bytes, whole, parts.limits, now)
    if (!read.ok) {
      const problem = read.reason === 'too-large' || read.reason === 'not-json' ? read.reason : 'invalid'
      throw new RequestRefused(problem, `${name}: ${read.detail}`)
    }
    const json = completed(read.json, fields, { createdAt: at, ...more }, always) as Readonly<Record<string, unknown>>
    if ((json.tenant ?? tenant) !== tenant)
      throw new RequestRefused('tenant', `${name} names another tenant than ${tenant}`)
    if (ignored.length < MOST_IGNORED) ignored.push(...unknownIn(read.json as object, ['type', ...fields], `${name}.`))
    if (json.deleted === true) throw new RequestRefused('invalid', `${name}: a deletion is sent to /v1/messages`)
    return { message: read.message, json }
  }
  const [postBytes, replyBytes, ownBytes] = [given.get('post'), given.get('reply'), given.get('comment')]
  if (ownBytes === undefined ? (postBytes === undefined) === (replyBytes === undefined) : replyBytes !== undefined)
    throw new RequestRefused('invalid', 'the body has either a post or a reply, or a comment, which may have its post')
  const id = `req-${randomBytes(9).toString('base64url')}`
  const commentBytes = given.get('comments')
  const entries = commentBytes === undefined ? [] : entriesOf(commentBytes, parts.items)
  if (entries === null) throw new RequestRefused('invalid', 'comments: a list')
  const parentBytes = given.get('parent')
  if (parentBytes !== undefined && ownBytes === undefined)
    throw new RequestRefused('invalid', 'parent: goes with a comment alone')
  if (ownBytes !== undefined) {
    if (entries.length > 0) throw new RequestRefused('invalid', 'comments: a comment that is judged has none')
    const post = postBytes && one('post', 'post', postBytes, postMessage, { id: `${id}-post` }).message
    const under = post?.id ?? `${id}-post`
    const { message, json } = one('comment', 'comment', ownBytes, commentMessage, { id, postId: under })
    const { postId } = message
    if (post !== undefined && postId !== under)
      throw new RequestRefused('invalid', 'comment: its postId names another post')
    if (own.stream && postId === `${id}-post`)
      throw new RequestRefused('invalid', 'stream: a comment needs its postId, or a post with its id')
    const parent =
      parentBytes &&
      one('parent', 'comment', parentBytes, commentMessage, { id: message.parentId ?? `${id}-parent` }, { postId })
        .message
    const kept = parts.kept.comment(parent === undefined ? message : { ...message, parentId: parent.id })
    const answered = parent === undefined ? null : parts.kept.comment(parent)
    const around = parts.kept.around(postId, post === undefined ? null : parts.kept.post(post), answered)
    return {
      ...own,
      post: { ...kept, around },
      comments: [],
      ignored,
      records: own.stream ? [record('comment', json)] : [],
    }
  }
  if (replyBytes !== undefined) {
    if (entries.length > 0) throw new RequestRefused('invalid', 'comments: a reply has none')
    const { message, json } = one('reply', 'counterspeech', replyBytes, counterspeechMessage, { id })
    return {
      ...own,
      post: parts.kept.reply(message),
      comments: [],
      ignored,
      records: own.stream ? [record('counterspeech', json)] : [],
    }
  }
  const { message, json } = one('post', 'post', postBytes ?? Buffer.alloc(0), postMessage, { id })
  const comments: Comment[] = []
  const records = own.stream ? [record('post', json)] : []
  const pause = pauses()
  for (const [nth, bytes] of entries.entries()) {
    const its = { id: `${message.id}-c${nth + 1}` }
    const comment = one(`comments.${nth}`, 'comment', bytes, commentMessage, its, { postId: message.id })
    comments.push(parts.kept.comment(comment.message))
    if (own.stream) records.push(record('comment', comment.json))
    await pause(bytes.length)
  }
  return { ...own, post: parts.kept.post(message), comments, ignored, records }

  function record(type: MessageType, json: Readonly<Record<string, unknown>>) {
    const message = sentAs(type, json, tenant)
    return { topic: parts.topics[type], key: keyOf(type, message), value: JSON.stringify(message) }
  }
}

/** The message's known fields, with what it leaves out, and what it can't say otherwise. */
function completed(value: unknown, fields: readonly string[], more: object, always: object): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const given = Object.entries(knownOf(value, fields)).filter(([, one]) => one !== null)
  return { ...more, ...Object.fromEntries(given), ...always }
}

const FIELDS = ['post', 'reply', 'comment', 'parent', 'comments', ...Object.keys(fields.shape)]
/** Once so many are known to be ignored no more are looked for. */
const MOST_IGNORED = 20

/** Why a body is no object, in words. */
function noObject(body: Buffer): RequestRefused {
  const value = body.length > SMALL && body[behindSpace(body, 0)] === OPEN_LIST ? [] : jsonOf(body)
  const what = Array.isArray(value) ? 'a list' : value === null ? 'null' : `a ${typeof value}`
  return new RequestRefused(
    'invalid',
    `the body is ${what}: send one object, with a post, a reply or a comment; one request judges one`,
  )
}

/** Longest of the other fields of a body, in bytes. */
const SMALL = 4_000

function smallFields(
  given: ReadonlyMap<string, Buffer>,
  wait: number | null,
): Omit<JudgeRequest, 'post' | 'comments' | 'ignored' | 'records'> {
  const named = Object.keys(fields.shape).flatMap((name) => {
    const bytes = given.get(name)
    if (bytes === undefined) return []
    if (bytes.length > SMALL) throw new RequestRefused('too-large', `${name}: too long`)
    try {
      const value: unknown = JSON.parse(bytes.toString('utf8'))
      return value === null ? [] : [[name, value]]
    } catch {
      throw new RequestRefused('not-json', `${name}: not JSON`)
    }
  })
  const inBody = Object.fromEntries(named)
  if (wait !== null && inBody.wait !== undefined)
    throw new RequestRefused('invalid', 'wait: it stands in the body and in the query')
  const read = fields.safeParse(wait === null ? inBody : { ...inBody, wait })
  if (read.success) return { ...read.data, protocols: read.data.protocols ?? null, waits: read.data.wait >= LEAST_WAIT }
  throw invalidBody(read.error)
}
