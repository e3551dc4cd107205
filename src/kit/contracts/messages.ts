import type { z } from 'zod'
import { actionTaken, actionWithdrawn, reachMessage } from '../../contracts/facts/action-messages.ts'
import {
  actionAppeal,
  appealOutcome,
  appealWithdrawn,
  subjectAppeal,
  verdictAppeal,
} from '../../contracts/facts/appeal-messages.ts'
import { auditEntry } from '../../contracts/facts/audit.ts'
import { caseworkEntry } from '../../contracts/facts/casework.ts'
import { decisionMessage, decisionOutcome, proposal, review } from '../../contracts/facts/decision-messages.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import {
  commentMessage,
  counterspeechMessage,
  deadLetter,
  feedbackMessage,
  postMessage,
} from '../../contracts/facts/messages.ts'
import { shadowVerdict } from '../../contracts/facts/shadow-verdict.ts'
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
const NUMBER_TOO = new Set(['id', 'postId', 'parentId', 'subjectId', 'actionId', 'by', 'author'])

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
  if (types.length === 0) return field
  const { const: only, enum: listed = only === undefined ? undefined : [only], ...rest } = field
  // Of a list of values null is one more of them: a type beside it would still leave it out.
  const values = listed === undefined ? {} : { enum: types.includes('null') ? [...listed, null] : listed }
  return { ...rest, ...values, type: [field.type as string, ...types] }
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

/** A post has words or media; an image an address or words. */
function post(): JsonSchema {
  const { properties = {}, ...rest } = living(postMessage, 'Post')
  const { media = {}, ...others } = properties
  const [image = {}, clip = {}] = media.items?.anyOf ?? []
  const { frames = {}, ...fields } = clip.properties ?? {}
  const shown = { ...image, anyOf: [{ required: ['url'] }, { required: ['alt'] }] }
  const played = { ...clip, properties: { ...fields, frames: { ...frames, items: shown } } }
  return {
    ...rest,
    properties: { ...others, media: { ...media, items: { anyOf: [shown, played] } } },
    anyOf: [
      { properties: { text: { type: 'string', minLength: 1 } }, required: ['text'] },
      { properties: { media: { type: 'array', minItems: 1 } }, required: ['media'] },
    ],
  }
}

/** Without the fields of the message's other forms. */
function without(names: readonly string[], { properties, ...rest }: JsonSchema): JsonSchema {
  return {
    ...rest,
    properties: { ...properties, ...Object.fromEntries(names.map((name) => [name, { type: 'null' }])) },
  }
}

/** What is said of a comment names its post; by whichever word a decision has its kind, it is one. */
function naming(said: JsonSchema): JsonSchema {
  const kinds = entryOf(said.properties ?? {}, 'kind') === undefined ? [['post', 'reply']] : [['post'], ['reply'], []]
  const ofComment = { subjectKind: { const: 'comment' }, postId: { type: ['string', 'number'] } }
  const other = kinds.length === 1 ? {} : { kind: { type: 'null' } }
  return {
    ...said,
    anyOf: [
      ...kinds.map((words): JsonSchema => {
        const own = words.length === 0 ? { type: 'null' } : { enum: [...words, ...(kinds.length === 1 ? [] : [null])] }
        return { properties: { subjectKind: own, ...(words.length === 1 && { kind: own }) } }
      }),
      { properties: { ...ofComment, ...other }, required: ['subjectKind', 'postId'] },
    ],
  }
}

/** A decision gives a label, or withdraws one; an opinion gives a label, and alone may be about a golden item. */
function decision(title: string, gives: 'label' | 'golden' | 'withdraw'): JsonSchema {
  const { required = [], properties = {}, ...rest } = naming(living(decisionMessage, title))
  const [given, other] = gives === 'withdraw' ? (['withdraw', 'label'] as const) : (['label', 'withdraw'] as const)
  const { type: _, enum: __, ...field } = properties[given] ?? {}
  const { type: ___, enum: words = [], ...golden } = properties.golden ?? {}
  return {
    ...rest,
    properties: {
      ...properties,
      [given]: gives === 'withdraw' ? { const: true, ...field } : { type: 'string', ...field },
      [other]: { type: 'null' },
      golden: gives === 'golden' ? { ...golden, enum: words.filter((word) => word !== null) } : { type: 'null' },
      ...(gives === 'golden' && { opinion: { const: true } }),
      ...(gives === 'withdraw' && {
        opinion: { enum: [false, null], description: 'A second opinion has a label.' },
        clauses: { type: 'null' },
      }),
      ...(gives !== 'label' && { appeals: { type: 'null' }, measure: { type: 'null' } }),
    },
    required: [...required, given, ...(gives === 'golden' ? ['golden', 'opinion'] : [])],
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
    key: "The verdict's subjectId; of a comment its post's id.",
    messages: { feedback: naming(living(feedbackMessage, 'Feedback')) },
    headers: {},
  },
  {
    topic: 'decisions',
    side: 'written',
    description:
      'Decisions of people: verdicts in place of the machines’, and their withdrawal. Whoever may write here may decide.',
    key: 'The subjectId, of a comment its post’s id, so that all decisions on a subject are in order on one partition. Any other key is refused.',
    keptForGood: true,
    messages: {
      decision: decision('Decision', 'label'),
      golden: decision('Opinion about a golden item', 'golden'),
      withdrawal: decision('Withdrawal of a decision', 'withdraw'),
    },
    headers: {},
  },
  {
    topic: 'reach',
    side: 'written',
    description:
      'How many people a post has reached. Due work of a tenant is in the order of it; it is no edit, and brings no new verdict.',
    key: "The post's id.",
    messages: { reach: living(reachMessage, 'Reach') },
    headers: {},
  },
  {
    topic: 'actions',
    side: 'written',
    description: 'What was done about posts, replies and comments, and its withdrawal.',
    key: 'The post’s id of a comment, else the subjectId; of a withdrawal, the key of its action.',
    keptForGood: true,
    messages: {
      action: naming(without(['withdraw'], living(actionTaken, 'Action'))),
      actionWithdrawal: living(actionWithdrawn, 'Withdrawal of an action'),
    },
    headers: {},
  },
  {
    topic: 'appeals',
    side: 'written',
    description:
      'Objections of those who wrote or reported something, kept for appeals.keep. People answer them in the review queue.',
    key: 'The appeal’s id.',
    messages: {
      appeal: naming(
        without(['verdictId', 'actionId', 'objectsTo', 'withdraw'], living(subjectAppeal, 'Appeal about a subject')),
      ),
      verdictAppeal: without(
        ['subjectId', 'actionId', 'objectsTo', 'withdraw'],
        living(verdictAppeal, 'Appeal against a verdict'),
      ),
      actionAppeal: without(['subjectId', 'verdictId', 'withdraw'], living(actionAppeal, 'Appeal against an action')),
      appealWithdrawal: living(appealWithdrawn, 'Withdrawal of an appeal'),
    },
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
    topic: 'appeal-outcomes',
    side: 'read',
    description: 'What became of each appeal: one outcome each, at least once.',
    key: 'The appeal’s id.',
    messages: { appealOutcome: { title: 'Outcome of an appeal', ...jsonSchemaOf(appealOutcome, 'output') } },
    headers: { 'gavel-schema': "The record's schema.", 'gavel-tenant': "The appeal's tenant." },
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
    topic: 'shadow-verdicts',
    side: 'read',
    description: 'What variants say of what live cases have judged. They are no verdicts, and change none.',
    key: 'The subjectId.',
    messages: { shadowVerdict: { title: 'Shadow verdict', ...jsonSchemaOf(shadowVerdict, 'output') } },
    headers: {},
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
    topic: 'casework',
    side: 'read',
    description: 'Who is to review which post: assignments made in the console.',
    key: 'The subjectId.',
    messages: { caseworkEntry: { title: 'Entry of casework', ...jsonSchemaOf(caseworkEntry, 'output') } },
    headers: {},
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
