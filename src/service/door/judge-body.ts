import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import {
  type CommentMessage,
  type CounterspeechMessage,
  commentMessage,
  counterspeechMessage,
  keyOf,
  type MessageType,
  type PostMessage,
  postMessage,
} from '../domain/messages.ts'
import { type ReadLimits, readValue } from '../domain/read-value.ts'
import type { Comment, Post } from '../domain/thread.ts'
import type { Asked } from '../ports/answers.ts'
import type { Clock } from '../ports/clock.ts'
import type { Outgoing } from '../ports/topic.ts'
import { entriesOf, fieldsOf } from './body.ts'
import { sentAs } from './messages.ts'
import { Refused } from './problem.ts'

/** Longest that a request waits for verdicts, and unless it says how long, in seconds. */
export const [MOST_WAIT, USUAL_WAIT] = [60, 30]

export interface ReadingParts {
  readonly topics: Readonly<Record<MessageType, string>>
  readonly limits: ReadLimits
  /** Messages as threads keep them. */
  readonly kept: {
    post(message: PostMessage): Post
    comment(message: CommentMessage): Comment
    reply(message: CounterspeechMessage): Post
  }
  /** Most comments of one request. */
  readonly items: number
  readonly clock: Clock
}

/** What a body asks for. */
export interface Wanted extends Asked {
  readonly wait: number
  readonly stream: boolean
  /** The same as messages for the topics. */
  readonly records: readonly Outgoing[]
}

const fields = z.object({
  protocols: z.array(z.string().min(1).max(64)).min(1).max(20).optional(),
  wait: z.number().min(0).max(MOST_WAIT).default(USUAL_WAIT),
  stream: z.boolean().default(false),
  webhook: z.boolean().default(false),
})

/**
 * What a body asks for, as this tenant. The post and each comment are read like messages of a topic, by themselves. Throws the problem of what
 * can't be read.
 */
export function wantedOf(body: Buffer, tenant: string, parts: ReadingParts): Wanted {
  const given = fieldsOf(body)
  if (given === null) throw new Refused('not-json', 'the body is no JSON object')
  const own = smallFields(given)
  const now = parts.clock()
  const at = new Date(now).toISOString()
  const one = <Message extends { createdAt: number; tenant: string }>(
    name: string,
    bytes: Buffer,
    schema: z.ZodType<Message>,
    more: Readonly<Record<string, unknown>>,
    always: Readonly<Record<string, unknown>> = {},
  ): { message: Message; json: Readonly<Record<string, unknown>> } => {
    const whole = z.preprocess((value) => completed(value, { createdAt: at, ...more }, always), schema)
    const read = readValue(bytes, whole, parts.limits, now)
    if (!read.ok) {
      const problem = read.reason === 'too-large' || read.reason === 'not-json' ? read.reason : 'invalid'
      throw new Refused(problem, `${name}: ${read.detail}`)
    }
    const json = completed(read.json, { createdAt: at, ...more }, always) as Readonly<Record<string, unknown>>
    if ((json.tenant ?? tenant) !== tenant) throw new Refused('tenant', `${name} names another tenant than ${tenant}`)
    if (json.deleted === true) throw new Refused('invalid', `${name}: a deletion is sent to /v1/messages`)
    return { message: read.message, json }
  }
  const [postBytes, replyBytes] = [given.get('post'), given.get('reply')]
  if ((postBytes === undefined) === (replyBytes === undefined))
    throw new Refused('invalid', 'the body has either a post or a reply')
  const id = `req-${randomBytes(9).toString('base64url')}`
  const commentBytes = given.get('comments')
  const entries = commentBytes === undefined ? [] : entriesOf(commentBytes, parts.items)
  if (entries === null) throw new Refused('invalid', 'comments: a list')
  if (replyBytes !== undefined) {
    if (entries.length > 0) throw new Refused('invalid', 'comments: a reply has none')
    const { message, json } = one('reply', replyBytes, counterspeechMessage, { id })
    return { ...own, post: parts.kept.reply(message), comments: [], records: [record('counterspeech', json)] }
  }
  const { message, json } = one('post', postBytes ?? Buffer.alloc(0), postMessage, { id })
  const comments = entries.map((bytes, nth) =>
    one(`comments.${nth}`, bytes, commentMessage, { id: `${message.id}-c${nth + 1}` }, { postId: message.id }),
  )
  return {
    ...own,
    post: parts.kept.post(message),
    comments: comments.map((comment) => parts.kept.comment(comment.message)),
    records: [record('post', json), ...comments.map((comment) => record('comment', comment.json))],
  }

  function record(type: MessageType, json: Readonly<Record<string, unknown>>) {
    const message = sentAs(type, json, tenant)
    return { topic: parts.topics[type], key: keyOf(type, message), value: JSON.stringify(message) }
  }
}

/** The message with what it leaves out, and what it can't say otherwise. */
function completed(value: unknown, more: object, always: object): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const given = Object.entries(value).filter(([, one]) => one !== null && one !== undefined)
  return { ...more, ...Object.fromEntries(given), ...always }
}

/** Longest of the other fields of a body, in bytes. */
const SMALL = 4_000

function smallFields(given: ReadonlyMap<string, Buffer>): Omit<Wanted, 'post' | 'comments' | 'records'> {
  const named = Object.keys(fields.shape).flatMap((name) => {
    const bytes = given.get(name)
    if (bytes === undefined) return []
    if (bytes.length > SMALL) throw new Refused('too-large', `${name}: too long`)
    try {
      const value: unknown = JSON.parse(bytes.toString('utf8'))
      return value === null ? [] : [[name, value]]
    } catch {
      throw new Refused('not-json', `${name}: not JSON`)
    }
  })
  const read = fields.safeParse(Object.fromEntries(named))
  if (read.success) return { ...read.data, protocols: read.data.protocols ?? null }
  const errors = read.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
  throw new Refused('invalid', errors.map(({ path, message }) => `${path}: ${message}`).join('; '), { errors })
}
