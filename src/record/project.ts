import { z } from 'zod'
import { actionMessage } from '../contracts/facts/action-messages.ts'
import { appealMessage } from '../contracts/facts/appeal-messages.ts'
import { caseworkEntry } from '../contracts/facts/casework.ts'
import {
  decisionMessage,
  decisionOutcome,
  proposal,
  review,
  subjectIn,
  subjectOf,
} from '../contracts/facts/decision-messages.ts'
import { jsonOf } from '../contracts/facts/json-of.ts'
import {
  commentMessage,
  counterspeechMessage,
  feedbackMessage,
  postMessage,
  subjectKeyOf,
} from '../contracts/facts/messages.ts'
import { type Post, type SubjectKind, shownIn, snapshot } from '../contracts/facts/thread.ts'
import { transcript, type Verdict, verdict } from '../contracts/facts/verdict.ts'
import { commentKey, idsInCommentKey, threadIn, threadOf } from '../contracts/facts/verdict-id.ts'
import {
  type Entry,
  type RecordedTopic,
  ROW_WORDS,
  type RulingEntry,
  type RulingMark,
  type TranscriptEntry,
} from '../contracts/ports/record.ts'
import type { IncomingMessage } from '../contracts/ports/topic.ts'
import { actionEntries } from './action-entries.ts'
import { appealEntries, appealOutcomeEntries } from './project-appeals.ts'
import { inputOf } from './read-input.ts'
import { writtenIn } from './written.ts'

/** What the record must know to read messages. */
export interface ProjectContext {
  /** Protocols whose subjects are replies. */
  readonly ofReplies: ReadonlySet<string>
  /** What people may decide, by protocol. */
  readonly labels: ReadonlyMap<string, ReadonlySet<string>>
  /** How near a thing a verdict was, by its protocol's own rules. */
  readonly weigh: (verdict: Verdict) => { readonly contested: boolean; readonly confidence: number | null }
  /** Equal for texts in the same words. */
  readonly sameKey: (text: string) => string
  /** Most characters of a subject with its comments that are searched. */
  readonly indexChars: number
  /** Longest message that is read, in bytes. */
  readonly maxBytes: number
}

/** No message of Gavel's own is longer, in bytes. */
export const LONGEST_OWN_BYTES = 16 * 2 ** 20

/** The record's entries for a message; none if it means nothing to the record. Pure. */
export function entriesOf(topic: RecordedTopic, message: IncomingMessage, context: ProjectContext): Entry[] {
  const { value, headersCut } = message
  if (value === null || value.length > context.maxBytes) return []
  // Such a message becomes a dead letter: its content has no effect.
  if (headersCut !== undefined && INPUTS.has(topic)) return []
  const entries = READ[topic](message, value, context)
  return INPUTS.has(topic) ? entries.map(withoutRaw) : entries
}

/** Of what others than Gavel send, that it could not be read is noted, and nothing of it: no version of this one reads it later. */
function withoutRaw(entry: Entry): Entry {
  return entry.what === 'unread' ? { ...entry, subjectId: '', raw: new Uint8Array() } : entry
}

const INPUTS: ReadonlySet<RecordedTopic> = new Set([
  'posts',
  'comments',
  'counterspeech',
  'decisions',
  'feedback',
  'appeals',
  'actions',
])

type Read = (message: IncomingMessage, value: Buffer, context: ProjectContext) => Entry[]

const READ: { readonly [Topic in RecordedTopic]: Read } = {
  verdicts: verdictEntries,
  transcripts: transcriptEntries,
  proposals: proposalEntries,
  decisions: decisionEntries,
  decisionOutcomes: outcomeEntries,
  reviews: reviewEntries,
  casework: caseworkEntries,
  feedback: feedbackEntries,
  appeals: (message, value, { ofReplies }) =>
    appealEntries(message, value, inputOf(appealMessage, value), ofReplies) ??
    unread(message.key, message.timestamp, value),
  appealOutcomes: (message, value) =>
    appealOutcomeEntries(message, value) ?? unread(message.key, message.timestamp, value),
  actions: (message, value, { ofReplies }) => actionEntries(message, inputOf(actionMessage, value), ofReplies),
  posts: (message, value) => (holds(value, DELETED) ? deletionOf(message, inputOf(postMessage, value), 'post') : []),
  comments: commentEntries,
  counterspeech: counterspeechEntries,
}

const DELETED = Buffer.from('"deleted"')
/** JSON may write any letter as an escape: such a message is parsed to be sure. */
const ESCAPED = Buffer.from('\\u00')

/** Whether a message may have this field: looked for in its bytes, as most messages are nothing to the record. */
function holds(value: Buffer, field: Buffer): boolean {
  return value.includes(field) || value.includes(ESCAPED)
}

function verdictEntries(
  { key, timestamp }: IncomingMessage,
  value: Buffer,
  { ofReplies, weigh }: ProjectContext,
): Entry[] {
  const json = value.toString('utf8')
  const read = verdict.safeParse(jsonOf({ value: json }))
  const subject = read.success ? threadOf(read.data, ofReplies) : null
  if (!read.success || subject === null) return unread(key, timestamp, value)
  const { id, protocol, revision, label, decidedBy, degraded, timing, counts, decision } = read.data
  return [
    {
      what: 'ruling',
      subject,
      id,
      protocol,
      number: revision,
      label,
      decidedBy,
      json,
      degraded: degraded.length > 0,
      ...weigh(read.data),
      accepted: counts.accepted,
      control: controlIn(read.data),
      restores: read.data.restored?.from ?? null,
      clauses: clausesOf(read.data),
      decision: decision?.of,
      marks: marksOf(read.data),
      openedAt: openedAtOf(read.data, timestamp),
      decidedAt: msOf(timing.decidedAt, timestamp),
    },
  ]
}

/**
 * By the broker's time where that is to the side of erasing: a case may have opened under a clock that was ahead, and what came
 * before a retraction goes with it.
 */
function openedAtOf({ timing, decidedBy }: Pick<Verdict, 'timing' | 'decidedBy'>, timestamp: number): number {
  const opened = msOf(timing.openedAt, timestamp)
  return decidedBy === 'deleted' ? Math.max(opened, timestamp) : Math.min(opened, timestamp)
}

function controlIn({ debated, label }: Verdict): RulingEntry['control'] {
  const { why, chance = 0, without = label } = debated ?? {}
  return why === 'control' && chance > 0 && chance <= 1 ? { chance, differs: without !== label } : null
}

function clausesOf({ policy, clauses = [] }: Verdict): string[] {
  return [...new Set(clauses.map(({ id }) => (policy === undefined ? id : `${policy.name} ${id}`)))]
}

function marksOf({ models, versions, faults, decision, decidedBy, story, opposed, evidence }: Verdict): RulingMark[] {
  const { elsewhere = [] } = evidence
  const posts = elsewhere.map((key) => commentKey(idsInCommentKey(key).postId, ''))
  const marks = [
    ...[...new Set(Object.values(models))].map((value) => ({ mark: 'model', value }) as const),
    ...[...new Set(faults)].map((value) => ({ mark: 'fault', value }) as const),
    { mark: 'prompts', value: versions.prompts } as const,
    { mark: 'unseen', value: decision?.unseen === true ? 'yes' : '' } as const,
    { mark: 'lane', value: decidedBy === 'lane' ? (versions.lane ?? '') : '' } as const,
    { mark: 'decider', value: decision?.by ?? '' } as const,
    { mark: 'story', value: story?.id ?? '' } as const,
    { mark: 'opposed', value: opposed === undefined ? '' : 'yes' } as const,
    ...[...elsewhere, ...new Set(posts)].map((value) => ({ mark: 'elsewhere', value }) as const),
  ]
  return marks.filter(({ value }) => value !== '')
}

function msOf(text: string, otherwise: number): number {
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? otherwise : ms
}

/** Of a transcript only what it is found by and searched for: a stage's answers have forms of their own. */
const heard = z.object({
  verdictId: transcript.shape.verdictId,
  schema: transcript.shape.schema,
  subject: z.unknown(),
  turns: z.array(z.object({ startedAt: z.string() })),
  /** What it was handed on may quote these comments, whether or not it was shown them itself. */
  replay: z
    .object({ carry: z.object({ shown: z.array(z.string()).catch([]) }).catch({ shown: [] }) })
    .catch({ carry: { shown: [] } }),
})

function transcriptEntries(
  { key, timestamp }: IncomingMessage,
  value: Buffer,
  { ofReplies, indexChars, sameKey }: ProjectContext,
): Entry[] {
  const json = value.toString('utf8')
  const read = heard.safeParse(jsonOf({ value: json }))
  const about = read.success ? threadIn(read.data.verdictId, ofReplies) : null
  if (!read.success || key === null || about === null) return unread(key, timestamp, value)
  const { verdictId, subject, turns, replay } = read.data
  const asked = turns.map(({ startedAt }) => msOf(startedAt, timestamp))
  const known = heardOf(subject, indexChars, sameKey)
  return [
    {
      what: 'transcript',
      subject: about,
      verdictId,
      at: timestamp,
      json,
      ...known,
      // Its questions quote comments also where its subject was cut to fit.
      comments:
        known.words === null && turns.length > 0 ? null : [...new Set([...known.comments, ...replay.carry.shown])],
      askedAt: asked.length === 0 ? null : asked.reduce((least, one) => Math.min(least, one), timestamp),
    },
  ]
}

/** The ids and the words of a snapshot. What was cut of a transcript to fit is not in them. */
function heardOf(
  subject: unknown,
  most: number,
  sameKey: ProjectContext['sameKey'],
): Pick<TranscriptEntry, 'words' | 'shown' | 'written'> & { readonly comments: readonly string[] } {
  const read = snapshot.safeParse(subject)
  if (!read.success) return { comments: [], words: null, shown: null, written: [] }
  const { post, comments } = read.data
  const { author = null, lang = null } = post
  const own = wordsOf(post).join('\n')
  // A comment is not found by the words that it answers.
  const around = read.data.under === undefined ? comments.map(({ text }) => text) : []
  return {
    comments: comments.map(({ id }) => id),
    words: [own, ...around].join('\n').slice(0, most),
    written: writtenIn(read.data),
    shown: {
      author,
      lang,
      begins: beginning(own),
      same: sameOf(post, own, sameKey),
      pictures: post.media?.length ?? 0,
    },
  }
}

/** Equal for posts in the same words with the same pictures; null where there are no words, or pictures or clips that nothing tells apart. */
function sameOf({ media = [], clips = [] }: Post, own: string, sameKey: ProjectContext['sameKey']): string | null {
  const pictures = media.map(({ sha256, url }) => sha256 ?? url)
  if (own.trim() === '' || clips.length > 0 || pictures.includes(undefined)) return null
  return [sameKey(own), ...pictures].join(' ')
}

/** The first characters of a text, none of them halved. */
function beginning(text: string): string {
  return text.slice(0, ROW_WORDS).replace(/[\ud800-\udbff]$/, '')
}

function wordsOf({ text, hateSpeech, media = [], clips = [] }: Post): string[] {
  const images = [...media, ...clips.flatMap(({ frames = [] }) => frames)].map((one) => shownIn(one) ?? '')
  const heard = clips.map(({ transcript = '' }) => transcript)
  return [text, hateSpeech ?? '', ...images, ...heard].filter((words) => words !== '')
}

function proposalEntries({ key, timestamp }: IncomingMessage, value: Buffer, { ofReplies }: ProjectContext): Entry[] {
  const json = value.toString('utf8')
  const read = proposal.safeParse(jsonOf({ value: json }))
  const subject = read.success ? threadOf(read.data, ofReplies) : null
  if (!read.success || subject === null) return unread(key, timestamp, value)
  const { id, protocol, label } = read.data
  return [
    {
      what: 'said',
      said: 'proposal',
      subject,
      id,
      protocol,
      label,
      by: '',
      at: openedAtOf(read.data, timestamp),
      json,
    },
  ]
}

/** What intake refuses is no decision. */
function decisionEntries(
  { key, partition, offset, timestamp }: IncomingMessage,
  value: Buffer,
  { ofReplies, labels }: ProjectContext,
): Entry[] {
  const read = inputOf(decisionMessage, value)
  if (read === null || key !== subjectKeyOf(read)) return []
  const { createdAt: _, at, ...decision } = read
  const { protocol, label = null, by } = decision
  if (label !== null && labels.get(protocol)?.has(label) === false) return []
  const subject = subjectOf(decision, ofReplies.has(protocol) ? 'reply' : 'post')
  if (subject === null) return unread(key, timestamp, value)
  const json = JSON.stringify({ ...decision, at: new Date(at).toISOString() })
  const id = `decision ${partition}@${offset}`
  return [{ what: 'said', said: 'decision', subject, id, protocol, label, by, at: timestamp, json }]
}

/** Deletions are forgotten by their topic, and not by this one. */
function outcomeEntries({ key, timestamp }: IncomingMessage, value: Buffer): Entry[] {
  const json = value.toString('utf8')
  const read = decisionOutcome.safeParse(jsonOf({ value: json }))
  const subject = read.success ? subjectIn(read.data) : null
  if (!read.success || subject === null) return unread(key, timestamp, value)
  const { protocol, outcome, of, label, by, at } = read.data
  if (outcome === 'deleted') return [{ what: 'deletion', subject, at: msOf(at, timestamp) }]
  const id = `outcome ${of} ${outcome}`
  // Publishers may send them in any order, also behind the subject's deletion.
  return [{ what: 'said', said: 'outcome', subject, id, protocol, label, by, at: msOf(at, timestamp), json }]
}

function reviewEntries({ key, timestamp }: IncomingMessage, value: Buffer): Entry[] {
  const json = value.toString('utf8')
  const read = review.safeParse(jsonOf({ value: json }))
  const subject = read.success ? subjectIn(read.data) : null
  if (!read.success || subject === null) return unread(key, timestamp, value)
  const { id, protocol, label = null, by = '', at } = read.data
  const asked = { id: `review ${id}`, protocol, label, by, at: msOf(at, timestamp), json }
  return [{ what: 'said', said: 'review', subject, ...asked }]
}

function caseworkEntries({ key, partition, offset, timestamp }: IncomingMessage, value: Buffer): Entry[] {
  const json = value.toString('utf8')
  const read = caseworkEntry.safeParse(jsonOf({ value: json }))
  const subject = read.success ? subjectIn(read.data) : null
  if (!read.success || subject === null) return unread(key, timestamp, value)
  const { what, to, by, pair } = read.data
  if (pair !== undefined && (what === 'same' || what === 'not-same')) {
    const id = `pair ${partition}@${offset}`
    return [{ what: 'said', said: 'pair', subject, id, protocol: '', label: what, by, at: timestamp, json }]
  }
  if (what !== 'assigned') return []
  // By the broker's time: who assigned it may have had another clock.
  const id = `assignment ${partition}@${offset}`
  return [{ what: 'said', said: 'assignment', subject, id, protocol: '', label: to, by, at: timestamp, json }]
}

function feedbackEntries(
  { key, partition, offset, timestamp }: IncomingMessage,
  value: Buffer,
  { ofReplies }: ProjectContext,
): Entry[] {
  const read = inputOf(feedbackMessage, value)
  if (read === null) return []
  const { subjectKind, protocol, label, by, at, note, sawLabel } = read
  const subject = subjectOf(read, ofReplies.has(protocol) ? 'reply' : 'post')
  if (subject === null) return unread(key, timestamp, value)
  return [
    {
      what: 'said',
      said: 'feedback',
      subject,
      isKindNamed: subjectKind !== undefined,
      id: `feedback ${partition}@${offset}`,
      protocol,
      label,
      by,
      at: timestamp,
      json: JSON.stringify({ subjectKind, label, by, at: new Date(at).toISOString(), note, sawLabel }),
    },
  ]
}

function commentEntries({ timestamp }: IncomingMessage, value: Buffer): Entry[] {
  if (!holds(value, DELETED)) return []
  const read = inputOf(commentMessage, value)
  if (read?.deleted !== true) return []
  const post = { tenant: read.tenant, postId: read.postId, kind: 'post' } as const
  const itself = { tenant: read.tenant, postId: commentKey(read.postId, read.id), kind: 'comment' } as const
  return [{ what: 'comment-deletion', post, comment: read.id, itself, at: timestamp }]
}

/** A reply that names its post quotes it. */
function counterspeechEntries(message: IncomingMessage, value: Buffer): Entry[] {
  const read = inputOf(counterspeechMessage, value)
  if (read === null || read.deleted === true || read.postId === undefined) return deletionOf(message, read, 'reply')
  const { tenant, id, postId } = read
  const [post, reply] = [{ tenant, postId, kind: 'post' } as const, { tenant, postId: id, kind: 'reply' } as const]
  return [{ what: 'quote', post, reply, at: message.timestamp }]
}

function deletionOf(
  { timestamp }: IncomingMessage,
  read: { readonly id: string; readonly tenant: string; readonly deleted?: boolean | undefined } | null,
  kind: SubjectKind,
): Entry[] {
  if (read?.deleted !== true) return []
  return [{ what: 'deletion', subject: { tenant: read.tenant, postId: read.id, kind }, at: timestamp }]
}

function unread(key: string | null, at: number, raw: Buffer): Entry[] {
  // A copy: the buffer is a part of all that was fetched with it.
  return [{ what: 'unread', subjectId: key ?? '', at, raw: Uint8Array.from(raw) }]
}
