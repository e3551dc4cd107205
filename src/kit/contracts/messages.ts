import type { z } from 'zod'
import { auditEntry } from '../../contracts/facts/audit.ts'
import { decisionMessage, decisionOutcome, proposal, review } from '../../contracts/facts/decision-messages.ts'
import {
  commentMessage,
  counterspeechMessage,
  deadLetter,
  feedbackMessage,
  postMessage,
} from '../../contracts/facts/messages.ts'
import { transcript, verdict } from '../../contracts/facts/verdict.ts'
import { type JsonSchema, jsonSchemaOf } from './json-schema.ts'

/** The messages of one topic. */
export interface TopicContract {
  /** Its name without the prefix. */
  readonly topic: string
  /** Who may change its messages without asking: `read` ones are Gavel's, `written` ones are others'. */
  readonly side: 'written' | 'read'
  readonly description: string
  /** What is the record's key. */
  readonly key: string
  /** Its records are kept without limit. */
  readonly keptForGood?: true
  /** By name; a message is of exactly one. */
  readonly messages: Readonly<Record<string, JsonSchema>>
  /** What its records' headers say, by name. */
  readonly headers: Readonly<Record<string, string>>
}

/** Ids and names: a number is read as it is written. */
const NUMBER_TOO = new Set(['id', 'postId', 'parentId', 'subjectId', 'by', 'author'])

/**
 * A message that others write and that is taken whole. Nothing valid by it becomes a dead letter, and no field of it is left out
 * as odd. Optional fields may be null, which is absent.
 */
function living(schema: z.ZodType, title: string, content: readonly string[] = []): JsonSchema {
  const whole = jsonSchemaOf(schema, 'input')
  const required = [...(whole.required ?? []), ...content]
  // `odd` is what intake notes, and a deletion is a message of its own.
  const { odd: _, deleted, ...fields } = whole.properties ?? {}
  const properties = Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      withTypes(field, [...(NUMBER_TOO.has(name) ? ['number'] : []), ...(required.includes(name) ? [] : ['null'])]),
    ]),
  )
  const alive = deleted === undefined ? {} : { deleted: { enum: [false, null] } }
  return { title, type: 'object', properties: { ...properties, ...alive }, required }
}

function withTypes(field: JsonSchema, types: readonly string[]): JsonSchema {
  return types.length === 0 ? field : { ...field, type: [field.type as string, ...types] }
}

/** That what such a message said was deleted: of its fields these are read, and all others may hold anything. */
function deletion(schema: z.ZodType, title: string): JsonSchema {
  const { deleted = {} } = jsonSchemaOf(schema, 'input').properties ?? {}
  const { properties = {}, required = [] } = living(schema, title)
  const kept = Object.entries(properties).filter(([name]) => ['id', 'postId', 'tenant', 'createdAt'].includes(name))
  return {
    title,
    type: 'object',
    properties: { ...Object.fromEntries(kept), deleted },
    required: [...required, 'deleted'],
  }
}

/** A post has words or images. */
function post(): JsonSchema {
  const { properties = {}, ...rest } = living(postMessage, 'Post')
  const { media = {}, ...others } = properties
  const image = { ...media.items, anyOf: [{ required: ['url'] }, { required: ['alt'] }] }
  return {
    ...rest,
    properties: { ...others, media: { ...media, items: image } },
    anyOf: [
      { properties: { text: { type: 'string', minLength: 1 } }, required: ['text'] },
      { properties: { media: { type: 'array', minItems: 1 } }, required: ['media'] },
    ],
  }
}

/** A decision gives a label, or withdraws one; an opinion gives a label. */
function decision(title: string, gives: 'label' | 'withdraw'): JsonSchema {
  const { required = [], properties = {}, ...rest } = living(decisionMessage, title)
  const [given, other] = gives === 'label' ? (['label', 'withdraw'] as const) : (['withdraw', 'label'] as const)
  const { type: _, ...field } = properties[given] ?? {}
  return {
    ...rest,
    properties: {
      ...properties,
      [given]: gives === 'label' ? { type: 'string', ...field } : field,
      [other]: { type: 'null' },
      ...(gives === 'withdraw' && { opinion: { enum: [false, null], description: 'A second opinion has a label.' } }),
    },
    required: [...required, given],
  }
}

const VERDICT_HEADERS = {
  'gavel-schema': "The record's schema.",
  'gavel-protocol': "The verdict's protocol.",
  'gavel-revision': "The verdict's revision.",
  'gavel-final': 'true or false, as the verdict’s final.',
  'gavel-tenant': "The verdict's tenant.",
  'gavel-decided-by': 'As the verdict’s decidedBy.',
}
const SUBJECT_HEADERS = {
  'gavel-schema': "The record's schema.",
  'gavel-protocol': 'The protocol.',
  'gavel-tenant': "The subject's tenant.",
}

/** Every topic, those that others write first. */
export const TOPIC_CONTRACTS: readonly TopicContract[] = [
  {
    topic: 'posts',
    side: 'written',
    description: 'Posts, their edits (the same id again) and their deletions.',
    key: "The post's id, so that all records of a post are in order on one partition.",
    messages: { post: post(), deletedPost: deletion(postMessage, 'Deletion of a post') },
    headers: {},
  },
  {
    topic: 'comments',
    side: 'written',
    description: 'Comments on posts, their edits (the same id again) and their deletions.',
    key: "The post's id.",
    messages: {
      comment: living(commentMessage, 'Comment', ['text']),
      deletedComment: deletion(commentMessage, 'Deletion of a comment'),
    },
    headers: {},
  },
  {
    topic: 'counterspeech',
    side: 'written',
    description: 'Replies to hate speech, each with what it answers, and their deletions.',
    key: "The post's id where the reply names one, else the reply's.",
    messages: {
      counterspeech: living(counterspeechMessage, 'Counterspeech', ['hateSpeech', 'text']),
      deletedCounterspeech: deletion(counterspeechMessage, 'Deletion of counterspeech'),
    },
    headers: {},
  },
  {
    topic: 'feedback',
    side: 'written',
    description: 'People’s feedback on verdicts, for gavel learn.',
    key: "The verdict's subjectId.",
    messages: { feedback: living(feedbackMessage, 'Feedback') },
    headers: {},
  },
  {
    topic: 'decisions',
    side: 'written',
    description:
      'Decisions of people: verdicts in place of the machines’, and their withdrawal. Whoever may write here may decide.',
    key: 'The subjectId, so that all decisions on a subject are in order on one partition. Any other key is refused.',
    keptForGood: true,
    messages: { decision: decision('Decision', 'label'), withdrawal: decision('Withdrawal of a decision', 'withdraw') },
    headers: {},
  },
  {
    topic: 'decision-outcomes',
    side: 'read',
    description:
      'The outcomes of decisions that were not refused, and of human verdicts that ended with their subject.',
    key: 'The subjectId.',
    keptForGood: true,
    messages: { decisionOutcome: { title: 'Outcome of a decision', ...jsonSchemaOf(decisionOutcome, 'output') } },
    headers: SUBJECT_HEADERS,
  },
  {
    topic: 'verdicts',
    side: 'read',
    description: 'A log of revisions, at least once each; those of one subject are in order on one partition.',
    key: "The verdict's subjectId.",
    messages: { verdict: { title: 'Verdict', ...jsonSchemaOf(verdict, 'output') } },
    headers: VERDICT_HEADERS,
  },
  {
    topic: 'transcripts',
    side: 'read',
    description: 'The argument behind each verdict: every message to and from the models.',
    key: "The verdict's subjectId.",
    messages: { transcript: { title: 'Transcript', ...jsonSchemaOf(transcript, 'output') } },
    headers: VERDICT_HEADERS,
  },
  {
    topic: 'proposals',
    side: 'read',
    description: 'Machines’ rulings on a subject that has a human verdict. They are no verdicts, and change none.',
    key: 'The subjectId.',
    messages: { proposal: { title: 'Proposal', ...jsonSchemaOf(proposal, 'output') } },
    headers: SUBJECT_HEADERS,
  },
  {
    topic: 'reviews',
    side: 'read',
    description: 'Verdicts that people should look at, with the reason.',
    key: 'The subjectId.',
    messages: { review: { title: 'Request for a review', ...jsonSchemaOf(review, 'output') } },
    headers: SUBJECT_HEADERS,
  },
  {
    topic: 'audit',
    side: 'read',
    description: 'Who saw and did what in the console: ids alone, kept for console.auditKeep.',
    key: 'The person.',
    messages: { auditEntry: { title: 'Entry of the audit', ...jsonSchemaOf(auditEntry, 'output') } },
    headers: {},
  },
  {
    topic: 'dead-letters',
    side: 'read',
    description: 'Messages that could not be read or judged, each with its reason.',
    key: "The message's key, or its place where it has none.",
    messages: { deadLetter: { title: 'Dead letter', ...jsonSchemaOf(deadLetter, 'output') } },
    headers: {
      'gavel-schema': "The record's schema.",
      'gavel-reason': "The letter's reason.",
      'gavel-topic': "The letter's topic.",
    },
  },
]

/** A message's schema: of one form, or of exactly one of several. */
export function schemaOfTopic({ messages, description }: TopicContract): JsonSchema {
  const forms = Object.values(messages)
  const [only, another] = forms
  return only !== undefined && another === undefined ? { description, ...only } : { description, oneOf: forms }
}

/** A line of a file for `gavel produce`: a message with the name of its kind. */
export function schemaOfLine(): JsonSchema {
  const kinds: readonly (readonly [string, string])[] = [
    ['posts', 'post'],
    ['comments', 'comment'],
    ['counterspeech', 'counterspeech'],
    ['feedback', 'feedback'],
  ]
  return {
    description: 'A line of a file for gavel produce.',
    oneOf: kinds.flatMap(([topic, type]) =>
      Object.values(TOPIC_CONTRACTS.find((one) => one.topic === topic)?.messages ?? {}).map((form) => ({
        ...form,
        properties: { type: { const: type }, ...form.properties },
        required: ['type', ...(form.required ?? [])],
      })),
    ),
  }
}
