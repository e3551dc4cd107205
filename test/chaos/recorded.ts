import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { decisionMessage, decisionOutcome, proposal, review } from '../../src/contracts/facts/decision-messages.ts'
import { snapshot } from '../../src/contracts/facts/thread.ts'
import { type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import { commentKey, readVerdictId, scopeOf } from '../../src/contracts/facts/verdict-id.ts'
import type { RecordedWord, RecordSize, SubjectRecord } from '../../src/contracts/ports/record.ts'
import { sqliteRecordReader } from '../../src/record/sqlite/record.ts'
import { DEAD_HEADER } from './expected.ts'
import type { TopicRecord } from './reader.ts'
import { NO_PROTOCOL, ownWords } from './stream.ts'

/** What the topics have that the record is made of. */
export interface RecordedEvidence {
  /** Comments of the other tenant are judged by themselves. */
  readonly judgesComments?: boolean
  readonly posts: readonly TopicRecord[]
  readonly comments: readonly TopicRecord[]
  readonly counterspeech: readonly TopicRecord[]
  readonly verdicts: readonly TopicRecord[]
  readonly transcripts: readonly TopicRecord[]
  readonly proposals: readonly TopicRecord[]
  readonly decisions: readonly TopicRecord[]
  readonly outcomes: readonly TopicRecord[]
  readonly reviews: readonly TopicRecord[]
}

/** All that a record holds. */
export interface Held {
  /** By `SUBJECT` of {@link subjectsOf}; those of which it has nothing are left out. */
  readonly subjects: ReadonlyMap<string, SubjectRecord>
  /** By the verdict's or proposal's id. */
  readonly transcripts: ReadonlyMap<string, string>
  readonly size: Pick<RecordSize, 'rows' | 'holes'>
  /** Also those whose subject was deleted. */
  readonly actions: readonly RecordedWord[]
  /** Its files' bytes. */
  readonly bytes: string
}

interface Message {
  readonly id: string
  readonly tenant?: string
  readonly postId?: string
  readonly text?: string
  readonly deleted?: true
}

const keyOf = (kind: string, tenant: string | undefined, id: string) => `${kind} ${tenant ?? 'default'}:${id}`
const kindOf = (protocol: string) => (protocol === 'counterspeech' ? 'reply' : 'post')
const commentOf = (tenant: string | undefined, postId: string, id: string) =>
  keyOf('comment', tenant, commentKey(postId, id))
const subjectIn = (one: {
  protocol: string
  tenant?: string | undefined
  subjectId: string
  subjectKind?: string | undefined
  postId?: string | undefined
}) =>
  one.subjectKind === 'comment'
    ? commentOf(one.tenant, one.postId ?? '', one.subjectId)
    : keyOf(kindOf(one.protocol), one.tenant, one.subjectId)
const wellFormed = (records: readonly TopicRecord[]) =>
  records.filter(({ headers }) => headers[DEAD_HEADER] === undefined)
const messagesOf = (records: readonly TopicRecord[]) =>
  wellFormed(records).map((standing) => ({ message: JSON.parse(standing.value) as Message, standing }))

const OF_THEIR_OWN: ReadonlySet<string> = new Set(['appeal', 'action', 'withdrawal'])

/** Reads all that the record in this file holds, of these subjects and of any other. */
export async function heldIn(path: string, evidence: RecordedEvidence): Promise<Held> {
  const reader = await sqliteRecordReader(path)
  try {
    const subjects = new Map<string, SubjectRecord>()
    for await (const one of reader.export()) subjects.set(nameOf(one), one)
    // Of what was deleted nothing is exported.
    for (const name of subjectsOf(evidence)) {
      const [, named, tenant = '', id = ''] = /^(post|reply|comment) ([^:]*):(.*)$/s.exec(name) ?? []
      const kind = named === 'reply' || named === 'comment' ? named : 'post'
      const one = await reader.subject({ tenant, id, kind })
      if (one !== null) subjects.set(name, one)
    }
    const transcripts = new Map<string, string>()
    const ids = evidence.transcripts.map(({ value }) => (JSON.parse(value) as { verdictId: string }).verdictId)
    for (const id of new Set(ids)) {
      const json = await reader.transcript(id)
      if (json !== null) transcripts.set(id, json)
    }
    const own = readdirSync(dirname(path)).filter((name) => name.startsWith(basename(path)))
    const bytes = own.map((name) => readFileSync(join(dirname(path), name), 'latin1')).join('')
    const actions: RecordedWord[] = []
    for await (const one of reader.actions()) actions.push(one)
    return { subjects, transcripts, size: await reader.size(), actions, bytes }
  } finally {
    await reader.close()
  }
}

const nameOf = ({ subject: { kind, tenant, postId } }: SubjectRecord) => keyOf(kind, tenant, postId)

/** Every subject that a message is about. */
function subjectsOf({ posts, counterspeech, verdicts, proposals, decisions }: RecordedEvidence): Set<string> {
  const judged = [...verdicts, ...proposals, ...wellFormed(decisions)].map(
    ({ value }) => JSON.parse(value) as Parameters<typeof subjectIn>[0],
  )
  return new Set([
    ...messagesOf(posts).map(({ message: { tenant, id } }) => keyOf('post', tenant, id)),
    ...messagesOf(counterspeech).map(({ message: { tenant, id } }) => keyOf('reply', tenant, id)),
    ...judged.map(subjectIn),
  ])
}

/**
 * The record has what the topics say, each once and byte for byte, and nothing else; of what was deleted it has neither verdicts
 * nor words, a deleted comment's words stand nowhere in its files. In words what does not hold.
 */
export function recordBreaches(evidence: RecordedEvidence, held: Held): string[] {
  const deletedAt = deletionsOf(evidence)
  const gone = goneComments(evidence)
  const heard = new Map(evidence.transcripts.map(({ value }) => heardIn(value)))
  const verdicts = distinct(evidence.verdicts, (json) => verdict.parse(json))
  const proposals = distinct(evidence.proposals, (json) => proposal.parse(json))
  const isStripped = strippedBy({ verdicts, heard, gone })

  const missing: string[] = []
  const foreign: string[] = []
  const differing: string[] = []
  const kept: string[] = []
  const wrong: string[] = []
  const written = new Map(
    [...held.subjects.values()].flatMap((one) => one.verdicts.map((row) => [row.verdict.id, row])),
  )
  const said = new Map(
    // Of appeals and actions more than their topics tell: test/chaos/appeals.ts, test/chaos/actions.ts.
    [...held.subjects.values()].flatMap((one) =>
      one.said.flatMap((row) => (OF_THEIR_OWN.has(row.said) ? [] : [[row.id, row] as const])),
    ),
  )

  const last = new Map<string, Verdict>()
  for (const one of verdicts.values()) {
    const chain = `${one.protocol} ${subjectIn(one)}`
    if ((last.get(chain)?.revision ?? 0) < one.revision) last.set(chain, one)
  }
  for (const [id, one] of verdicts) {
    const row = written.get(id)
    const isGone = deletedAt.has(subjectIn(one))
    if (isGone && one.decidedBy !== 'deleted') {
      if (row !== undefined) kept.push(id)
      continue
    }
    if (row === undefined) {
      missing.push(id)
      continue
    }
    const stripped = isStripped(one)
    if (row.erased !== stripped) wrong.push(`${id} is ${row.erased ? '' : 'not '}erased`)
    if (!same(row.verdict, stripped ? bare(one) : one)) differing.push(id)
    if (row.conflicting) wrong.push(`${id} conflicts with another`)
    if (row.standing !== (last.get(`${one.protocol} ${subjectIn(one)}`)?.id === id))
      wrong.push(`${id} ${row.standing ? 'stands, and is not the last' : 'is the last, and does not stand'}`)
  }
  foreign.push(...[...written.keys()].filter((id) => !verdicts.has(id)))

  for (const [id, own] of heard) {
    const json = held.transcripts.get(id)
    const about = verdicts.get(id) ?? proposals.get(id)
    const isGone = about === undefined || (deletedAt.has(subjectIn(about)) && about.decidedBy !== 'deleted')
    if (isGone || own.comments.some((one) => gone.has(`${own.post} ${one}`))) {
      if (json !== undefined) kept.push(`the transcript of ${id}`)
    } else if (json === undefined) {
      // That of a retraction says nothing, and may have come before it.
      if (about.decidedBy !== 'deleted') missing.push(`the transcript of ${id}`)
    } else if (json !== own.value) differing.push(`the transcript of ${id}`)
  }

  const words = expectedWords(evidence, proposals)
  for (const [id, { subject, message, isPeoples, at }] of words) {
    const row = said.get(id)
    const until = deletedAt.get(subject)
    if (until !== undefined) {
      // What was said after the deletion is of a person who did not know of it.
      if (row !== undefined && !(isPeoples && at > until)) kept.push(id)
      continue
    }
    if (row === undefined) missing.push(id)
    else if (!same(row.message, stripsWords(id, proposals, heard, gone) ? bare(message) : message)) differing.push(id)
  }
  // What was refused since nobody knows its protocol; it may have been switched off since, for all that the record knows.
  const refused = new Set(evidence.decisions.flatMap((one) => (isOfNoProtocol(one) ? [decisionIn(one)] : [])))
  foreign.push(...[...said.keys()].filter((id) => !words.has(id) && !refused.has(id)))

  const rest = [...held.transcripts.values(), ...[...written.values()].map(({ verdict: one }) => JSON.stringify(one))]
  const leaked = [...gone].filter(([, text]) => {
    if (text === null) return false
    const folded = text.toLowerCase()
    return held.bytes.includes(text) || held.bytes.includes(folded) || rest.some((one) => one.includes(text))
  })
  if (held.size.rows.unread > 0) wrong.push(`${held.size.rows.unread} messages were not understood`)
  if (held.size.holes > 0) wrong.push(`${held.size.holes} ranges of topics were not read`)
  const told: [string, string[]][] = [
    ['is missing in the record', missing],
    ['is in the record, and on no topic', foreign],
    ['is in the record otherwise than on its topic', differing],
    ['is in the record though its subject or a comment was deleted', kept],
    ['the record is wrong about', wrong],
    ['words of deleted comments in the record', leaked.map(([name]) => name)],
  ]
  return told.flatMap(([what, all]) =>
    all.length === 0 ? [] : [`${what}: ${all.length} (${all.slice(0, 5).join('; ')})`],
  )
}

/** By subject the last time when it was deleted, ms. */
function deletionsOf(evidence: RecordedEvidence): ReadonlyMap<string, number> {
  const { posts, comments, counterspeech, verdicts, outcomes, judgesComments } = evidence
  const times = new Map<string, number>()
  const add = (name: string, at: number) => times.set(name, Math.max(times.get(name) ?? 0, at))
  for (const { message, standing } of messagesOf(posts))
    if (message.deleted) add(keyOf('post', message.tenant, message.id), standing.timestamp)
  for (const { message, standing } of messagesOf(counterspeech))
    if (message.deleted) add(keyOf('reply', message.tenant, message.id), standing.timestamp)
  for (const { value } of verdicts) {
    const one = verdict.parse(JSON.parse(value))
    if (one.decidedBy === 'deleted') add(subjectIn(one), Date.parse(one.timing.openedAt))
  }
  for (const { value } of outcomes) {
    const { outcome, kind, tenant, subjectId, at } = decisionOutcome.parse(JSON.parse(value))
    if (outcome === 'deleted') add(keyOf(kind, tenant, subjectId), Date.parse(at))
  }
  // A comment that is judged by itself goes by its own deletion, and with its post.
  for (const { message, standing } of judgesComments === true ? messagesOf(comments) : []) {
    const { tenant, postId = '', id, deleted } = message
    const post = times.get(keyOf('post', tenant, postId))
    for (const at of [post, deleted ? standing.timestamp : undefined])
      if (at !== undefined) add(commentOf(tenant, postId, id), at)
  }
  // A reply goes with the post that it quotes.
  for (const { message } of messagesOf(counterspeech)) {
    const quoted = message.postId === undefined ? undefined : times.get(keyOf('post', message.tenant, message.postId))
    if (quoted !== undefined) add(keyOf('reply', message.tenant, message.id), quoted)
  }
  return times
}

/** Comments that were deleted, by `POST COMMENT`, with what no other text holds of theirs; null where nobody sent their words. */
function goneComments({ comments }: RecordedEvidence): ReadonlyMap<string, string | null> {
  const all = messagesOf(comments).map(({ message }) => message)
  const texts = new Map(all.flatMap(({ id, text = '' }) => (text === '' ? [] : [[id, text] as const])))
  return new Map(
    all.flatMap(({ id, tenant, postId = '', deleted }): [string, string | null][] => {
      const own = ownWords(id)
      return deleted ? [[`${keyOf('post', tenant, postId)} ${id}`, texts.get(id)?.includes(own) ? own : null]] : []
    }),
  )
}

/** What a case was handed on may quote comments that it was not shown itself. */
const handedOn = z.object({ carry: z.object({ shown: z.array(z.string()) }) })

function heardIn(value: string) {
  const { verdictId, subject, replay } = JSON.parse(value) as { verdictId: string; subject: unknown; replay?: unknown }
  const carried = handedOn.safeParse(replay)
  const read = snapshot.safeParse(subject)
  const { tenant } = scopeOf(verdictId)
  // Of a comment that was judged by itself: the post of what it answers.
  const post = read.success ? keyOf('post', tenant, readVerdictId(verdictId)?.postId ?? read.data.post.id) : ''
  const comments = read.success ? read.data.comments.map(({ id }) => id) : []
  return [verdictId, { value, post, comments: [...comments, ...(carried.data?.carry.shown ?? [])] }] as const
}

type Heard = ReadonlyMap<string, ReturnType<typeof heardIn>[1]>

/** Whether a verdict rests on a comment that was deleted, or is one again that does. */
function strippedBy(of: {
  readonly verdicts: ReadonlyMap<string, Verdict>
  readonly heard: Heard
  readonly gone: ReadonlyMap<string, unknown>
}): (one: Pick<Verdict, 'id' | 'restored'>) => boolean {
  const rests = (id: string): boolean => {
    const own = of.heard.get(id)
    if (own?.comments.some((one) => of.gone.has(`${own.post} ${one}`)) === true) return true
    const from = of.verdicts.get(id)?.restored?.from
    return typeof from === 'string' && rests(from)
  }
  return ({ id }) => rests(id)
}

function stripsWords(
  id: string,
  proposals: ReadonlyMap<string, unknown>,
  heard: Heard,
  gone: ReadonlyMap<string, unknown>,
): boolean {
  return proposals.has(id) && strippedBy({ verdicts: new Map(), heard, gone })({ id })
}

const decisionIn = ({ partition, offset }: TopicRecord) => `decision ${partition}@${offset}`
const isOfNoProtocol = ({ value, headers }: TopicRecord) =>
  headers[DEAD_HEADER] !== undefined && value.includes(`"protocol":"${NO_PROTOCOL}"`)

/** What was said, by the id that the record gives it. */
function expectedWords({ decisions, outcomes, reviews }: RecordedEvidence, proposals: ReadonlyMap<string, unknown>) {
  const words = new Map<string, { subject: string; message: unknown; isPeoples: boolean; at: number }>()
  for (const standing of wellFormed(decisions)) {
    const { createdAt: _, at, ...one } = decisionMessage.parse(JSON.parse(standing.value))
    const subject = keyOf(one.kind ?? kindOf(one.protocol), one.tenant, one.subjectId)
    const message = { ...one, at: new Date(at).toISOString() }
    words.set(decisionIn(standing), { subject, message, isPeoples: true, at: standing.timestamp })
  }
  for (const { value } of outcomes) {
    const one = decisionOutcome.parse(JSON.parse(value))
    if (one.outcome === 'deleted') continue
    const subject = keyOf(one.kind, one.tenant, one.subjectId)
    words.set(`outcome ${one.of} ${one.outcome}`, { subject, message: one, isPeoples: true, at: Date.parse(one.at) })
  }
  for (const { value } of reviews) {
    const one = review.parse(JSON.parse(value))
    const subject = keyOf(one.kind, one.tenant, one.subjectId)
    if (!words.has(`review ${one.id}`))
      words.set(`review ${one.id}`, { subject, message: one, isPeoples: true, at: Date.parse(one.at) })
  }
  for (const [id, message] of proposals as ReadonlyMap<string, { protocol: string; tenant: string; subjectId: string }>)
    words.set(id, { subject: subjectIn(message), message, isPeoples: false, at: 0 })
  return words
}

function distinct<One extends { id: string }>(
  records: readonly TopicRecord[],
  read: (json: unknown) => One,
): ReadonlyMap<string, One> {
  const byId = new Map<string, One>()
  for (const { value } of records) {
    const one = read(JSON.parse(value))
    if (!byId.has(one.id)) byId.set(one.id, one)
  }
  return byId
}

const bare = (one: unknown) => ({
  ...(one as object),
  rationale: '',
  evidence: { support: [], oppose: [], precedents: [] },
})

const same = (a: unknown, b: unknown) => canonical(a) === canonical(b)
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, own: unknown) =>
    typeof own === 'object' && own !== null && !Array.isArray(own)
      ? Object.fromEntries(Object.entries(own).sort(([a], [b]) => (a < b ? -1 : 1)))
      : own,
  )
