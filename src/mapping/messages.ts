import type { z } from 'zod'
import { reachMessage } from '../contracts/facts/action-messages.ts'
import { commentMessage, counterspeechMessage, postMessage } from '../contracts/facts/messages.ts'
import type { SchemaFields } from '../contracts/facts/odd-fields.ts'
import { faultIn } from '../contracts/facts/read-value.ts'
import { textOf } from './expressions.ts'
import { UnmappedRecord } from './faults.ts'
import { timeOf } from './times.ts'

/** What an entry of the settings makes of a record. A deletion is of a comment where its entry names a post, else of a post. */
export const MAPPED_KINDS = ['post', 'comment', 'counterspeech', 'deletion', 'reach'] as const
export type MappedKind = (typeof MAPPED_KINDS)[number]

/** The topics that mapped messages go to. */
export type MappedTopic = 'posts' | 'comments' | 'counterspeech' | 'reach'

/** A message that was made of a record, as it goes to its topic. */
export interface MappedMessage {
  readonly topic: MappedTopic
  readonly key: string
  readonly value: string
}

/** The fields of each kind, those first without which there is no message. */
export const FIELDS: Readonly<
  Record<MappedKind, { readonly needed: readonly string[]; readonly may: readonly string[] }>
> = {
  post: {
    needed: ['id', 'createdAt'],
    may: ['tenant', 'text', 'author', 'authorSince', 'lang', 'media', 'reach', 'deleted'],
  },
  comment: {
    needed: ['id', 'postId', 'createdAt'],
    may: ['tenant', 'parentId', 'text', 'author', 'authorSince', 'deleted'],
  },
  counterspeech: { needed: ['id', 'createdAt'], may: ['tenant', 'postId', 'hateSpeech', 'text', 'author', 'deleted'] },
  deletion: { needed: ['id'], may: ['tenant', 'postId', 'createdAt'] },
  reach: { needed: ['postId', 'reach', 'at'], may: ['tenant'] },
}

/** Fields that hold a text, whatever the source has there; times are among them. */
const TEXTS: ReadonlySet<string> = new Set(
  'id postId parentId tenant text hateSpeech author authorSince lang createdAt at'.split(' '),
)
const TIMES: ReadonlySet<string> = new Set(['createdAt', 'authorSince', 'at'])

const SCHEMAS: Readonly<Record<MappedTopic, z.ZodType>> = {
  posts: postMessage,
  comments: commentMessage,
  counterspeech: counterspeechMessage,
  reach: reachMessage,
}

/** Longest message that is made, in bytes: what a broker takes by default, with its headers. */
const LONGEST_MESSAGE = 900_000

/** What a deletion has beside its fields: the record's time, and whether its entry says that it is of a comment. */
interface DeletionContext {
  readonly at: number
  readonly ofComment: boolean
}

/** The message of these fields. Throws an `UnmappedRecord` where intake would refuse it. */
export function messageOf(
  kind: MappedKind,
  fields: Readonly<Record<string, unknown>>,
  { at, ofComment }: DeletionContext,
): MappedMessage {
  const made: SchemaFields = {}
  for (const [name, value] of Object.entries(fields)) made[name] = fieldOf(name, value)
  const { needed } = FIELDS[kind]
  for (const name of kind === 'deletion' && ofComment ? [...needed, 'postId'] : needed)
    if (made[name] === undefined || made[name] === '') throw new UnmappedRecord(`${name}: nothing stands there`)
  if (kind === 'deletion') {
    made.deleted = true
    made.createdAt ??= timeOf(at, 'ms')
  }
  const topic = topicOf(kind, made)
  const checked = SCHEMAS[topic].safeParse(made)
  if (!checked.success)
    throw new UnmappedRecord(
      checked.error.issues.map((issue) => `${issue.path.join('.') || 'message'}: ${faultIn(issue)}`).join('; '),
    )
  const value = JSON.stringify(made)
  if (Buffer.byteLength(value) > LONGEST_MESSAGE)
    throw new UnmappedRecord(`makes a message of more than ${LONGEST_MESSAGE} bytes`)
  return { topic, key: String(topic === 'posts' ? made.id : (made.postId ?? made.id)), value }
}

function topicOf(kind: MappedKind, { postId }: Readonly<Record<string, unknown>>): MappedTopic {
  switch (kind) {
    case 'post':
      return 'posts'
    case 'comment':
      return 'comments'
    case 'deletion':
      return postId === undefined ? 'posts' : 'comments'
    case 'counterspeech':
    case 'reach':
      return kind
  }
}

function fieldOf(name: string, value: unknown): unknown {
  if (TIMES.has(name) && typeof value === 'number')
    throw new UnmappedRecord(`${name}: is a number: say of which unit, as in { time: …, unit: ms }`)
  if (!TEXTS.has(name)) return value
  try {
    return textOf(value)
  } catch (error) {
    if (error instanceof UnmappedRecord) throw new UnmappedRecord(`${name}: ${error.message}`)
    throw error
  }
}
